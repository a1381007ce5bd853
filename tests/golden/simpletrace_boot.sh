#!/bin/sh
# A real boot of QEMU 7.2, as QEMU's simpletrace.py printed it.
set -eu

events=/usr/share/qemu/trace-events-all # QEMU's declarations, of Debian's qemu-system-common
[ -r "$events" ] || { echo "SKIPPED: qemu-system-common is not installed, whose declarations this reads"; exit 77; }

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
xz -dc "$DATA/qemu/trace.simpletrace.xz" >"$dir/trace"
xz -dc "$DATA/qemu/simpletrace.txt.xz" >"$dir/expected"

"$STRATA_BIN/simpletrace" "$events" "$dir/trace" >"$dir/got"
cmp "$dir/got" "$dir/expected"

# The verb of the one command, and a pipe.
"$STRATA_BIN/strata" simpletrace "$events" - <"$dir/trace" >"$dir/got"
cmp "$dir/got" "$dir/expected"
cat "$dir/trace" | "$STRATA_BIN/simpletrace" "$events" /dev/stdin | cmp - "$dir/expected"
