#!/bin/sh
# The metrics of analyses: of a trace that is read in windows, each of which opens it again, they are what strata exits, sched,
# io and irq print for all of it. $1: tests/watch/families.c.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

families=$1
. "$here/../lib/analysis_captures.sh"

python3 "$here/watch_families.py" "$strata" "$families" >out 2>&1 || fail "$(cat out)"
