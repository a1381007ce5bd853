#!/bin/sh
# strata serve: what it answers is what the other commands print, and it answers those alone who know its secret.
. "$(dirname "$0")/../lib/golden.sh"
command -v python3 >/dev/null || { echo "SKIPPED: python3 is not installed"; exit 77; }

. "$here/../lib/kernel_capture.sh"
. "$here/../lib/three_layers.sh"
export XDG_CACHE_HOME="$work/cache"

case="usage"
"$strata" serve 2>err && fail "serves nothing"
grep -q "no trace file given" err || fail "$(cat err)"
"$strata" serve - 2>err && fail "serves standard input"
grep -q "standard input cannot be read again" err || fail "$(cat err)"
"$strata" serve nothing >out 2>err && fail "serves what there is not"
[ ! -s out ] || fail "prints an address: $(cat out)"
[ "$(wc -l <err)" -eq 1 ] || fail "not one line: $(cat err)"
for address in 192.0.2.1:99999 : '[::1' 8080x: 70000; do
    "$strata" serve --listen "$address" trace >out 2>err && fail "listens on $address"
    [ "$(wc -l <err)" -eq 1 ] || fail "not one line: $(cat err)"
done
grep -q "invalid port '70000'" err || fail "$(cat err)"

python3 "$here/serve.py" "$strata" trace
