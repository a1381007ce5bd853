#!/bin/sh
# The release tarball: what `meson dist` makes of the last commit has no files that only a checkout needs, and can be set
# up where neither git nor a network is there.
#
#   tests/dist.sh
set -eu

tree=$(cd "$(dirname "$0")/.." && pwd)

skip() {
    echo "dist: SKIPPED: $*" >&2
    exit 77
}
fail() {
    echo "dist: $*" >&2
    exit 1
}
[ -e "$tree/.git" ] || skip "this is no git checkout"
command -v git >/dev/null || skip "git is not installed"
git -C "$tree" rev-parse -q --verify HEAD >/dev/null 2>&1 || skip "git does not read this checkout"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# What meson dist packs; compressing it takes longer than all else.
git -C "$tree" archive --prefix=strata/ HEAD | tar -x -C "$dir"
for name in .git .gitignore .gitattributes .ci .github; do
    [ ! -e "$dir/strata/$name" ] || fail "$name is in the tarball"
done
for name in README.md CHANGELOG.md LICENSE docs/man/strata.1 tests/data debian/control setup; do
    [ -e "$dir/strata/$name" ] || fail "$name is not in the tarball"
done

# Whatever is called of these says so.
mkdir "$dir/bin"
for name in git curl wget npm pip pip3; do
    printf '#!/bin/sh\necho "%s $*" >>"%s"\nexit 1\n' "$name" "$dir/called" >"$dir/bin/$name"
    chmod +x "$dir/bin/$name"
done
PATH=$dir/bin:$PATH
export PATH
unset GIT_DIR GIT_WORK_TREE
meson setup "$dir/build" "$dir/strata" >"$dir/log" 2>&1 || fail "meson setup: $(tail -n 20 "$dir/log")"
ninja -C "$dir/build" src/cli/build_info.h >"$dir/log" 2>&1 || fail "ninja: $(tail -n 20 "$dir/log")"
grep -q '^#define BUILD_NAME "release"$' "$dir/build/src/cli/build_info.h" ||
    fail "the build is named $(grep BUILD_NAME "$dir/build/src/cli/build_info.h")"
[ ! -e "$dir/called" ] || fail "the build calls: $(cat "$dir/called")"
