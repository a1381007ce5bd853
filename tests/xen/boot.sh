#!/bin/sh
# Runs a scenario in a Linux dom0 of Xen in a virtual machine, and brings its results:
#
#   boot.sh DIR OUT SCENARIO [FILE...]
#
# DIR is what dom0.sh made. SCENARIO is a script for busybox's sh, run as root with OUT's contents-to-be
# as working folder and tests/xen/common.sh beside it; FILEs get into dom0's /bin with the libraries
# that they need. OUT is removed and created: serial.log, what Xen and dom0 wrote, and what the scenario left.
#
# Environment: XEN_OPTIONS (of Xen's command line), DOM0_OPTIONS (of dom0's kernel: toolstack=no, which init knows), XEN_SECONDS
# (480) until it is given up, VM_CPUS (tests/lib/boot_vm.sh). SAVED: a file in which dom0 with its toolstack is saved when it is
# up, once, and from which the scenario goes on; it is booted for this scenario otherwise.
# Exit status: that of the virtual machine's run, not of what the scenario saw.
#
# Software emulation, so that it runs anywhere: a machine for builds seldom has nested KVM. The CPU
# model is one that has SVM and that Xen, dom0 and the emulation agree on: EPYC, without MWAIT, which
# Xen would use and is not there, and without SMAP, by which dom0 would fail. Xen switches vector registers
# when it switches vCPUs (eager-fpu), not when they are first used: QEMU 7.2 emulates AVX without that trap,
# and a copy in dom0 then ends with zeros where a register was kept over a switch.
# One thread emulates both CPUs in turn. With a thread for each, QEMU 7.2 may run code of one CPU on that Linux changes on
# the other: dom0 then meets the breakpoint that is gone from memory for good (docs/guide/limits.md).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib/boot_vm.sh"
dir=$1
prepare_vm "$2" "$3"
shift 3

cp "$here/common.sh" "$work/in/common.sh"
cp "$dir/guest.elf" "$dir/guest-hvm.elf" "$work/in/"
for file; do
    cp -P "$file" "$work/in/bin/"
    ldd "$file" 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | while read -r library; do
        [ ! -e "$dir/root/usr/lib/x86_64-linux-gnu/${library##*/}" ] || continue
        mkdir -p "$work/in${library%/*}"
        cp -L "$library" "$work/in$library"
    done
done
export VM_CPUS="${VM_CPUS:--accel tcg,thread=single -smp 2}"
set -- "${XEN_SECONDS:-480}" -cpu EPYC,-monitor,-smap -m 1280 \
    -kernel "$dir/xen" \
    -initrd "$dir/vmlinux console=hvc0 quiet ${DOM0_OPTIONS:-},$dir/initramfs.cpio.gz" \
    -append "console=com1 com1=115200,8n1 dom0_mem=640M,max:640M lapic_timer_c2_ok spec-ctrl=eager-fpu ${XEN_OPTIONS:-}"
if [ -n "${SAVED:-}" ]; then
    (flock 9 && save_vm "$SAVED" "$dir/made" "$@") 9<"$dir/debs"
fi
run_vm "$@"
