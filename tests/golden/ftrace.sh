#!/bin/sh
# What trace-cmd shows of two traces of a real kernel, strata report shows of them too: the same
# times, CPUs, tasks, names and texts, in the same order; from raw pages, and from a trace.dat where
# trace-cmd is installed to write one.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

# TIME CPU TASK-PID EVENT: TEXT, the time without its point: raw ticks have none.
of_trace_cmd() {
    sed -En -e 's/^ *([^ ].*-[0-9]+) +\[([0-9]+)\] +([0-9]+)\.([0-9]+): ([^ ]+:) +/\3\4 \2 \1 \5 /p' \
        -e 's/^CPU:([0-9]+) \[(([0-9]+) )?EVENTS DROPPED\]$/LOST \1 \3/p' "$1" >"$work/theirs"
    # It groups the operators of this format as "(flags & M) | D | P | I"; of the nine events none has one of these.
    sed '/ timer_start: /s/ flags=D|P|I$/ flags=/' "$work/theirs"
}
of_strata() {
    sed -E -e 's/^[0-9.]+ \[0*([0-9]+)\] .*LOST: (([0-9]+)|.*)( events?.*)?$/LOST \1 \3/;t' \
        -e 's/^([0-9]+)(\.([0-9]+))? \[([0-9]+)\] +([^ ].*-[0-9]+) ([^ ]+:) ?/\1\3 \4 \5 \6 /' "$1"
}

. "$here/../lib/kernel_capture.sh"
for clock in local tsc; do
    data=$DATA/ftrace/guest-$clock-clock
    kernel_capture $clock "$work/$clock" all
    gzip -dc "$data/tracecmd-report-t.txt.gz" >"$work/t.txt"
    of_trace_cmd "$work/t.txt" >"$work/$clock.expected"
done
# The second guest ran the same kernel at the same addresses; its own table was not saved.
cp "$work/local/guest/proc/kallsyms" "$work/tsc/guest/proc/"

for clock in local tsc; do
    "$STRATA_BIN/strata" report "$work/$clock" >"$work/got" 2>/dev/null
    of_strata "$work/got" | diff - "$work/$clock.expected" | head -20 >"$work/diff"
    if [ -s "$work/diff" ]; then
        cat "$work/diff" >&2
        exit 1
    fi
    [ "$(wc -l <"$work/$clock.expected")" -gt 14396 ]
done

# One CPU by itself, the tree found beside it.
"$STRATA_BIN/strata" report "$work/local/cpu1.raw" 2>/dev/null >"$work/got"
grep ' 001 \|^LOST 1' "$work/local.expected" >"$work/expected"
of_strata "$work/got" | cmp - "$work/expected"

# Without the kernel's table of names, those of sched_switch, wakeups, fork and exec: a task that is switched has the name
# that the event has, also from the first event on.
kernel_capture local "$work/unnamed"
find "$work/unnamed" -name saved_cmdlines -exec truncate -s 0 {} +
"$STRATA_BIN/strata" report --format json "$work/unnamed" 2>/dev/null >"$work/got"
python3 - "$work/got" <<'END'
import collections, json, sys

names = collections.defaultdict(set)
items = [json.loads(line) for line in open(sys.argv[1])]
items = [item for item in items if "lost" not in item]
for item in items:
    fields = item["fields"]
    for pid, name in ("prev_pid", "prev_comm"), ("next_pid", "next_comm"), ("pid", "comm"), ("child_pid", "child_comm"):
        if item["group"] == "sched" and fields.get(name):
            names[fields[pid]].add(fields[name])
    if item["event"] == "sched_process_exec":
        names[fields["pid"]].add(fields["filename"].split("/")[-1][:15])
switches = [item for item in items if item["event"] == "sched_switch" and item["pid"]]
assert len(switches) > 10 and len(names) > 10, (len(switches), len(names))
for item in switches:
    assert item.get("comm") in names[item["pid"]], item
for item in items:
    assert not item["pid"] or item.get("comm") in names[item["pid"]] | {None}, item
named = sum(1 for item in items if item.get("comm"))
assert named > 0.5 * len(items), (named, len(items))
END

# --flags: as the kernel's own text has it, which goes on for some events.
for cpu in 0 1; do
    "$STRATA_BIN/strata" report --flags --cpu $cpu "$work/local" 2>/dev/null | grep -v ' LOST: ' | awk '{ print $3 }' >"$work/flags"
    sed -n 's/^.*) \[00[01]\] \(.....\) .*/\1/p' "$work/local/guest/per_cpu/cpu$cpu/trace" |
        head -n "$(wc -l <"$work/flags")" | cmp - "$work/flags"
    [ "$(sort -u "$work/flags" | wc -l)" -gt 10 ]
done
"$STRATA_BIN/strata" report --flags -f json -e sched_switch "$work/local" 2>/dev/null |
    jq -se 'map(select(.event)) | length > 10 and all(.flags < 256 and .preempt_count == 2)' >/dev/null

command -v trace-cmd >/dev/null || exit 0
cd "$work/local"
trace-cmd restore -c -t guest -k guest/proc/kallsyms -o head.dat >/dev/null 2>&1
trace-cmd restore -i head.dat -o all.dat cpu0.raw cpu1.raw >/dev/null 2>&1
"$STRATA_BIN/strata" report all.dat 2>/dev/null >"$work/got"
of_strata "$work/got" | cmp - "$work/local.expected"
# Through a pipe, which is put into a file first.
cat all.dat | "$STRATA_BIN/strata" report - 2>/dev/null >"$work/got"
of_strata "$work/got" | cmp - "$work/local.expected"
