# Sourced: makes the traces that all analyses are tried on: xen-4.17-all, xen-4.22-all, kvm, perf.ctf, vm, guest.
# shellcheck shell=sh
. "$here/../lib/kernel_capture.sh"
. "$here/../lib/exit_captures.sh"
xz -dc "$DATA/kvm/perf.ctf.tar.xz" | tar -x
xz -dc "$DATA/io/virtio-blk.tar.xz" | tar -x
kernel_capture local guest
