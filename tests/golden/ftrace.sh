#!/bin/sh
# What trace-cmd shows of two captures of a real kernel, strata report shows of them too: the same
# times, CPUs, tasks, names and texts, in the same order; from raw pages, and from a trace.dat where
# trace-cmd is installed to write one.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# TIME CPU TASK-PID EVENT: TEXT, the time without its point: raw ticks have none.
of_trace_cmd() {
    sed -En -e 's/^ *([^ ].*-[0-9]+) +\[([0-9]+)\] +([0-9]+)\.([0-9]+): ([^ ]+:) +/\3\4 \2 \1 \5 /p' \
        -e 's/^CPU:([0-9]+) \[(([0-9]+) )?EVENTS DROPPED\]$/LOST \1 \3/p' "$1"
}
of_strata() {
    sed -E -e 's/^[0-9.]+ \[0*([0-9]+)\] .*LOST: (([0-9]+)|.*)( events?.*)?$/LOST \1 \3/;t' \
        -e 's/^([0-9]+)(\.([0-9]+))? \[([0-9]+)\] +([^ ].*-[0-9]+) ([^ ]+:) ?/\1\3 \4 \5 \6 /' "$1"
}

. "$here/kernel_capture.sh"
for clock in local tsc; do
    data=$DATA/ftrace/guest-$clock-clock
    kernel_capture $clock "$dir/$clock"
    gzip -dc "$data/tracecmd-report-t.txt.gz" >"$dir/t.txt"
    of_trace_cmd "$dir/t.txt" >"$dir/$clock.expected"
done
# The second guest ran the same kernel at the same addresses; its own table was not saved.
cp "$dir/local/guest/proc/kallsyms" "$dir/tsc/guest/proc/"

for clock in local tsc; do
    "$STRATA_BIN/strata" report "$dir/$clock" >"$dir/got" 2>/dev/null
    of_strata "$dir/got" | diff - "$dir/$clock.expected" | head -20 >"$dir/diff"
    if [ -s "$dir/diff" ]; then
        cat "$dir/diff" >&2
        exit 1
    fi
    [ "$(wc -l <"$dir/$clock.expected")" -gt 14396 ]
done

# One CPU by itself, the tree found beside it.
"$STRATA_BIN/strata" report "$dir/local/cpu1.raw" 2>/dev/null >"$dir/got"
grep ' 001 \|^LOST 1' "$dir/local.expected" >"$dir/expected"
of_strata "$dir/got" | cmp - "$dir/expected"

command -v trace-cmd >/dev/null || exit 0
cd "$dir/local"
trace-cmd restore -c -t guest -k guest/proc/kallsyms -o head.dat >/dev/null 2>&1
trace-cmd restore -i head.dat -o all.dat cpu0.raw cpu1.raw >/dev/null 2>&1
"$STRATA_BIN/strata" report all.dat 2>/dev/null >"$dir/got"
of_strata "$dir/got" | cmp - "$dir/local.expected"
# Through a pipe, which is put into a file first.
cat all.dat | "$STRATA_BIN/strata" report - 2>/dev/null >"$dir/got"
of_strata "$dir/got" | cmp - "$dir/local.expected"
