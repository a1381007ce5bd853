#!/bin/sh
# Makes what a virtual machine needs to be a KVM host, of Debian's packages, without installing them:
#
#   host.sh DEBS DIR GUEST
#
# DEBS holds the packages of group kvm (tools/packages fetch). GUEST is tests/kvm/guest.c, built. DIR gets
#
#   kernel              Debian's
#   host.cpio           the host's file system: busybox, modules, GUEST, perf
#
# Nothing is done twice: DIR/made knows of what host.cpio was made.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
debs=$(cd "$1" && pwd)
dir=$(cd "$2" && pwd)
guest=$3

made=$(cat "$debs/complete" "$here/host.sh" "$here/init" "$here/../../tools/guest-image" "$guest" | cksum)
[ "$(cat "$dir/made" 2>/dev/null)" != "$made" ] || exit 0
rm -f "$dir/made"

"$here/../../tools/guest-image" "$debs" "$dir" "$here/init" "$guest"

root=$dir/packages
host=$dir/host
rm -rf "$root" "$host"
mkdir -p "$root" "$host/lib/modules" "$host/bin" "$host/usr/bin"
for deb in "$debs"/*.deb; do
    case $deb in
    */linux-image-*) set -- --wildcards '*/kernel/virt/lib/*' '*/kernel/drivers/crypto/ccp/ccp.ko*' \
        '*/kernel/arch/x86/kvm/*' ;;
    */busybox-*) continue ;;
    *) set -- --exclude=./usr/share ;;
    esac
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" "$@"
done

# In the order of their dependencies, behind those that guest-image put there.
(cd "$dir" && cpio -i --quiet --to-stdout lib/modules/order <initramfs) >"$host/lib/modules/order"
for module in virt/lib/irqbypass drivers/crypto/ccp/ccp arch/x86/kvm/kvm arch/x86/kvm/kvm-amd; do
    for file in "$root"/lib/modules/*/kernel/"$module".ko; do
        # Without their signatures and debugging sections.
        objcopy --strip-debug "$file" "$host/lib/modules/${module##*/}.ko"
    done
    echo "${module##*/}.ko" >>"$host/lib/modules/order"
done

cp "$root/usr/bin/perf" "$host/usr/bin/"
"$here/libraries.sh" "$host" "$root" "$host/usr/bin/perf"
(cd "$host" && find . -print0 | cpio --null -o -H newc --quiet -R 0:0) >"$dir/added.cpio"
cat "$dir/initramfs" "$dir/added.cpio" >"$dir/host.cpio"
rm -rf "$root" "$host" "$dir/added.cpio" "$dir/initramfs"
echo "$made" >"$dir/made"
