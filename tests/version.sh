#!/bin/sh
# The version stands in meson.build: the changelogs are of the same one, and strata --version tells it, what was built and
# what is in it.
#
#   tests/version.sh VERSION BUILD_NAME TYPE FEATURE...    BUILD_NAME: of -Dpkgversion; TYPE: meson's buildtype
set -eu

tree=$(cd "$(dirname "$0")/.." && pwd)
version=$1 build_name=$2 type=$3
shift 3

fail() {
    echo "version: $*" >&2
    exit 1
}
# same WHAT FOUND
same() {
    [ "$2" = "$version" ] || fail "$1 is of version '$2', meson.build of '$version'"
}

same CHANGELOG.md "$(sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' "$tree/CHANGELOG.md" | head -n 1)"
same debian/changelog "$(sed -n '1s/^strata (\([^)]*\)) .*/\1/p' "$tree/debian/changelog")"

told=$("$STRATA_BIN/strata" --version)
line() {
    printf '%s\n' "$told" | sed -n "s/^$1: //p"
}
same 'strata --version' "$(printf '%s\n' "$told" | sed -n '1s/^strata //p')"
[ "$(printf '%s\n' "$told" | wc -l)" -eq 4 ] || fail "not four lines: $told"
line build | grep -Eq '^[^ ].* \((gcc|clang) [0-9]+[.0-9]*, '"$type"'(,[^)]*)?\)$' || fail "what was built: $told"
[ "$(line features)" = "$*" ] || fail "features other than '$*': $told"
line libraries | grep -Eq '(^|, )libzstd [0-9]' || fail "no libzstd: $told"

# The commit of a git checkout, but not of another project's that has this tree in it.
describe=$tree/src/cli/describe-build.sh
built=$(line build | sed 's/ (.*//')
if [ -n "$build_name" ]; then
    [ "$built" = "$build_name" ] || fail "not built as '$build_name': $told"
elif [ -e "$tree/.git" ]; then
    # The commit may be another one since.
    echo "$built" | grep -Eq '^(v[0-9].*|[0-9a-f]{7,}(-dirty)?|from git)$' || fail "no commit: $told"
else
    [ "$built" = release ] || fail "no release: $told"
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/other/strata/src/cli"
cp "$describe" "$dir/other/strata/src/cli/"
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
if command -v git >/dev/null; then
    git init -q "$dir/other"
    [ "$("$dir/other/strata/src/cli/describe-build.sh")" = release ] || fail "a tree in another project is described"
    git init -q "$dir/other/strata"
    cd "$dir/other/strata"
    git add .
    git -c user.name=x -c user.email=x@example.com -c commit.gpgsign=false commit -q -m x
    git tag v1.0
    [ "$(src/cli/describe-build.sh)" = v1.0 ] || fail "a release is described as $(src/cli/describe-build.sh)"
    echo >>src/cli/describe-build.sh
    [ "$(src/cli/describe-build.sh)" = v1.0-dirty ] || fail "a change is not told"
else
    echo "version: SKIPPED in part: git is not installed" >&2
fi
