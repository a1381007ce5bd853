#!/bin/sh
# That bench/emit runs: builds its program with generated code, gets a figure for each row. What the
# figures are does not matter. (Of LTTng there is tests/consumers/ust-lttng.sh.)
set -eu

tree=$(cd "$(dirname "$0")/../.." && pwd)
for need in python3 cc; do
    command -v $need >/dev/null || { echo "SKIPPED: $need is not installed"; exit 77; }
done
[ -d /dev/shm ] || { echo "SKIPPED: there is no /dev/shm"; exit 77; }
table=$(mktemp)
trap 'rm -f "$table"' EXIT

"$tree/bench/emit" --short --no-lttng --bin "$STRATA_BIN" >"$table" || {
    cat "$table"
    exit 1
}
for row in 'u64 x 2, native trace' 'a string of 16' 'in a hot loop' 'simpletrace ' 'log ' 'fprintf '; do
    grep -q "^  $row.* [0-9]" "$table" || {
        cat "$table"
        echo "bench_emit: no row: $row" >&2
        exit 1
    }
done
