# Sourced: makes the traces of hypervisors: xen-4.17-all, xen-4.22-all, kvm.
# shellcheck shell=sh
for trace in 4.17-all 4.22-all; do
    xz -dc "$DATA/xen/xen-$trace.raw.xz" >xen-$trace
done
xz -dc "$DATA/kvm/exits.tar.xz" | tar -x
mv trace kvm
