#!/bin/sh
# A real boot of QEMU 7.2, as QEMU's simpletrace.py printed it.
. "$(dirname "$0")/../lib/golden.sh"

"$tree/tools/qemu-events" events || exit
xz -dc "$DATA/qemu/trace.simpletrace.xz" >trace
xz -dc "$DATA/qemu/simpletrace.txt.xz" >expected

"$STRATA_BIN/simpletrace" events trace >got
cmp got expected

# The verb of the one command, and a pipe.
"$strata" simpletrace events - <trace >got
cmp got expected
# shellcheck disable=SC2002 # the test needs a pipe
cat trace | "$STRATA_BIN/simpletrace" events /dev/stdin | cmp - expected
