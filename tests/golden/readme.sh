#!/bin/sh
# Runs each example of README.md and docs/guide/ unchanged, and compares its output: tests/golden/readme.sh
# [--update]. By hand, STRATA_BIN defaults to build/bin.
set -eu

tree=$(cd "$(dirname "$0")/../.." && pwd)
[ -r /usr/share/qemu/trace-events-all ] || { echo "SKIPPED: qemu-system-common is not installed, whose declarations this reads"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

mkdir "$dir/build"
ln -s "${STRATA_BIN:-$tree/build/bin}" "$dir/build/bin"
mkdir "$dir/tests"
ln -s "$tree/tests/data" "$dir/tests/data"
"$tree/tools/demo-data" "$dir/build/demo"
# Of this machine's QEMU, whatever its version.
STRATA_EVENTS=$dir/build/demo/trace-events-all
export STRATA_EVENTS
PYTHONPATH=$(dirname "$(readlink -f "$dir/build/bin")")/src/python PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE
unset STRATA_BIN DATA
cd "$dir/build/demo"
PATH=$dir/build/bin:$PATH LC_ALL=C.UTF-8 python3 "$tree/tests/readme.py" "$dir/build/demo" "$@" \
    "$tree/README.md" "$tree"/docs/guide/*.md
