#!/bin/sh
# Makes what a virtual machine needs to be a Xen host, of Debian's packages, without installing them:
#
#   dom0.sh DEBS DIR
#
# DEBS holds the packages of group xen (tools/packages fetch). DIR gets
#
#   xen                 the hypervisor
#   vmlinux             dom0's kernel, unpacked: Xen would take much longer to do it under emulation
#   initramfs.cpio.gz   dom0's file system: busybox, Xen's tools, modules, tests/xen/init, tbuf.c
#   guest.elf, guest-hvm.elf   guests, of tests/xen/guest.S
#   root/               what is in the packages; root/usr/bin/xenalyze runs on this machine
#
# and DIR/made when all of it is there. Nothing is done twice. By hand, DEBS may hold another Xen's
# packages; those of another Debian with the libc6 that they are for, and all libraries then.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
debs=$(cd "$1" && pwd)
mkdir -p "$2"
dir=$(cd "$2" && pwd)

inputs=$(ls "$debs" && cat "$here/dom0.sh" "$here/../../tools/vmlinux" "$here/init" "$here/guest.S" "$here/guest.lds" "$here/tbuf.c")
made=$(printf '%s' "$inputs" | cksum)
[ "$(cat "$dir/made" 2>/dev/null)" != "$made" ] || exit 0

# In the order of their dependencies. What is missing is built into the kernel.
modules='
drivers/xen/xen-privcmd.ko
drivers/xen/xen-evtchn.ko
drivers/xen/xenfs/xenfs.ko
drivers/xen/xen-gntdev.ko
drivers/xen/xen-gntalloc.ko
drivers/virtio/virtio_ring.ko
drivers/virtio/virtio.ko
drivers/virtio/virtio_pci_modern_dev.ko
drivers/virtio/virtio_pci_legacy_dev.ko
drivers/virtio/virtio_pci.ko
drivers/block/virtio_blk.ko'

rm -rf "$dir/root" "$dir/dom0" "$dir/made"
root=$dir/root
dom0=$dir/dom0
mkdir -p "$root"
for deb in "$debs"/*.deb; do
    # Of the kernel, a hundredth.
    case $deb in
    */linux-image-*) set -- --wildcards './boot/vmlinuz*' '*/modules/*/drivers/xen/*' \
        '*/modules/*/drivers/virtio/*' '*/modules/*/virtio_blk.ko*' ;;
    *) set -- --exclude=./usr/share --exclude=./usr/lib/x86_64-linux-gnu/gconv ;;
    esac
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" "$@"
done

zcat "$root"/boot/xen-*-amd64.gz >"$dir/xen"
"$here/../../tools/vmlinux" "$root"/boot/vmlinuz-* "$dir/vmlinux"

mkdir -p "$dom0/bin" "$dom0/sbin" "$dom0/proc" "$dom0/sys" "$dom0/dev" "$dom0/tmp" "$dom0/run" \
    "$dom0/var/log/xen/console" "$dom0/var/lib/xen" "$dom0/var/lib/xenstored" "$dom0/etc/xen" \
    "$dom0/lib/modules" "$dom0/usr/bin" "$dom0/usr/lib" "$dom0/out"
ln -s /run "$dom0/var/run"
ln -s /tmp "$dom0/var/lock"
for module in $modules; do
    # In /usr and compressed since Debian 13.
    for file in "$root"/lib/modules/*/kernel/"$module" "$root"/usr/lib/modules/*/kernel/"$module.xz"; do
        [ -e "$file" ] || continue
        to=$dom0/lib/modules/${module##*/}
        case $file in
        *.xz) xz -dc "$file" >"$to" ;;
        *) cp "$file" "$to" ;;
        esac
        # Without their signatures and debugging sections.
        objcopy --strip-debug "$to"
        echo "${module##*/}" >>"$dom0/lib/modules/order"
    done
done

cp "$(find "$root/bin" "$root/usr/bin" -name busybox 2>/dev/null)" "$dom0/bin/busybox"
for applet in $("$dom0/bin/busybox" --list); do
    [ "$applet" = busybox ] || ln -sf /bin/busybox "$dom0/bin/$applet"
done
cp -r "$root/usr/lib/xen-"[0-9]* "$root/usr/lib/x86_64-linux-gnu" "$dom0/usr/lib/"
rm -rf "$dom0"/usr/lib/xen-[0-9]*/boot "$dom0"/usr/lib/xen-[0-9]*/lib
ln -s "$(cd "$dom0/usr/lib" && echo xen-[0-9]*)" "$dom0/usr/lib/xen"
cp "$root/usr/bin/xenstore" "$dom0/usr/bin/"
for command in read write ls list rm; do
    ln -s xenstore "$dom0/usr/bin/xenstore-$command"
done

# Libraries that are not from these packages: this machine's. libgcc_s is opened by glibc when a
# thread is cancelled.
libraries() {
    LD_LIBRARY_PATH=$root/usr/lib/x86_64-linux-gnu ldd "$@" 2>/dev/null |
        sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^\t\(\/[^ ]*\) .*/\1/p' | sort -u
}
if [ -e "$root/usr/lib/x86_64-linux-gnu/libc.so.6" ]; then
    mkdir -p "$dom0/lib64"
    ln -s /usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 "$dom0/lib64/"
    mv "$root/usr/bin/xenalyze" "$root/usr/bin/xenalyze.elf"
    libc=$root/usr/lib/x86_64-linux-gnu
    printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' "$libc/ld-linux-x86-64.so.2" "$libc" \
        "$root/usr/bin/xenalyze.elf" >"$root/usr/bin/xenalyze"
    chmod +x "$root/usr/bin/xenalyze"
else
    for library in $(libraries "$root"/usr/lib/xen-[0-9]*/bin/xl "$root"/usr/lib/xen-[0-9]*/bin/xenstored \
        "$root"/usr/lib/xen-[0-9]*/bin/xen-hptool "$root/usr/bin/xenstore") /lib/x86_64-linux-gnu/libgcc_s.so.1; do
        case $library in
        "$root"/*) continue ;;
        esac
        mkdir -p "$dom0${library%/*}"
        cp -L "$library" "$dom0$library"
    done
fi

gcc -O -static -o "$dom0/bin/tbuf" "$here/tbuf.c"
cat >"$dom0/etc/passwd" <<'END'
root:x:0:0::/:/bin/sh
nobody:x:65534:65534::/:/bin/sh
END
echo 'root:x:0:' >"$dom0/etc/group"
printf 'autoballoon=0\nrun_hotplug_scripts=0\n' >"$dom0/etc/xen/xl.conf"
install -m 755 "$here/init" "$dom0/init"
(cd "$dom0" && find . -print0 | cpio --null -o -H newc --quiet -R 0:0 | gzip -1) >"$dir/initramfs.cpio.gz"
rm -rf "$dom0"

for guest in guest guest-hvm; do
    define=
    [ $guest = guest ] || define=-DHVM
    gcc -c -m64 -x assembler-with-cpp $define "$here/guest.S" -o "$dir/guest.o"
    ld -m elf_x86_64 -z noexecstack --no-warn-rwx-segments -T "$here/guest.lds" "$dir/guest.o" -o "$dir/guest64.elf"
    # A 32-bit entry is what those who start it look for.
    objcopy -I elf64-x86-64 -O elf32-i386 "$dir/guest64.elf" "$dir/$guest.elf"
done
rm -f "$dir/guest.o" "$dir/guest64.elf"

echo "$made" >"$dir/made"
