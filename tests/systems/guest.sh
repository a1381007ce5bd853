#!/bin/sh
# A test of guest.py:
#
#   guest.sh WORK KERNEL QEMU VERSION    KERNEL/debs has the kernel, QEMU/debs a QEMU of that version, if this machine's is
#                                        another one (tools/test-systems fetches them)
#
# Environment: STRATA_BIN, the directory of the built commands; GUEST_TOOL, tool.c of tests/guest, built.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
work=$1 kernel=$2 qemu=$3 version=$4
skip() {
    echo "systems: SKIPPED: $*" >&2
    exit 77
}
[ -z "${SANITIZED:-}" ] || skip "programs with sanitisers are not made for a guest"
[ -e "$kernel/debs/complete" ] || skip "the packages in $kernel/debs are missing; fetch them: tools/test-systems"
qemu=$("$here/../lib/emulator.sh" "$qemu" "$version" 2>&1) || skip "$qemu"
mkdir -p "$work"
"$here/../../tools/guest-image" "$kernel/debs" "$work" "$here/../guest/init" "$GUEST_TOOL" "$STRATA_BIN/strata-agent"
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/guest.py" "$work" "$qemu"
