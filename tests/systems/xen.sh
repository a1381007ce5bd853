#!/bin/sh
# A test of tests/xen on another Xen than this Debian's:
#
#   xen.sh NAME DIR EMULATOR    DIR/debs has its packages, EMULATOR/debs QEMU 10 (tools/test-systems fetches them): QEMU 7.2
#                               may lose the interrupt that ends a guest's HLT
#
# Environment: STRATA_BIN, the directory of the built commands.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
EMULATOR=$("$here/../lib/emulator.sh" "$3" 2>&1) || {
    echo "systems: SKIPPED: $EMULATOR" >&2
    exit 77
}
export EMULATOR
"$here/../xen/run.sh" "$1" "$2"

echo "tried: Xen $(sed -n 's/^(XEN) Xen version \([^ ]*\) .*/\1/p' "$2/$1/serial.log" | head -n 1)"
echo "tried: Linux, dom0 $(sed -n 's/.*Linux version \([^ ]*\) .*/\1/p' "$2/$1/dmesg.txt" | head -n 1)"
