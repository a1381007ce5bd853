#!/bin/sh
# A test on a real KVM: boots it with tests/kvm/scenarios/NAME.sh in it, and looks at what that left with
# tests/kvm/checks/NAME.py.
#
#   run.sh NAME DIR     DIR holds debs/ (tools/packages fetch kvm DIR/debs) and is kept for the next run
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

"$here/host.sh" "$dir/debs" "$dir" "$KVM_GUEST"
set -- "$STRATA_BIN/strata" "$STRATA_BIN/strata-agent"
[ "$name" = exits ] || set -- "$@" "$GUEST_TOOL" "$dir/inner.cpio"
# Of exits, which has many virtual machines one after the other, a host stood still in 3 of 10 runs, and in none of 11 with one
# thread for both CPUs, which is as fast.
[ "$name" != exits ] || export VM_CPUS='-accel tcg,thread=single -smp 2'
boot() {
    "$here/boot.sh" "$dir" "$dir/$name" "$here/scenarios/$name.sh" "$@"
}
# QEMU 7.2's emulation of SVM may give a kernel an interrupt while it has interrupts off: it then waits for good for a lock
# that it holds itself. Where that is a virtual machine in the KVM host, the scenario says that something did not become
# true; where it is the KVM host, nothing comes from it any more. A run takes half a minute, and ten times that on a slow machine.
KVM_SECONDS=360 boot "$@" || {
    [ $? -eq 2 ] || exit 1
    echo "The KVM host stands still; once more"
    boot "$@"
}
if grep -q 'FAILED: this did not become true' "$dir/$name/serial.log"; then
    grep '^@@' "$dir/$name/serial.log"
    echo "A virtual machine in the KVM host stands still; once more, with another KVM host"
    boot "$@"
fi
grep '^@@' "$dir/$name/serial.log"
PYTHONDONTWRITEBYTECODE=1 python3 "$here/checks/$name.py" "$dir/$name" "$STRATA_BIN"
