#!/bin/sh
# A test on a real KVM: runs tests/kvm/scenarios/NAME.sh on it, and looks at what that left with tests/kvm/checks/NAME.py.
# The host is booted once for all of them: DIR/saved.
#
#   run.sh NAME DIR EMULATOR     DIR holds debs/ (tools/packages fetch kvm DIR/debs), EMULATOR those of group emulator;
#                                both are kept for the next run
#
# Environment: STRATA_BIN, the directory of the built commands; KVM_GUEST, guest.c, built; GUEST_TOOL,
# tests/guest/tool.c, built.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
name=$1
dir=$2
if ! [ -e "$dir/debs/complete" ]; then
    echo "NOT TESTED ON A REAL KVM: its packages are not in $dir/debs; fetch them: tools/packages fetch kvm $dir/debs" >&2
    exit 77
fi
for tool in qemu-system-x86_64 cpio objcopy python3; do
    command -v $tool >/dev/null || {
        echo "NOT TESTED ON A REAL KVM: there is no $tool here" >&2
        exit 77
    }
done

# QEMU 7.2's emulation of SVM may give a kernel an interrupt while it has interrupts off, which then waits for good for a
# lock that it holds itself.
EMULATOR=$("$here/../lib/emulator.sh" "$3") || {
    echo "NOT TESTED ON A REAL KVM: nothing emulates its host reliably" >&2
    exit 77
}
export EMULATOR

# Once for all tests that run at the same time.
flock "$dir/debs" "$here/host.sh" "$dir/debs" "$dir" "$KVM_GUEST"
SAVED=$(cd "$dir" && pwd)/saved
export SAVED
"$here/boot.sh" "$dir" "$dir/$name" "$here/scenarios/$name.sh" "$STRATA_BIN/strata" "$STRATA_BIN/strata-agent" "$GUEST_TOOL"
grep '^@@' "$dir/$name/serial.log"
PYTHONDONTWRITEBYTECODE=1 python3 "$here/checks/$name.py" "$dir/$name" "$STRATA_BIN"
