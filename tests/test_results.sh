#!/bin/sh
# tools/test-results: why tests were skipped, and how others failed, of what meson recorded of them.
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
{"name": "strata:unit / metrics", "result": "OK", "stdout": "[  SKIPPED ] promtool\n[ SKIPPED  ] 1 test(s), listed below:\n[  SKIPPED ] promtool\n\n 1 SKIPPED TEST(S)\n"}
{"name": "strata:golden / broken", "result": "FAIL", "returncode": 3, "duration": 1.5, "stdout": "0\nFailure: early\n1\n2\n3\n4\n5\n\n6\n", "stderr": "why\n"}
{"name": "hangs", "result": "TIMEOUT", "returncode": -15, "duration": 60.01}
END
cat >"$dir/expected" <<'END'
host: only root may trace
model: spin is not installed
guest: NOT TESTED ON A REAL GUEST: no packages
silent: gives no reason
disk, in part: no small file system can be mounted
metrics, in part: promtool
END
"$tree/tools/test-results" skipped "$dir/log" | diff "$dir/expected" -

cat >"$dir/expected" <<'END'
broken: FAIL, status 3, after 1 s
    Failure: early
    1
    2
    3
    4
    5
    6
    why
hangs: TIMEOUT, status -15, after 60 s
END
"$tree/tools/test-results" failed "$dir/log" | diff "$dir/expected" -

cat >"$dir/expected" <<'END'
60 s  hangs
1 s  broken
END
"$tree/tools/test-results" slowest "$dir/log" | head -n 2 | diff "$dir/expected" -

# Each test that skips says why: no bare exit.
bare=$(grep -rlE '(\|\||&&|then) *exit 77' "$tree/tests" --include='*.sh' || :)
[ -z "$bare" ] || { echo "these skip without a reason: $bare" >&2; exit 1; }
