#!/bin/sh
# Runs a scenario in a KVM host in a virtual machine, and brings its results:
#
#   boot.sh DIR OUT SCENARIO [FILE...]
#
# DIR is what host.sh made. SCENARIO is a script for busybox's sh, run as root with OUT's contents-to-be as working
# folder. FILEs get into the host's /bin with the libraries that they need; of a FILE.cpio, what is in it gets into the
# host's root. OUT is made again: serial.log, what the host wrote, and what the scenario left.
#
# Environment: KVM_SECONDS (840) until it is given up, KVM_APPEND (options of its kernel), VM_CPUS and EMULATOR
# (tests/lib/boot_vm.sh). SAVED: a file in which the host is saved when it is up, once, and from which the scenario goes on; it
# is booted for this scenario otherwise. Exit status: that of the virtual machine's run, not of what the scenario saw.
#
# Software emulation, so that it runs anywhere, of a CPU that has SVM and nested paging: kvm-amd of the kernel in it is
# a real KVM. Without MWAIT, which the kernel would use and is not there.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib/boot_vm.sh"
dir=$1
prepare_vm "$2" "$3"
shift 3

for file; do
    case $file in
    *.cpio)
        (cd "$work/in" && cpio -i -d --quiet) <"$file"
        continue
        ;;
    esac
    cp "$file" "$work/in/bin/"
    "$here/libraries.sh" "$work/in" "" "$file"
done

set -- "${KVM_SECONDS:-840}" -cpu EPYC,+svm,-monitor -m 2048 \
    -kernel "$dir/vmlinux" -initrd "$dir/host.cpio" \
    -append "console=ttyS0 quiet panic=-1 tsc=reliable no_timer_check mitigations=off ${KVM_APPEND:-}"
if [ -n "${SAVED:-}" ]; then
    (flock 9 && save_vm "$SAVED" "$dir/made" "$@") 9<"$dir/debs"
fi
run_vm "$@"
