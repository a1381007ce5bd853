#!/bin/sh
# Installs the built tree where it belongs, and runs a program that links its libraries with nothing but what the
# dynamic loader knows, no LD_LIBRARY_PATH, and Python without PYTHONPATH. All in a mount namespace of its own, of which
# the machine sees nothing.
#
#   tests/install_loader.sh BUILD
set -eu

build=$1
tree=$(cd "$(dirname "$0")/.." && pwd)

skip() {
    echo "install_loader: SKIPPED: $*" >&2
    exit 77
}
fail() {
    echo "install_loader: $*" >&2
    exit 1
}
. "$tree/tests/lib/mount_namespace.sh"

if [ -z "${IN_NAMESPACE:-}" ]; then
    # A user may do it as root of a user namespace, where the kernel allows that.
    [ "$(id -u)" -eq 0 ] || namespace_options=--map-root-user
    has_mount_namespace "${TMPDIR:-/tmp}" /etc /var || skip "$no_namespace"
    status=0
    IN_NAMESPACE=yes in_mount_namespace "$0" "$build" || status=$?
    exit $status
fi

option() {
    meson introspect "$build" --buildoptions | jq -r ".[] | select(.name == \"$1\").value"
}
prefix=$(option prefix)
libdir=$(option libdir)
PATH=$PATH:/usr/sbin:/sbin
[ -d "$prefix" ] || skip "there is no $prefix"

# Writes go into memory that ends with the namespace.
layers=$(mktemp -d)
trap 'cd /; umount "$layers" 2>/dev/null; rmdir "$layers"' EXIT
mount -t tmpfs tmpfs "$layers" || skip "no tmpfs can be mounted"
for dir in /etc "$prefix" /var/cache/ldconfig; do
    [ -d "$dir" ] || continue
    upper=$layers/$(echo "$dir" | tr / _)
    mkdir "$upper" "$upper.work"
    mount -t overlay -o "lowerdir=$dir,upperdir=$upper,workdir=$upper.work" overlay "$dir" 2>/dev/null ||
        skip "no overlay can be mounted over $dir"
done
mkdir -p "$prefix/$libdir" 2>"$layers/told" || skip "$(cat "$layers/told")"
ldconfig -v -N -X 2>/dev/null | grep -q "^$prefix/$libdir:" || skip "the dynamic loader does not search $prefix/$libdir"

# As on a machine that has never had it.
rm -f "$prefix/$libdir"/libstrata* "$prefix/$libdir"/pkgconfig/strata*
rm -rf "$prefix"/lib/python3*/*-packages/strata
ldconfig
ldconfig -p | grep -q libstrata && skip "another libstrata is installed"

cd "$layers"
unset LD_LIBRARY_PATH PKG_CONFIG_PATH
meson install -C "$build" --no-rebuild >log || fail "meson install: $(cat log)"
xz -dc "$tree/tests/data/qemu/trace.simpletrace.xz" >capture
# shellcheck disable=SC2046 # lists of words
{
    PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
    export PKG_CONFIG_PATH
    ${CC:-cc} -std=c11 -o reads "$tree/examples/read-trace.c" $(pkg-config --cflags --libs strata-read)
}
./reads capture >out 2>err || fail "a program that links libstrata-read does not start: $(cat err)"
[ "$(wc -l <out)" -gt 1000 ] || fail "it printed too little"

# Python finds its modules where it looks, if that is below this prefix.
if [ -n "${PYTHON:-}" ] && "$PYTHON" -c 'import sys
sys.exit(not any(p.startswith(sys.argv[1] + "/lib") and p.endswith("-packages") for p in sys.path))' "$prefix"; then
    env -u PYTHONPATH "$PYTHON" -c 'import strata, simpletrace' 2>err || fail "Python does not find strata: $(cat err)"
fi

# With DESTDIR the loader of this machine has nothing to learn.
cp /etc/ld.so.cache cache
DESTDIR=$layers/dest meson install -C "$build" --no-rebuild >log || fail "with DESTDIR: $(cat log)"
cmp -s /etc/ld.so.cache cache || fail "an installation into DESTDIR changed /etc/ld.so.cache"

# A user who may not write there gets a message, not a traceback.
if ! command -v setpriv >/dev/null ||
    ! setpriv --reuid=65534 --regid=65534 --clear-groups test -r "$tree/tools/install" 2>/dev/null; then
    echo "install_loader: SKIPPED in part: another user cannot be tried, or cannot read $tree" >&2
else
    status=0
    mkdir bin # no sudo is here
    for name in awk dirname id meson; do
        ln -s "$(command -v $name)" bin/
    done
    setpriv --reuid=65534 --regid=65534 --clear-groups env PATH="$layers/bin" /bin/sh "$tree/tools/install" "$build" \
        >out 2>err || status=$?
    if [ $status -ne 1 ] || ! grep -q "^setup: $prefix cannot be written by " err || grep -q Traceback err out; then
        fail "without the right to write to $prefix: exit $status: $(cat err)"
    fi
fi
echo "the loader knows it"
