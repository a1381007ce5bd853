#!/bin/sh
# The time of vCPUs is the same in sched, summary, sql, top, metrics and conditions. $1: tests/watch/families.c, $2:
# tests/watch/condition.c.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

python3 "$here/vcpu_time.py" "$strata" "$1" "$2" 1 2 3 >out 2>&1 || fail "$(cat out)"
