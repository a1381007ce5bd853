#!/bin/sh
# Boots a KVM host in a virtual machine, runs a scenario in it, and brings its results:
#
#   boot.sh DIR OUT SCENARIO [FILE...]
#
# DIR is what host.sh made. SCENARIO is a script for busybox's sh, run as root with OUT's contents-to-be as working
# folder. FILEs get into the host's /bin with the libraries that they need. OUT is made anew: serial.log, what the host
# wrote, and what the scenario left.
#
# Environment: KVM_SECONDS (480) until it is given up. Exit status: that of the virtual machine's run, not of what the
# scenario saw.
#
# Software emulation, so that it runs anywhere, of a CPU that has SVM and nested paging: kvm-amd of the kernel in it is
# a real KVM. Without MWAIT, which the kernel would use and is not there.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
dir=$1
out=$2
scenario=$3
shift 3
rm -rf "$out"
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/in/bin"
cp "$scenario" "$work/in/scenario"
for file; do
    cp "$file" "$work/in/bin/"
    "$here/libraries.sh" "$work/in" "" "$file"
done
(cd "$work/in" && find . -print0 | cpio --null -o -H newc --quiet -R 0:0) >"$work/in.cpio"
cat "$dir/host.cpio" "$work/in.cpio" >"$work/initramfs"
rm -rf "$work/in" "$work/in.cpio"
truncate -s 512M "$work/out.img"

status=0
timeout --foreground "${KVM_SECONDS:-480}" qemu-system-x86_64 -accel tcg,thread=multi -machine pc \
    -cpu EPYC,+svm,-monitor -m 2048 -smp 2 -kernel "$dir/kernel" -initrd "$work/initramfs" \
    -append "console=ttyS0 quiet panic=-1 tsc=reliable" \
    -drive "file=$work/out.img,format=raw,if=virtio" \
    -display none -serial "file:$out/serial.log" -monitor none -net none -no-reboot \
    </dev/null >"$out/qemu.log" 2>&1 || status=$?
if [ $status -eq 0 ] && grep -q '^@@ .* complete' "$out/serial.log"; then
    tar -x -f "$work/out.img" -C "$out"
    exit 0
fi
echo "The virtual machine did not finish (status $status); the end of $out/serial.log:" >&2
cat "$out/qemu.log" >&2
tail -n 30 "$out/serial.log" >&2
exit 1
