#!/bin/sh
# Makes what a virtual machine needs to be a KVM host, of Debian's packages, without installing them:
#
#   host.sh DEBS DIR GUEST
#
# DEBS holds the packages of group kvm (tools/packages fetch). GUEST is tests/kvm/guest.c, built. DIR gets
#
#   vmlinux             Debian's kernel, unpacked: under emulation, unpacking takes longer than all else of its boot
#   host.cpio           the host's file system: busybox, modules, GUEST, perf; and, to run Linux in a virtual machine, this
#                       machine's QEMU; /inner/vmlinux, /inner/initramfs with inner-init; modules of vsock, not in
#                       /lib/modules/order
#
# Nothing is done twice: DIR/made knows of what they were made.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
debs=$(cd "$1" && pwd)
dir=$(cd "$2" && pwd)
guest=$3

qemu=$(command -v qemu-system-x86_64)
made=$(cat "$debs/complete" "$here/host.sh" "$here/init" "$here/inner-init" "$here/../../tools/guest-image" "$here/../../tools/vmlinux" "$guest" "$qemu" |
    cksum)
[ "$(cat "$dir/made" 2>/dev/null)" != "$made" ] || exit 0
rm -f "$dir/made"

root=$dir/packages
host=$dir/host
inner=$dir/inner
rm -rf "$root" "$host" "$inner"
mkdir -p "$root" "$host/lib/modules" "$host/bin" "$host/usr/bin" "$inner/lib/modules" "$inner/inner" "$inner/usr/bin" \
    "$inner/usr/share/qemu" "$inner/usr/share/seabios"
for deb in "$debs"/*.deb; do
    case $deb in
    */linux-image-*) set -- --wildcards '*/kernel/virt/lib/*' '*/kernel/drivers/crypto/ccp/ccp.ko*' \
        '*/kernel/arch/x86/kvm/*' '*/kernel/arch/x86/kernel/msr.ko*' '*/kernel/drivers/vhost/*' '*/kernel/net/vmw_vsock/*' ;;
    */busybox-*) continue ;;
    *) set -- --exclude=./usr/share ;;
    esac
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" "$@"
done

# Without their signatures and debugging sections. Debian 13 has them below /usr/lib, and packed.
add_module() { # TREE MODULE
    to=$1/lib/modules/${2##*/}.ko
    for file in "$root"/lib/modules/*/kernel/"$2".ko* "$root"/usr/lib/modules/*/kernel/"$2".ko*; do
        case $file in
        *.ko) objcopy --strip-debug "$file" "$to" ;;
        *.ko.xz)
            xz -dc "$file" >"$to"
            objcopy --strip-debug "$to"
            ;;
        esac
    done
    [ -s "$to" ] || {
        echo "host.sh: there is no module $2 in the packages" >&2
        exit 1
    }
}
# Modules in the order of their dependencies, behind those that guest-image put there.
make_order() { # TREE MODULE...
    (cd "$dir" && cpio -i --quiet --to-stdout lib/modules/order <initramfs) >"$1/lib/modules/order"
    tree=$1
    shift
    for module; do
        add_module "$tree" "$module"
        echo "${module##*/}.ko" >>"$tree/lib/modules/order"
    done
}
make_cpio() { # TREE
    (cd "$1" && find . -print0 | cpio --null -o -H newc --quiet -R 0:0)
}

"$here/../../tools/guest-image" "$debs" "$dir" "$here/inner-init"
make_order "$host" net/vmw_vsock/vsock net/vmw_vsock/vmw_vsock_virtio_transport_common \
    net/vmw_vsock/vmw_vsock_virtio_transport arch/x86/kernel/msr
make_cpio "$host" | cat "$dir/initramfs" - >"$inner/inner/initramfs"
mv "$dir/kernel" "$dir/vmlinux"
cp "$dir/vmlinux" "$inner/inner/"
for module in drivers/vhost/vhost_iotlb drivers/vhost/vhost net/vmw_vsock/vsock \
    net/vmw_vsock/vmw_vsock_virtio_transport_common drivers/vhost/vhost_vsock; do
    add_module "$inner" $module
done
cp "$qemu" "$inner/usr/bin/qemu-system-x86_64"
for file in qemu/kvmvapic.bin qemu/trace-events-all qemu/pvh.bin seabios/bios-256k.bin; do
    for share in /usr/share "${qemu%/bin/*}/share"; do
        ! [ -e "$share/$file" ] || cp -L "$share/$file" "$inner/usr/share/$file"
    done
done
"$here/libraries.sh" "$inner" "" "$qemu"

rm -rf "$host/lib/modules"
mkdir -p "$host/lib/modules"
"$here/../../tools/guest-image" "$debs" "$dir" "$here/init" "$guest"
make_order "$host" virt/lib/irqbypass drivers/crypto/ccp/ccp arch/x86/kvm/kvm arch/x86/kvm/kvm-amd
cp "$root/usr/bin/perf" "$host/usr/bin/"
"$here/libraries.sh" "$host" "$root" "$host/usr/bin/perf"
{ cat "$dir/initramfs" && make_cpio "$host" && make_cpio "$inner"; } >"$dir/host.cpio"
rm -rf "$root" "$host" "$inner" "$dir/initramfs" "$dir/kernel"
echo "$made" >"$dir/made"
