#!/bin/sh
# archive.sh OUT.a FIRST.a OTHER.a...: one archive with one object: all of FIRST and what it needs of
# the others, with nothing visible but what is marked for export (STRATA_API).
set -eu
out=$1 first=$2
shift 2
ld -r -o "$out.o" --whole-archive "$first" --no-whole-archive --start-group "$@" --end-group
objcopy --localize-hidden "$out.o"
rm -f "$out"
ar rcs "$out" "$out.o"
rm -f "$out.o"
