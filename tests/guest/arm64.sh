#!/bin/sh
# Tests on a real guest of another processor: builds the agent for arm64, and boots Debian's arm64 kernel with it.
#
#   arm64.sh DIR     DIR holds debs/ (tools/packages fetch arm64 DIR/debs) and is kept
#
# Environment: STRATA_BIN, the directory of the built commands; SANITIZED, when they have sanitisers.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
tree=$here/../..
dir=$1

skip() {
    echo "NOT TESTED ON AN ARM64 GUEST: $*" >&2
    exit 77
}

[ -z "${SANITIZED:-}" ] || skip "tested with commands that have no sanitisers"
[ -e "$dir/debs/complete" ] || skip "its packages are not in $dir/debs; fetch them: tools/packages fetch arm64 $dir/debs"
for tool in qemu-system-aarch64 qemu-aarch64 aarch64-linux-gnu-gcc pkg-config cpio python3; do
    command -v $tool >/dev/null || skip "there is no $tool here"
done
echo '#include <stdio.h>' | aarch64-linux-gnu-gcc -E - >/dev/null 2>&1 || skip "libc6-dev-arm64-cross is not installed"

# libzstd is only unpacked. The package's paths are those of a machine that has it installed.
libraries=$dir/libraries
if ! [ -e "$libraries/complete" ] || [ "$dir/debs/complete" -nt "$libraries/complete" ]; then
    rm -rf "$libraries" "$dir/build"
    mkdir -p "$libraries"
    dpkg-deb -x "$dir"/debs/libzstd-dev_*.deb "$libraries"
    touch "$libraries/complete"
fi
cat >"$dir/libraries.ini" <<END
[binaries]
c = ['aarch64-linux-gnu-gcc', '-B$libraries/usr/lib/aarch64-linux-gnu/', '-isystem', '$libraries/usr/include']
exe_wrapper = ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu']
[properties]
sys_root = '$libraries'
pkg_config_libdir = '$libraries/usr/lib/aarch64-linux-gnu/pkgconfig'
END
[ -e "$dir/build/build.ninja" ] ||
    meson setup "$dir/build" "$tree" --cross-file "$tree/tools/cross/arm64.ini" --cross-file "$dir/libraries.ini" \
        -Dreading=disabled -Dagent=enabled -Dwerror=true
ninja -C "$dir/build" bin/strata-agent

"$tree/tools/guest-image" "$dir/debs" "$dir" "$here/init" "$dir/build/bin/strata-agent"
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/arm64.py" "$dir"
