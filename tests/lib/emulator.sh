#!/bin/sh
# Unpacks a QEMU of another Debian with the libraries that it needs, without installing anything, and prints its command:
#
#   emulator.sh DIR [VERSION]    DIR holds debs/ (tools/packages fetch emulator DIR/debs)
#
# If this machine's QEMU is of VERSION (example: 7.2; default: any from 10 on), its command is printed instead. Exit status: 1
# if there is neither.
set -eu

dir=$1
version=${2:-}
here=$(qemu-system-x86_64 --version 2>/dev/null | sed -n 's/^QEMU emulator version \([0-9]*\.[0-9]*\).*/\1/p')
if [ -n "$here" ] && { [ "$here" = "$version" ] || { [ -z "$version" ] && [ "${here%.*}" -ge 10 ]; }; }; then
    command -v qemu-system-x86_64
    exit
fi
if ! [ -e "$dir/debs/complete" ] || [ -z "$(find "$dir/debs" -name 'patchelf_*')" ]; then
    echo "there is no QEMU ${version:-10 or later} in $dir/debs; fetch it: tools/packages fetch ${dir##*/} $dir/debs" >&2
    exit 1
fi
dir=$(cd "$dir" && pwd)
exec 9<"$dir/debs"
flock 9
root=$dir/root/usr
# Beside share/, where QEMU's declarations of events are looked for.
command=$root/commands/qemu-system-x86_64
if ! [ -e "$dir/unpacked" ] || [ "$dir/debs/complete" -nt "$dir/unpacked" ]; then
    rm -rf "$dir/root" "$dir/unpacked"
    mkdir "$dir/root"
    for deb in "$dir"/debs/*.deb; do
        dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$dir/root" --exclude='*/share/doc' --exclude='*/share/man' \
            --exclude='*/share/locale'
    done
    # With the C library that it was built for, and still a program of its own.
    loader=$root/lib64/ld-linux-x86-64.so.2
    "$loader" --library-path "$root/lib/x86_64-linux-gnu" "$root/bin/patchelf" --set-interpreter "$loader" --force-rpath \
        --set-rpath "$root/lib/x86_64-linux-gnu" "$root/bin/qemu-system-x86_64"
    mkdir "$root/commands"
    cat >"$command" <<END
#!/bin/sh
exec '$root/bin/qemu-system-x86_64' -L '$root/share/qemu' -L '$root/share/seabios' "\$@"
END
    chmod +x "$command"
    : >"$dir/unpacked"
fi
echo "$command"
