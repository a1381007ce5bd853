#!/bin/sh
# The .pc files of a build that is not installed: what they say finds the headers and the libraries.
#
#   tests/uninstalled.sh BUILD
set -eu

build=$1

fail() {
    echo "uninstalled: $*" >&2
    exit 1
}

if ! command -v pkg-config >/dev/null; then
    echo "uninstalled: SKIPPED: no pkg-config" >&2
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export PKG_CONFIG_PATH="$build/meson-uninstalled"

for name in trace read monitor percpu; do
    echo "#include <strata/$name.h>
int main(void) { return 0; }" >"$dir/main.c"
    # shellcheck disable=SC2046 # words
    ${CC:-cc} -std=gnu11 -o "$dir/main" "$dir/main.c" $(pkg-config --cflags --libs "strata-$name") || fail "strata-$name"
done
