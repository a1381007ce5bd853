#!/bin/sh
# What other people's builds need of Strata - the generator and libstrata - is built of libc alone:
# sets up such a build where no other library can be found.
#
#   tests/libc-only.sh
set -eu

tree=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/nothing"

fail() {
    echo "libc-only: $*" >&2
    exit 1
}

if ! { PKG_CONFIG_LIBDIR=$dir/nothing meson setup "$dir/build" "$tree" -Dreading=disabled \
    -Dwerror=true -Dbuildtype=debug && ninja -C "$dir/build"; } >"$dir/log" 2>&1; then
    cat "$dir/log" >&2
    fail "it does not build"
fi
"$dir/build/bin/strata" --version | grep -q '^strata [0-9]' || fail "strata --version"
# No verb that is not there is shown.
"$dir/build/bin/strata" help >"$dir/help"
! grep -q simpletrace "$dir/help" || fail "the help names what is not there"
needed=$(readelf -d "$dir/build/bin/strata" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v -e '^libc\.so' -e '^ld-linux' || :)
[ -z "$needed" ] || fail "strata also needs: $needed"
echo "built of libc alone"
