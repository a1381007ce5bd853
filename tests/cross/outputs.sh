#!/bin/sh
# What strata prints of each trace of tests/data, here and on another machine, is the same: tools/cross-check runs it.
#
#   tests/cross/outputs.sh STRATA COMMAND...    STRATA: of this machine; COMMAND...: the other one, as by qemu-s390x
set -eu

data=$(cd "$(dirname "$0")/../data" && pwd)
here=$1
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/captures" "$dir/wanted" "$dir/found"
cd "$dir/captures"

# shellcheck disable=SC2044 # no name of ours has a space
for file in $(find "$data" -name '*.dat' -o -name '*.tar.xz' -o -name '*.raw.xz' -o -name '*.simpletrace.xz' \
    -o -name '*.log.xz' -o -name '*.data.xz'); do
    name=$(echo "${file#"$data"/}" | tr / _)
    case $file in
    *.tar.xz)
        mkdir "$name"
        tar -C "$name" -x --no-same-owner -Jf "$file"
        ;;
    *.xz) xz -dc "$file" >"$name" ;;
    *) cp "$file" "$name" ;;
    esac
done

# print OUT CAPTURE COMMAND...: its first events and its counts; that the order of bytes is another one, info tells.
print() {
    to=$1 printed=$2
    shift 2
    for words in 'report -n 3000' 'report -n 1000 -f json' stat info; do
        # shellcheck disable=SC2086 # words
        "$@" $words "$printed" 2>&1 </dev/null | grep -v '^ *byte order ' || :
    done >"$to"
}
n=0 failed=0
for capture in * *.tar.xz/*; do
    [ "${capture%.tar.xz}" = "$capture" ] || [ ! -d "$capture" ] || continue
    out=$(echo "$capture" | tr / _)
    print "$dir/wanted/$out" "$capture" "$here"
    print "$dir/found/$out" "$capture" "$@"
    diff -u --label here "$dir/wanted/$out" --label there "$dir/found/$out" >"$dir/diff" || {
        echo "outputs: $capture differs:" >&2
        head -n 20 "$dir/diff" >&2
        failed=$((failed + 1))
    }
    n=$((n + 1))
done
echo "$n captures, $failed differ"
[ $n -gt 10 ] && [ $failed -eq 0 ]
