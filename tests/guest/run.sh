#!/bin/sh
# Tests on a real guest: boots it once, and runs the scenarios, or those named, in it.
#
#   run.sh DIR EMULATOR [SCENARIO...]    DIR holds debs/ (tools/packages fetch guest DIR/debs), EMULATOR those of group
#                                        emulator; both are kept
#
# Environment: STRATA_BIN, the directory of the built commands; GUEST_TOOL, tool.c, built.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
dir=$1
emulator=$2
shift 2
if [ -n "${SANITIZED:-}" ]; then
    echo "NOT TESTED ON A REAL GUEST: programs with sanitisers are not made for it" >&2
    exit 77
fi
if ! [ -e "$dir/debs/complete" ]; then
    echo "NOT TESTED ON A REAL GUEST: its packages are not in $dir/debs; fetch them: tools/packages fetch guest $dir/debs" >&2
    exit 77
fi
for tool in qemu-system-x86_64 cpio python3; do
    command -v $tool >/dev/null || {
        echo "NOT TESTED ON A REAL GUEST: there is no $tool here" >&2
        exit 77
    }
done

# Under QEMU 7.2 a guest may lock up, or may find itself broken.
EMULATOR=$("$here/../lib/emulator.sh" "$emulator") || {
    echo "NOT TESTED ON A REAL GUEST: nothing emulates it reliably" >&2
    exit 77
}
export EMULATOR

"$here/../../tools/guest-image" "$dir/debs" "$dir" "$here/init" "$GUEST_TOOL" "$STRATA_BIN/strata-agent"
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/scenarios.py" "$dir" "$@"
