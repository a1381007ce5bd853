#!/bin/sh
# That the benchmarks run: of bench/decode its generators, its checks that every program shows every event, its
# table; of bench/export every format; of bench/gen every format and backend; of bench/filter its rows; of
# bench/sched Xen; those that need machines start, at least. Peers that are not installed are left out; no figure
# matters.
set -eu

tree=$(cd "$(dirname "$0")/../.." && pwd)
for need in python3 cc xz; do
    command -v $need >/dev/null || { echo "SKIPPED: $need is not installed"; exit 77; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$tree/tools/qemu-events" "$dir/declared" || exit

for program in "$tree"/bench/*; do
    [ -x "$program" ] && [ -f "$program" ] || continue
    "$program" --help >"$dir/help" 2>&1 || {
        cat "$dir/help"
        exit 1
    }
done

"$tree/bench/decode" --short --bin "$STRATA_BIN" --data "$DATA" --cache "$dir/cache" >"$dir/table" || {
    cat "$dir/table"
    exit 1
}
grep -q 'strata report' "$dir/table"

"$tree/bench/export" --short --bin "$STRATA_BIN" --data "$DATA" --cache "$dir/cache" --scratch "$dir" >"$dir/table" || {
    cat "$dir/table"
    exit 1
}
grep -q 'export --to perfetto' "$dir/table"

"$tree/bench/exits" --short --bin "$STRATA_BIN" --data "$DATA" --cache "$dir/cache" >"$dir/table" || {
    cat "$dir/table"
    exit 1
}
grep -q 'strata exits' "$dir/table"

"$tree/bench/jobs" --short --bin "$STRATA_BIN" --data "$DATA" --cache "$dir/cache" >"$dir/table" || {
    cat "$dir/table"
    exit 1
}
grep -q 'summary' "$dir/table"

"$tree/bench/index" --short --bin "$STRATA_BIN" --tool "$STRATA_BIN/../tests/index-bench" --data "$DATA" \
    --cache "$dir/cache" >"$dir/table" || {
    cat "$dir/table"
    exit 1
}
grep -q 'a view of 40 rows' "$dir/table"

# The module is built only if Python's headers are installed.
if [ -e "$STRATA_BIN/../src/python/strata/__init__.py" ]; then
    "$tree/bench/python" --short --bin "$STRATA_BIN" --data "$DATA" --cache "$dir/cache" >"$dir/table" || {
        cat "$dir/table"
        exit 1
    }
    grep -q 'module simpletrace' "$dir/table"
fi

"$tree/bench/io" --short --bin "$STRATA_BIN" --data "$DATA" --cache "$dir/cache" >"$dir/table" || {
    cat "$dir/table"
    exit 1
}
grep -q 'strata io' "$dir/table"

"$tree/bench/path" --short --stored --bin "$STRATA_BIN" --data "$DATA" --cache "$dir/cache" >"$dir/table" || {
    cat "$dir/table"
    exit 1
}
grep -q 'strata path syscall' "$dir/table"

"$tree/bench/seek" --short --bin "$STRATA_BIN" --data "$DATA" --cache "$dir/cache" >"$dir/table" || {
    cat "$dir/table"
    exit 1
}
grep -q 'the last 10 events' "$dir/table"

"$tree/bench/latency" --short --bin "$STRATA_BIN" --data "$DATA" --cache "$dir/cache" >"$dir/table" || {
    cat "$dir/table"
    exit 1
}
grep -q 'latency syscall' "$dir/table"

"$tree/bench/sched" --short --xen --bin "$STRATA_BIN" --data "$DATA" --cache "$dir/cache" >"$dir/table" || {
    cat "$dir/table"
    exit 1
}
grep -q 'strata sched --by vcpu' "$dir/table"

if command -v sqlite3 >/dev/null; then
    "$tree/bench/sql" --short --bin "$STRATA_BIN" --data "$DATA" --cache "$dir/cache" >"$dir/table" || {
        cat "$dir/table"
        exit 1
    }
    grep -q 'spans joined with states' "$dir/table"
fi

if command -v qemu-system-x86_64 >/dev/null; then
    "$tree/bench/flight" --short --bin "$STRATA_BIN" --trace "$dir" >"$dir/table" || {
        cat "$dir/table"
        exit 1
    }
    grep -q '^  memory ' "$dir/table"
fi

if [ -n "${LIBSTRATA:-}" ]; then # not in a build with a sanitizer
    "$tree/bench/filter" --short >"$dir/table" || { cat "$dir/table" && exit 1; }
    [ "$(grep -c ' ns ' "$dir/table")" -eq 9 ]
fi

"$tree/bench/gen" --short --bin "$STRATA_BIN" --data "$DATA" --cache "$dir/cache" >"$dir/table" || {
    cat "$dir/table"
    exit 1
}
grep -q '8 formats together' "$dir/table"
