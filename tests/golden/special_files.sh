#!/bin/sh
# Special files in a trace directory are refused without waiting for them. An input named on the command line may be a
# FIFO.
. "$(dirname "$0")/../lib/golden.sh"

mkfifo input
cat "$DATA/qemu/made/v2.simpletrace" >input &
"$STRATA_BIN/strata" report --trace-events "$DATA/qemu/made/trace-events" input >from-fifo
wait
"$STRATA_BIN/strata" report --trace-events "$DATA/qemu/made/trace-events" "$DATA/qemu/made/v2.simpletrace" | cmp - from-fifo
ln -s "$DATA/qemu/made/v2.simpletrace" named
"$STRATA_BIN/strata" report --trace-events "$DATA/qemu/made/trace-events" named | cmp - from-fifo

python3 "$here/special_files.py" "$work"
