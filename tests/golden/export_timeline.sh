#!/bin/sh
# strata export --to perfetto: event by event what strata reports, by protoc.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

. "$here/../lib/perfetto.sh"

xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot.trace
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen.raw
tar -xf "$DATA/ctf/lttng-ust.tar.xz"
. "$here/../lib/kernel_capture.sh"
kernel_capture local local
kernel_capture tsc tsc

# compare TRACE... [OPTION...]: exported and reported with the same. What was seen is in perfetto.seen.
compare() {
    "$strata" report -f json "$@" >report 2>err || :
    "$strata" report "$@" >text 2>err || :
    "$strata" export --to perfetto -o trace.perfetto "$@" 2>err || :
    perfetto_decode trace.perfetto >decoded 2>err || fail "$*: $(cat err)"
    python3 "$here/export_timeline.py" decoded report text >perfetto.seen || fail "$* differs"
}
# seen FILTER: what was seen is as the filter says.
seen() {
    jq -e "$1" perfetto.seen >out || fail "not $1: $(cat perfetto.seen)"
}

compare boot.trace -n 3000
seen '.slices == 2 and .open == 0 and .cut == {}'
# What runs, interrupts, system calls, with losses.
compare local
seen '.slices > 5000 and .cut["the thread ends"] > 0 and .cut["events were lost"] > 0'
# The data of CPU 1 end before those of CPU 0: a thread that is in a system call may have left it there.
end=$("$strata" report -f json local 2>err | jq -s 'map(select(.cpu == 1 and .event)) | last.time_ns')
seen ".unknown == [[\"CPU 1\", $end], [\"ls 162\", $end]]"
# Nothing ends them: but for the first of each thread, which could not be known, they are events. Before all CPUs begin, each may
# have ended on another CPU.
compare tsc -e 'sys_enter*' --from 22276146618
seen '.instants > 100 * .slices and .cut["no end was seen"] == .slices - .open'
compare xen.raw -n 20000 --cpu-hz 2.4G
# A CPU of Xen is recorded up to its last event.
end=$("$strata" report -f json xen.raw -n 20000 --cpu-hz 2.4G 2>err | jq -s 'map(select(.cpu == 1 and .event)) | last.time_ns')
seen ".slices > 50 and .counters > 100 and .cut == {\"what came then is not in the trace\": 1} and .unknown == [[\"CPU 1\", $end]]"
compare lttng-ust
# Exits beside what the thread does: its system calls begin and end in them.
xz -dc "$DATA/kvm/exits.tar.xz" | tar -x
mv trace kvm
compare kvm -e -kvm_msr # what its text does not name
seen '.slices > 4000 and .cut["what is around it ends"] == null'
# Strings that are no UTF-8, large and empty payloads, arrays, floats, requests.
python3 "$here/export_timeline_made.py"
compare --trace-events made.events made.trace
seen '.cut == {"no end was seen": 1, "events were lost": 1} and .slices == 9'
# Several layers on the host's timeline, with the errors of their times, and what the time of day was.
mkdir -p trace/vmm
cp made.trace trace/vmm/trace.simple
cp made.events trace/vmm/trace-events
cp -r local trace/guest
printf '5000 4600000000 40\n100005000 4700000000 40\n' >trace/guest/clock-pairs
cat >trace/trace.json <<'END'
{"format": "strata-trace", "version": 1, "sources": [
 {"name": "vmm", "kind": "simpletrace", "layer": "vmm", "path": "vmm/trace.simple", "events": ["vmm/trace-events"],
  "clock": {"name": "monotonic", "hz": 1000000000, "host": true}, "host": {"boot_id": "b1"},
  "began": {"realtime_ns": 1700000000000001000, "monotonic_ns": 1000},
  "ended": {"realtime_ns": 1700000000000099000, "monotonic_ns": 99000}, "complete": true},
 {"name": "guest", "kind": "ftrace", "layer": "guest", "path": "guest",
  "clock": {"name": "local", "hz": 1000000000, "pairs": "guest/clock-pairs"}, "host": {"boot_id": "b1"},
  "guest": {"boot_id": "g1"}, "complete": true}]}
END
compare trace
seen '.slices > 5000 and .cut["no end was seen"] > 0'
grep -q strata.error_ns decoded || fail "no errors of times"
tr -d ' \n' <decoded >out
grep -qF 'clocks{clock_id:3timestamp:1000}clocks{clock_id:1timestamp:1700000000000001000}primary_trace_clock:3' out ||
    fail "not when it began"
grep -qF 'clocks{clock_id:3timestamp:99000}clocks{clock_id:1timestamp:1700000000000099000}' out ||
    fail "not when it ended"

# What has no event at all is a trace all the same.
compare boot.trace -e nosuchevent
seen '.events == 0'

# Damage, and the end of what can be written.
head -c 100000 boot.trace >cut.trace
compare cut.trace
"$strata" export --to perfetto boot.trace >piped
"$strata" export --to perfetto -o named boot.trace
cmp piped named || fail "a pipe differs"

# The clock is one that Perfetto knows. For any other clock, the trace names none.
perfetto_decode named | sed 20q | tr -d ' \n' >out
grep -qF 'clock_snapshot{clocks{clock_id:3timestamp:5572089026368}primary_trace_clock:3}' out || fail "$(cat out)"
grep -qF 'trace_packet_defaults{timestamp_clock_id:3}' out || fail "$(cat out)"
"$strata" export --to perfetto local 2>err |
    perfetto_decode - | grep -q clock_id &&
    fail "a guest's local clock is told as one of Perfetto's"

# Spans of the user's rules are those that latency finds, on tracks of their own; those without an end are cut.
wake='wake: sched_waking(pid) -> sched_switch(next_pid)'
cp -r local whole
read_in_time whole
export_perfetto --pair "$wake" whole
perfetto_marks >wake.json
"$strata" latency --pair "$wake" --events -f json whole >spans 2>err
python3 - wake.json spans <<'END' || fail "other spans"
import json, sys
marks = [json.loads(line) for line in open(sys.argv[1])]
spans = sorted((s["begin_ns"], s["end_ns"]) for s in map(json.loads, open(sys.argv[2])))
lanes = {m["track"][0] for m in marks if m["track"][0].startswith("wake ")}
assert len(lanes) > 1, lanes
drawn, cut, open_at = [], 0, {}
for m in marks:
    lane = m["track"][0]
    if lane not in lanes or m["kind"] not in "BE":
        continue
    if m["kind"] == "B":
        assert lane not in open_at and m["name"] == "wake", m
        open_at[lane] = m["ns"]
    elif m["args"]:
        cut += 1
        del open_at[lane]
    else:
        drawn.append((open_at.pop(lane), m["ns"]))
assert sorted(drawn) == spans and len(spans) > 3 and cut > 0, (drawn, spans, cut)
END
"$strata" export --to perfetto --pair "$wake" local 2>err |
    perfetto_decode - | grep -q 'name: "wake 1"' || fail "no lane"
if "$strata" export --to csv --pair "$wake" local >out 2>err; then fail "csv has spans"; fi
grep -q -- '--pair requires --to=perfetto, --to=clickhouse or --to=parquet' err || fail "$(cat err)"
if "$strata" export --to perfetto --pair 'a: sched_wakin -> b' -o wrong local 2>err; then fail "no such event"; fi
grep -q "has no event 'sched_wakin'; did you mean 'sched_waking'" err || fail "$(cat err)"
status=0
"$strata" export --to perfetto --pair 'a: sched_waking ->' -o wrong local 2>err || status=$?
[ $status -eq 2 ] && grep -q -- '--pair: column 19: an event should stand here' err || fail "status $status: $(cat err)"
exit 0
