#!/bin/sh
# --help of each shell script of tools/ and of setup prints what the script is for, and does nothing else.
set -eu

tree=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
    echo "tools_help: $*" >&2
    exit 1
}

n=0
for tool in "$tree"/tools/*; do
    [ -x "$tool" ] && [ -f "$tool" ] && head -n 1 "$tool" | grep -q '^#!/bin/\(ba\)\{0,1\}sh$' || continue
    case ${tool##*/} in
    # Run by setup, the demo's guest, other tools, and meson.
    check | demo-init | qemu-trial-series | test-results | update-loader) continue ;;
    esac
    for option in --help -h; do
        "$tool" $option >"$work/out" 2>"$work/err" || fail "$tool $option: exit status $?: $(cat err)"
        [ -s out ] && [ ! -s err ] || fail "$tool $option: $(cat out err)"
        rm out err
        [ -z "$(ls -A .)" ] || fail "$tool $option left $(ls -A .)"
    done
    n=$((n + 1))
done
[ $n -ge 15 ] || fail "$n tools"
