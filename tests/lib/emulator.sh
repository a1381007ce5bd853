#!/bin/sh
# Makes the emulator of the tests' KVM host, QEMU 10 of Debian 13, without installing it, and prints its command:
#
#   emulator.sh DIR     DIR holds debs/ (tools/packages fetch emulator DIR/debs)
#
# On Debian 13 and later it is this machine's QEMU. Exit status: 1 where there is neither.
set -eu

dir=$1
version=$(qemu-system-x86_64 --version 2>/dev/null | sed -n 's/^QEMU emulator version \([0-9]*\).*/\1/p')
if [ "${version:-0}" -ge 10 ]; then
    command -v qemu-system-x86_64
    exit
fi
if ! [ -e "$dir/debs/complete" ]; then
    echo "there is no QEMU 10 or later in $dir/debs; fetch it: tools/packages fetch emulator $dir/debs" >&2
    exit 1
fi
dir=$(cd "$dir" && pwd)
exec 9<"$dir/debs"
flock 9
command=$dir/qemu-system-x86_64
if ! [ -e "$command" ] || [ "$dir/debs/complete" -nt "$command" ]; then
    rm -rf "$dir/root"
    mkdir "$dir/root"
    for deb in "$dir"/debs/*.deb; do
        dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$dir/root" --exclude='*/share/doc' --exclude='*/share/man' \
            --exclude='*/share/locale'
    done
    # With the C library that it was built for.
    cat >"$dir/command" <<END
#!/bin/sh
root='$dir/root/usr'
exec "\$root"/lib64/ld-linux-x86-64.so.2 --library-path "\$root/lib/x86_64-linux-gnu" "\$root/bin/qemu-system-x86_64" \\
    -L "\$root/share/qemu" -L "\$root/share/seabios" "\$@"
END
    chmod +x "$dir/command"
    mv "$dir/command" "$command"
fi
echo "$command"
