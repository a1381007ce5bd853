#!/bin/sh
# What strata gen makes of a few declarations that hold arguments of every kind: each format with each
# backend for each target, byte for byte as in tests/golden/gen. There TARGET/FORMAT is what most
# backends make, TARGET/FORMAT.BACKEND what one makes that is different, TARGET/FORMAT.all what all of
# them together make.
#
#   tests/golden/gen.sh [--update]    with --update: takes what comes out now as right
set -eu

here=$(cd "$(dirname "$0")" && pwd)
expected=$here/gen
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
[ "${1:-}" != --update ] || {
    rm -rf "$expected/strata" "$expected/qemu" "$expected/qemu-old"
    update=1
}
STRATA_BIN=${STRATA_BIN:-$here/../../build/bin}
PATH=$STRATA_BIN:$PATH
cp "$expected/trace-events" "$expected/trace-events-old" "$dir"
cd "$dir"

formats=$(strata gen --list | sed -n '/^Formats/,/^$/s/^  \([a-z-]*\) .*/\1/p')
backends=$(strata gen --list | sed -n '/^Backends/,$s/^  \([a-z-]*\) .*/\1/p')
# shellcheck disable=SC2086 # a list of words
all=$(echo $backends | tr ' ' ',')
n=0
bad=0

# put FOLDER FILE FORMAT BACKENDS NAME TARGET: makes it twice, and compares it with what is expected.
put() {
    strata gen --target "$6" --format "$3" --backend "$4" --group test --probe-prefix pre.fix \
        --binary /usr/bin/prog -o trace-out "$2" 2>err || {
        grep -q "the format '$3' is only for QEMU's own tree" err && [ "$6" = strata ] && return
        cat err >&2
        exit 1
    }
    mv trace-out first
    strata gen -t "$6" -f "$3" -b "$4" -g test --probe-prefix=pre.fix --binary=/usr/bin/prog \
        -o trace-out "$2" 2>/dev/null
    cmp first trace-out
    n=$((n + 1))
    wanted=$expected/$1/$3.$5
    [ -f "$wanted" ] || wanted=$expected/$1/$3
    if [ "${update:-}" ]; then
        mkdir -p "$expected/$1"
        [ -f "$expected/$1/$3" ] || cp first "$expected/$1/$3"
        cmp -s first "$expected/$1/$3" || cp first "$expected/$1/$3.$5"
    elif ! diff -u "$wanted" first >&2; then
        echo "target $6, format $3, backends $4, $2: not as expected" >&2
        bad=$((bad + 1))
    fi
}

for target in strata qemu; do
    for format in $formats; do
        for backend in $backends; do
            put $target trace-events "$format" "$backend" "$backend" $target
        done
        put $target trace-events "$format" "$all" all $target
    done
done
for format in $formats; do
    put qemu-old trace-events-old "$format" nop nop qemu
    put qemu-old trace-events-old "$format" "$all" all qemu
done
[ $bad -eq 0 ] || {
    echo "$bad of $n differ; if that is right: tests/golden/gen.sh --update" >&2
    exit 1
}
[ $n -gt 150 ]
# Nothing is expected that nobody makes.
for file in "$expected"/*/*.*; do
    echo "${file##*/}" | grep -q "^\($(echo "$formats" | tr '\n' ' ' | sed 's/ $//; s/ /\\|/g')\)\.\($(echo "$backends" | tr '\n' ' ' | sed 's/ $//; s/ /\\|/g')\|all\)$" || {
        echo "$file: there is no such format or backend" >&2
        exit 1
    }
done
echo "$n outputs"
