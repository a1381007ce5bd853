#!/bin/sh
# What becomes of the time of vCPUs, exits, interrupts and lost events are the same numbers wherever they are shown. $1:
# tests/watch/families.c, $2: tests/watch/condition.c.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

command -v python3 >/dev/null || { echo "SKIPPED: python3 is not installed"; exit 77; }
export XDG_CACHE_HOME="$work/cache"

python3 "$here/same_numbers.py" "$strata" "$1" "$2" 1 2 3 >out 2>&1 || fail "$(cat out)"
