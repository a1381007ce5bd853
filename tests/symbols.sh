#!/bin/sh
# The symbols that a shared library exports are those of debian/PACKAGE.symbols, by which other packages depend on it.
#
#   tests/symbols.sh LIBRARY...    build/…/libNAME.so.SONAME…: debian/libNAMESONAME.symbols
set -eu

tree=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0
for library; do
    soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
    file=debian/$(echo "$soname" | sed 's/\.so\.//').symbols
    nm -D --defined-only "$library" | awk '{ name = $3; sub("@@", "@", name) } $2 == "A" { name = $3 "@" $3 } { print name }' |
        LC_ALL=C sort >"$dir/exported"
    [ -s "$dir/exported" ] || { echo "symbols: $library exports nothing" >&2; status=1; }
    sed -n 's/^ \([^ ]*\) [0-9].*/\1/p' "$tree/$file" | LC_ALL=C sort >"$dir/listed"
    if ! diff -u --label "$file" --label "${library##*/}" "$dir/listed" "$dir/exported"; then
        echo "symbols: $library exports other symbols than $file" >&2
        status=1
    fi
done
exit $status
