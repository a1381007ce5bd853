#!/bin/sh
# That bench/percpu runs, and its accounts of what was written, read and lost agree. What the figures are
# does not matter.
set -eu

tree=$(cd "$(dirname "$0")/../.." && pwd)
for need in python3 cc; do
    command -v $need >/dev/null || { echo "SKIPPED: $need is not installed"; exit 77; }
done
[ -w /dev/shm ] || { echo "SKIPPED: /dev/shm cannot be written"; exit 77; }
table=$(mktemp)
trap 'rm -f "$table"' EXIT

"$tree/bench/percpu" --short --bin "$STRATA_BIN" >"$table" || {
    cat "$table"
    exit 1
}
for row in TRACE_0D TRACE_2D TRACE_7D '8 bytes of any' '2 words without' 'tracing off' 'on, the class' \
    'as fast as they go' '1 million/s each'; do
    grep -q "^  $row.* [0-9+-]" "$table" || {
        cat "$table"
        echo "bench_percpu: no row: $row" >&2
        exit 1
    }
done
