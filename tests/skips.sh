#!/bin/sh
# tools/skips: the reasons of tests that were skipped, of what meson recorded of them.
set -eu

tree=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
command -v jq >/dev/null || { echo "SKIPPED: jq is not installed"; exit 77; }

cat >"$dir/log" <<'END'
{"name": "strata:golden / fine", "result": "OK", "stdout": "all is well\n", "stderr": ""}
{"name": "strata:golden / host", "result": "SKIP", "stdout": "", "stderr": "host: SKIPPED: only root may trace\n"}
{"name": "strata:tree / model", "result": "SKIP", "stdout": "spin is not installed\n"}
{"name": "strata:guest / guest", "result": "SKIP", "stdout": "", "stderr": "NOT TESTED ON A REAL GUEST: no packages\n"}
{"name": "strata:golden / silent", "result": "SKIP", "stdout": "", "stderr": ""}
{"name": "disk", "result": "OK", "stdout": "", "stderr": "disk: SKIPPED in part: no small file system can be mounted\nmore\n"}
{"name": "broken", "result": "FAIL", "stdout": "broken\n", "stderr": ""}
END
cat >"$dir/expected" <<'END'
host: only root may trace
model: spin is not installed
guest: NOT TESTED ON A REAL GUEST: no packages
silent: gives no reason
disk, in part: no small file system can be mounted
END
"$tree/tools/skips" "$dir/log" | diff "$dir/expected" -

# Each test that skips says why: no bare exit.
bare=$(grep -rlE '(\|\||&&|then) *exit 77' "$tree/tests" --include='*.sh' || :)
[ -z "$bare" ] || { echo "these skip without a reason: $bare" >&2; exit 1; }
