#!/bin/sh
# Makes what the guest starts from, of Debian's packages, without installing them:
#
#   initramfs.sh DEBS OUT FILE...
#
# DEBS holds the packages of group guest (tools/packages fetch). OUT gets `kernel` and `initramfs`, and
# keeps in root/ what it took out of the packages. FILEs, statically linked, get into the guest's /bin.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
debs=$1
out=$2
shift 2
root=$out/root

if [ "$(cat "$out/unpacked" 2>/dev/null)" != "$(ls "$debs")" ]; then
    rm -rf "$root" "$out/unpacked"
    mkdir -p "$root"
    # Of the kernel, a hundredth.
    dpkg-deb --fsys-tarfile "$debs"/linux-image-*.deb | tar -x -C "$root" --wildcards './boot/vmlinuz*' \
        './lib/modules/*/drivers/virtio/*' './lib/modules/*/virtio_console.ko*'
    dpkg-deb --fsys-tarfile "$debs"/busybox-static_*.deb | tar -x -C "$root" ./bin/busybox
    ls "$debs" >"$out/unpacked"
fi
cp "$root"/boot/vmlinuz-* "$out/kernel"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/bin" "$tree/lib/modules" "$tree/proc" "$tree/sys" "$tree/dev" "$tree/tmp" "$tree/run" "$tree/etc"
# In the order of their dependencies. What is missing is built into the kernel.
for module in virtio/virtio_ring virtio/virtio virtio/virtio_pci_modern_dev virtio/virtio_pci_legacy_dev \
    virtio/virtio_pci char/virtio_console; do
    name=${module##*/}.ko
    for file in "$root"/lib/modules/*/kernel/drivers/"$module".ko*; do
        case $file in
        *.ko) cp "$file" "$tree/lib/modules/$name" ;;
        *.ko.xz) xz -dc "$file" >"$tree/lib/modules/$name" ;;
        *) continue ;;
        esac
        echo "$name" >>"$tree/lib/modules/order"
    done
done
cp "$root/bin/busybox" "$tree/bin/"
for file; do
    install -m 755 "$file" "$tree/bin/"
done
printf 'root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >"$tree/etc/passwd"
echo 'root:x:0:' >"$tree/etc/group"
install -m 755 "$here/init" "$tree/init"
# Not compressed: under emulation, unpacking takes longer than loading.
(cd "$tree" && find . -print0 | cpio --null -o -H newc --quiet -R 0:0) >"$out/initramfs"
