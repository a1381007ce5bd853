#!/bin/sh
# strata sched: the states of Xen's vCPUs as xenalyze has them, and those of a guest's threads as a script finds them
# that looks through all events.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/count_events.sh"
. "$here/../lib/kernel_capture.sh"
kernel_capture local guest
xz -dc "$DATA/xen/xen-4.17-no-guest-class.raw.xz" >xen.raw
xz -dc "$DATA/xen/xen-4.22-all.raw.xz" >all.raw

# Number and mean in ticks of what xenalyze 4.17 says of this trace. It ends the interval of a vCPU that goes on
# running, so that its runs are others.
case="runstates"
"$strata" sched --by vcpu -f json xen.raw >rows 2>err || fail "$(cat err)"
python3 - rows <<'END' || fail "not what xenalyze says"
import json, sys
XENALYZE = {
    "d0v0": {"wake": (257, 5907198), "preempt": (3, 168478), "sleep": (257, 6004872)},
    "d0v1": {"wake": (271, 7085683), "preempt": (3, 3782530), "sleep": (271, 11018452)},
}
told = json.load(open(sys.argv[1]))
assert told["unit"] == "ticks" and told["contradictions"]["switches"] == 0, told
rows = {row["key"]["vcpu"]: row for row in told["rows"]}
assert set(rows) == set(XENALYZE), rows
for vcpu, states in XENALYZE.items():
    for state, expected in states.items():
        n = rows[vcpu][state + "_n"]
        assert (n, rows[vcpu][state + "_sum"] // n) == expected, (vcpu, state, rows[vcpu])
END

# All intervals that a script finds.
case="runstates of all captures"
for trace in xen.raw all.raw; do
    "$strata" report -f json $trace >events
    "$strata" sched --by vcpu -f json $trace >rows
    python3 - events rows <<'END' || fail "$trace: not what a script finds"
import collections, json, sys
STATES = ("running", "runnable", "blocked", "offline")
since, was = {}, {}
n, total = collections.Counter(), collections.Counter()
for line in open(sys.argv[1]):
    item = json.loads(line)
    assert "lost" not in item
    before, _, after = item["event"].partition("_to_")
    if before not in STATES or after not in STATES or item["fields"]["dom"] == 32767:
        continue
    key = "d%dv%d" % (item["fields"]["dom"], item["fields"]["vcpu"])
    time = item["time_ns"] if "time_ns" in item else item["ticks"]
    if before == after:
        continue
    if key in was:
        reason, state = was[key]
        assert state == before, (item, was[key])
        n[key, reason] += 1
        total[key, reason] += time - since[key]
    reason = after
    if after == "runnable":
        reason = "preempt" if before == "running" else "wake"
    was[key], since[key] = (reason, after), time
rows = {row["key"]["vcpu"]: row for row in json.load(open(sys.argv[2]))["rows"]}
assert set(rows) == set(was), (set(rows), set(was))
for key, row in rows.items():
    for ours, state in (("run", "running"), ("wake", "wake"), ("preempt", "preempt"), ("sleep", "blocked")):
        assert row[ours + "_n"] == n[key, state], (key, state, row, n[key, state])
        assert row.get(ours + "_sum", 0) == total[key, state], (key, state, row)
assert sum(n.values()) > 500
END
done

# A kernel whose buffers lost most: what is complete has no loss of the source in it.
case="threads"
"$strata" report -f json guest >events
"$strata" sched -f json guest >rows
python3 - events rows <<'END' || fail "not what a script finds"
import collections, json, sys
waits = collections.defaultdict(list)
runs = collections.defaultdict(list)
woken, left, on, last = {}, {}, {}, {}
for line in open(sys.argv[1]):
    item = json.loads(line)
    if "lost" in item:
        woken, left = {}, {}
        on.pop(item["cpu"], None)
        for pid, spans in waits.items():
            waits[pid] = [span for span in spans if span[1] <= last.get(item["cpu"], 0)]
        continue
    fields, time, cpu = item.get("fields", {}), item["time_ns"], item["cpu"]
    last[cpu] = time
    if item["event"] in ("sched_waking", "sched_wakeup_new"):
        running = any(pid == fields["pid"] for pid, _ in on.values())
        if not running and fields["pid"] not in left:
            woken.setdefault(fields["pid"], time)
    if item["event"] != "sched_switch":
        continue
    prev, following = fields["prev_pid"], fields["next_pid"]
    if cpu in on:
        assert on[cpu][0] == prev, item
        runs[prev].append(time - on[cpu][1])
    on[cpu] = following, time
    woken.pop(prev, None)
    left.pop(prev, None)
    if fields["prev_state"] & 0xff == 0:
        left[prev] = time
    if following in woken:
        waits[following].append((time - woken.pop(following), time))
    left.pop(following, None)
waits = collections.defaultdict(list, {pid: [span[0] for span in spans] for pid, spans in waits.items()})
rows = {row["key"]["pid"]: row for row in json.load(open(sys.argv[2]))["rows"]}
assert len(rows) > 5
for pid, row in rows.items():
    assert row["run_n"] == len(runs[pid]) and row["run_sum"] == sum(runs[pid]), (row, runs[pid])
    assert row["wake_n"] == len(waits[pid]), (row, waits[pid])
    assert row.get("wake_sum", 0) == sum(waits[pid]), (row, waits[pid])
    if waits[pid]:
        assert row["wake_max"] == max(waits[pid]), (row, waits[pid])
assert sum(map(len, waits.values())) > 0 and sum(map(len, runs.values())) > 5
END

# The other views say the same in another way.
case="views"
"$strata" sched --latency -f json guest >latency
"$strata" sched --wakers -f json guest >wakers
"$strata" sched --who -f json guest >who
"$strata" sched --by cpu -f json guest >cpus
python3 - rows latency wakers who cpus <<'END' || fail "they contradict each other"
import collections, json, sys
rows, latency, wakers, who, cpus = (json.load(open(path))["rows"] for path in sys.argv[1:])
n = {row["key"]["pid"]: (row["wake_n"], row["wake_sum"]) for row in rows if row["wake_n"]}
assert n == {row["key"]["pid"]: (row["n"], row["sum"]) for row in latency}
assert latency == sorted(latency, key=lambda row: -row["max"])
by = collections.defaultdict(lambda: (0, 0))
for row in wakers:
    pid = row["key"]["pid"]
    by[pid] = by[pid][0] + row["n"], by[pid][1] + row["sum"]
assert by == n, (by, n)
waited = {row["key"]["pid"]: row.get("wake_sum", 0) + row.get("preempt_sum", 0) for row in rows}
total = collections.Counter()
for row in who:
    total[row["key"]["pid"]] += row["sum"]
    assert row["max"] <= row["sum"]
assert total == {pid: time for pid, time in waited.items() if time}, (total, waited)
for row in cpus:
    # null: none of it is known, and it is in the unknown share.
    shares = [row[name + "_share"] or 0 for name in ("busy", "interrupt", "idle", "unknown")]
    assert abs(sum(shares) - 1) < 1e-4 and min(shares) >= 0, row
assert sorted(row["key"]["cpu"] for row in cpus) == [0, 1], cpus
END

# What waits behind Strata's own threads: by their names, and by the processes that the trace directory names. What is called
# strata is the recorder only where the directory does not name that: it may be any command. Waits of a
# vCPU count from its first one on, though which thread runs it is found later.
case="the cost of recording"
xz -dc "$DATA/kvm/exits.tar.xz" | tar -x
"$strata" sched --who -f json trace >who
"$strata" sched --who --by vcpu -f json trace >who-vcpu
"$strata" sched --by vcpu -f json trace >vcpus
jq '.sources[0].host.recorder = 158 | .sources[0].guest.agent_pid = 21' trace/trace.json >trace.json
cp -r trace named
mv trace.json named
"$strata" sched --who --by vcpu -f json named >who-named
python3 - who who-vcpu vcpus who-named <<'END' || fail "wrong"
import json, sys
who, vcpu, vcpus, named = map(lambda path: json.load(open(path)), sys.argv[1:])
def is_own(key):
    return key["by"].startswith("strata") or key.get("task", "").startswith("strata")
for result in who, vcpu:
    waits = [row for row in result["rows"] if not row["key"].get("task", "").startswith("strata")]
    assert result["recorder"] == {"wait_ns": sum(row["sum"] for row in waits),
                                  "own_ns": sum(row["sum"] for row in waits if row["key"]["by"].startswith("strata")),
                                  "unknown_ns": sum(row["sum"] for row in waits if row["key"]["by"] == "<unknown>")}
    assert 0 < result["recorder"]["own_ns"] < result["recorder"]["wait_ns"]
row, = vcpus["rows"]
assert vcpu["recorder"]["wait_ns"] == row["wake_sum"] + row["preempt_sum"], (vcpu["recorder"], row)
more = sum(row["sum"] for row in vcpu["rows"] if row["key"]["by"] in ("perf-158", "ksoftirqd/1-21"))
others = sum(row["sum"] for row in vcpu["rows"] if row["key"]["by"].rpartition("-")[0] == "strata")
assert min(more, others) > 0 and named["recorder"]["own_ns"] == vcpu["recorder"]["own_ns"] + more - others, named["recorder"]
END
"$strata" sched --who --by vcpu trace |
    grep -q "^Strata's own threads ran for 73.4% of these waits, 261ms of 356ms: the cost of recording$" || fail "text"
"$strata" summary trace >lines
grep -q "^- the cost of recording: Strata's own threads, of all recordings there, use .*% of a CPU of the host; vCPU 0 waits behind them 10.7% of the time, 73% of its waits" lines || fail "summary: $(head -n 5 lines)"
! sed -n '/^What stands out/,/^$/p' lines | grep 'vCPU 0 waits for a CPU\|^- strata-\|, strata-' ||
    fail "the recorder is a finding: $(head -n 12 lines)"

# Each run of a vCPU is inside of the guest, outside of it, or not known to be either: together that is all that it ran. The
# thread that runs the vCPU was outside before it first entered the guest.
case="the parts of what a vCPU ran"
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >exits.raw
for of in trace all.raw exits.raw; do
    "$strata" sched --by vcpu -f json $of >vcpus 2>err || fail "$of: $(cat err)"
    jq -e '[.rows[] | select(.run_unknown != null)] | length == 1 and
        all((.guest + .vmm + .run_unknown - .run | fabs) <= 4)' vcpus >/dev/null || fail "$of: $(cat vcpus)"
done
"$strata" report -f json -e kvm_entry -e kvm_exit -e sched_switch trace >events
"$strata" sched --by vcpu -f json trace >vcpus
python3 - events vcpus <<'END' || fail "not what a script finds"
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
vcpu = next(e["pid"] for e in events if e["event"] == "kvm_entry")
guest = vmm = 0
on = inside = None  # since when it is on a CPU, and in the guest
for e in events:
    time, fields = e["time_ns"], e["fields"]
    if e["event"] == "sched_switch" and fields["prev_pid"] == vcpu and on is not None:
        vmm += time - on
        on = None
    elif e["event"] == "sched_switch" and fields["next_pid"] == vcpu:
        on = time
    elif e["pid"] == vcpu and e["event"] == "kvm_entry" and on is not None and inside is None:
        inside = time
    elif e["pid"] == vcpu and e["event"] == "kvm_exit" and inside is not None:
        guest += time - inside
        inside = None
row, = json.load(open(sys.argv[2]))["rows"]
vmm -= guest
assert row["run_unknown"] == 0 and abs(row["guest"] - guest) <= 4 and abs(row["vmm"] - vmm) <= 4, (row, guest, vmm)
END

"$strata" sched --by vcpu guest >out 2>err && fail "no status"
grep -q '^strata: none of the [0-9]* threads is known to run one vCPU$' err || fail "$(cat err)"
"$strata" sched --by vm guest >out 2>err && fail "no status"
grep -q '^strata: none of the [0-9]* threads is known to be of one machine$' err || fail "$(cat err)"

# So it is of a part of the trace, and the parts add up: of a run that reaches out of it, what was within.
case="the parts of what a vCPU ran in a part of the trace"
"$strata" sched --by vcpu -f json trace | jq -r '.rows[] | select(.run_unknown != null) | "\(.guest) \(.vmm) \(.run_unknown)"' >whole
"$strata" report -f json trace | jq -r .time_ns | sed -n '1p;$p' | python3 -c '
first, last = (int(line) for line in open(0))
edges = [first + (last + 1 - first) * part // 7 for part in range(8)]
for begin, end in zip(edges, edges[1:]):
    print(*("%d.%09d" % divmod(time, 10**9) for time in (begin, end - 1)))' >times
while read -r from until; do
    "$strata" sched --by vcpu -f json --from $from --until $until trace 2>/dev/null
done <times >parts
jq -s -r -e '[.[].rows[]? | select(.run_unknown != null)] as $rows | if ($rows | length) < 2 or
    any($rows[]; (.guest + .vmm + .run_unknown - .run | fabs) > 4) then halt_error else
    "\([$rows[].guest] | add) \([$rows[].vmm] | add) \([$rows[].run_unknown] | add)" end' parts >sums || fail "$(cat parts)"
paste whole sums | awk '{ for (i = 1; i <= 3; i++) if (($i - $(i + 3)) ^ 2 > 64) exit 1 }' || fail "$(cat whole sums)"

# Of the domain that is created, runs and is destroyed, only the time between counts.
case="a domain that is not there all the time"
"$strata" report -e '*_to_*' -f json all.raw >events
"$strata" sched --by vcpu -f json all.raw >vcpus
"$strata" sched --by domain -f json all.raw >domains
"$strata" sched --by domain --xenalyze-names -f json all.raw >names
python3 - events vcpus domains names <<'END' || fail "it sleeps while it is not there"
import json, sys
times = [item["ticks"] for item in map(json.loads, open(sys.argv[1])) if item["fields"]["dom"] == 5]
for path in sys.argv[2:]:
    told = json.load(open(path))
    rows = {row["key"].get("vcpu", row["key"].get("domain")): row for row in told["rows"]}
    row = rows.get("d5v0") or rows["d5"]
    assert row["covered"] + row["offline"] == told["duration_ticks"], row
    shares = [v for name, v in row.items() if name.endswith("_share") and
              not name.startswith(("cpu", "guest", "vmm", "run_unknown", "unknown"))]
    # At the edges of the trace, where not both CPUs are recorded, it may have been there.
    assert abs(sum(shares) * row["covered"] - (times[-1] - times[0])) < 1e-4 * row["covered"], (row, times)
    assert sum(shares) > 0.99, row
END
"$strata" sched --by vcpu all.raw | grep -q '^1 vCPU was offline for a part of the time' || fail "no note"

case="text"
"$strata" sched --by domain --xenalyze-names xen.raw >out
grep -q '^d0 .* 0\.00 *27\.88 *48\.20 ' out || fail "$(cat out)"
"$strata" sched --task 'no such' guest >out && fail "no status"
[ "$(grep -c guest out)" -eq 0 ] || fail "$(cat out)"
"$strata" sched --pid 161 guest >out
[ "$(grep -c ' 161  *guest ' out)" -eq 1 ] && [ "$(grep -c ' guest ' out)" -eq 1 ] || fail "$(cat out)"

# A wait that has not ended where the trace ends is listed, in no row, and with no other wait of what waits either.
case="not ended"
for view in '' --latency; do
    # shellcheck disable=SC2086 # no option, or one
    "$strata" sched $view -f json --slowest 5 guest >slowest
    jq -r '.slowest[] | [.pid, .begin_ns, .end_ns] | @tsv' slowest >waits
    [ -s waits ] || fail "$(cat slowest)"
    while read -r pid begin end; do
        time=$(awk -v ns=$(((begin + end) / 2)) 'BEGIN { printf "%d.%09d", ns / 1e9, ns % 1e9 }')
        n=$(count_events --until "$time" guest)
        # shellcheck disable=SC2086
        "$strata" sched $view -f json --limit "$n" guest 2>/dev/null | jq .rows >rows
        # shellcheck disable=SC2086
        "$strata" sched $view -f json --limit "$n" --slowest 99 guest >open 2>/dev/null
        jq .rows open | cmp -s - rows || fail "$view: other rows until $time"
        jq -e ".slowest | map(select(.open and .pid == $pid and .begin_ns == $begin and .end_ns > $begin and
            .end_ns < $end)) | length == 1" open >/dev/null || fail "$view: $pid from $begin: $(jq .slowest open)"
        # shellcheck disable=SC2086
        "$strata" sched $view --limit "$n" --slowest 99 guest 2>/dev/null | grep -q ' and not ended  ' ||
            fail "$view: not in the text"
    done <waits
done
"$strata" sched --who -f json --limit "$n" --slowest 99 guest 2>/dev/null | jq -e '.slowest == []' >/dev/null || fail "--who"

# The states in detail have the sums that the table has, as rows, stacks, events and periods.
case="states"
"$strata" sched -f json guest >rows
"$strata" sched --states -f json guest >states
# Of a part of the time, what counts is no share of it.
"$strata" sched --states -f json --from +0.062 --until +0.068 guest >part
jq -e '(.rows | length > 1 and all(.share == null)) and (.notes | any(test("whole length")))' part >/dev/null || fail "$(head -c 600 part)"
jq -e '.rows | all(.share > 0)' states >/dev/null || fail "no shares of all of it"
"$strata" sched --every 0.01 -f json guest >periods
"$strata" sched --folded guest >folded
"$strata" sched --events -f json guest >events
python3 - rows states periods folded events <<'END' || fail "not what the table has"
import collections, json, sys
rows, states, periods = (json.load(open(name))["rows"] for name in sys.argv[1:4])
def add(numbers, key, n, ns):
    numbers[key] = tuple(map(sum, zip(numbers.get(key, (0, 0)), (n, ns))))
by_state = {}  # a thread that calls another program has a row by each name
for row in states:
    add(by_state, (row["key"]["pid"], row["key"]["state"]), row["n"], row["sum"])
assert {state for _, state in by_state} >= {"running", "woken", "preempted"}, by_state
for row in rows:
    pid = row["key"]["pid"]
    assert by_state.get((pid, "running"), (0, 0)) == (row["run_n"], row["run_sum"]), row
    assert by_state.get((pid, "woken"), (0, 0)) == (row["wake_n"], row.get("wake_sum") or 0), row
folded, listed = collections.Counter(), {}
for line in open(sys.argv[4]):
    frames, ns = line.rsplit(" ", 1)
    task, pid, layer, state = frames.rsplit(";", 3)
    assert layer == "guest", line
    folded[int(pid), state] += int(ns)
assert folded == {key: ns for key, (n, ns) in by_state.items() if ns > 0}, folded
for event in map(json.loads, open(sys.argv[5])):
    add(listed, (event["key"]["pid"], event["key"]["state"]), 1, event["end_ns"] - event["begin_ns"])
assert listed == by_state, listed
for row in periods:
    assert sum(period[1] for period in row["series"]) == row["n"], row
END
# The states of each CPU: a CPU is part of a row's key, and of an event's.
"$strata" sched --states --by cpu -f json guest >states
"$strata" sched --events --by cpu -f json guest >events
python3 - states events <<'END' || fail "the rows of CPUs differ from their events"
import collections, json, sys
rows = json.load(open(sys.argv[1]))["rows"]
listed = collections.Counter()
for event in map(json.loads, open(sys.argv[2])):
    listed[event["key"]["cpu"], event["key"]["state"]] += 1
assert {(row["key"]["cpu"], row["key"]["state"]): row["n"] for row in rows} == listed, (rows, listed)
assert {cpu for cpu, _ in listed} == {0, 1}, listed
END
status=0
"$strata" sched --states --who guest 2>err || status=$?
[ $status -eq 2 ] && grep -q -e '--states excludes --who' err || fail "status $status: $(cat err)"
"$strata" sched --states --by domain all.raw >out
grep -q '^d0  *hypervisor  *preempted ' out || fail "$(cat out)"

# Where times run backwards, no time is counted twice: what is known and what is unknown make the whole.
case="times that run backwards"
cp -r guest backwards
python3 - backwards/cpu1.raw <<'END'
import sys
data = open(sys.argv[1], "rb").read()
half = len(data) // 4096 // 2 * 4096
open(sys.argv[1], "wb").write(data[half:] + data[:half])
END
for by in task cpu; do
    "$strata" sched --by $by -f json backwards >rows 2>err || fail "$(cat err)"
    jq -e '.notes[] | select(test("events are out of order"))' rows >out || fail "no note: $(cat rows)"
    jq -e '[.rows[] | [.run_share // .busy_share, .wait_share // .interrupt_share, .sleep_share // .idle_share,
            .unknown_share] | map(. // 0) | min >= 0 and (add - 1 | fabs < 1e-4)] | length > 0 and all' rows >out ||
        fail "the shares are not parts of the whole: $(cat rows)"
done

# Without the switches of a source, its other events tell of no time in any state.
case="no switches"
status=0
"$strata" sched -e '-sched_switch' -f json guest >out 2>err || status=$?
[ $status -eq 1 ] && grep -q 'no scheduler events' err || fail "status $status: $(cat err)"
[ ! -s out ] || fail "no switches, but output: $(cat out)"

# A file whose pages are not in their order.
case="times that run backwards"
cp -r guest swapped
swap_halves swapped/cpu1.raw
"$strata" sched swapped >out 2>err
grep -q '^[1-9][0-9]* events are out of order' out || fail "$(cat out)"
"$strata" latency syscall swapped 2>err | grep -q ' events in 70.3ms' || fail "the trace is as long as before"
"$strata" info swapped | grep -q 'out of order *[1-9]' || fail "$("$strata" info swapped)"
"$strata" info -f json guest >out
"$strata" sched guest | grep -q 'out of order' && fail "nothing runs backwards"

# A page whose time is damaged, centuries from the others: with ASan and UBSan, this finds sums that overflow.
case="times centuries apart"
cp -r guest far
python3 - far/cpu1.raw <<'END'
import struct, sys
with open(sys.argv[1], "r+b") as f:
    for page, time in ((10, 0x8000000000000100), (30, 0x7FFFFFFFFFFFF000), (40, 0x8000000000000200)):
        f.seek(page * 4096)
        f.write(struct.pack("<Q", time))
END
for command in "sched" "sched --who" "sched --wakers" "sched --by cpu" "sched --by vcpu" "irq -s 3" "irq --every 1000000000" \
    "latency -s 9 --events" "latency -s 9" "exits" "io -s 3" "stat --gaps 4 --every 1000000000" "info" "summary"; do
    status=0
    # shellcheck disable=SC2086
    "$strata" ${command%% *} -k ${command#"${command%% *}"} far >out 2>err || status=$?
    [ $status -le 3 ] || fail "$command: status $status: $(tail -n 5 err)"
    grep -q 'runtime error' err && fail "$command: $(cat err)"
done

case="selected CPUs and vCPUs"
"$strata" sched --cpu 7 guest >out && fail "no status"
grep -q ' guest ' out && fail "$(cat out)"
grep -q '^nothing ran on these CPUs' out || fail "$(cat out)"
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >two-domains.raw
"$strata" sched --by vcpu --vcpu 0 two-domains.raw >out 2>err
grep -q '^d0v0 ' out && grep -q '^d1v0 ' out || fail "not of all domains: $(cat out)"
grep -q '^d0v1 ' out && fail "not selected: $(cat out)"
"$strata" sched --vcpu 0 guest >out && fail "no status"
grep -q ' guest ' out && fail "no thread of a guest runs a vCPU: $(cat out)"

case="errors"
status=0
"$strata" sched guest --layer host >out 2>err || status=$?
[ $status -eq 1 ] && grep -qx 'strata: no event matches the selection by --layer' err ||
    fail "status $status: $(cat err)"
[ ! -s out ] || fail "no events, but output: $(cat out)"
status=0
"$strata" sched --who --wakers guest 2>err || status=$?
[ $status -eq 2 ] && grep -q -e '--who excludes --wakers' err || fail "status $status: $(cat err)"
status=0
"$strata" sched --by cpu --who guest 2>err || status=$?
[ $status -eq 2 ] && grep -q -e '--who excludes --by=cpu' err || fail "status $status: $(cat err)"

# Events of two threads in turn, between two switches: what does not follow from a switch counts once.
case="contradictions"
{
    printf '# tracer: nop\n#\n# entries-in-buffer/entries-written: 40/40   #P:1\n'
    for i in 1 2 3; do echo "b-$i [000] d..2. 1.00000$i: sched_waking: comm=x pid=2$i prio=120 target_cpu=000"; done
    echo 'a-7 [000] d..2. 1.000010: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 next_prio=120'
    for i in 11 12 13 14 15 16; do echo "b-$((8 + i % 2)) [000] d..2. 1.0000$i: sched_waking: comm=x pid=20 prio=120 target_cpu=000"; done
    echo 'c-9 [000] d..2. 1.000020: sched_switch: prev_comm=c prev_pid=9 prev_prio=120 prev_state=S ==> next_comm=a next_pid=7 next_prio=120'
    for i in 21 22 23 24 25 26; do echo "b-$((8 + i % 2)) [000] d..2. 1.0000$i: sched_waking: comm=x pid=20 prio=120 target_cpu=000"; done
} >contradicted
"$strata" sched -f json contradicted 2>err | jq -e '.contradictions == {checked: 2, switches: 2, by_cpu: {"0": 2}}' >out ||
    fail "$("$strata" sched contradicted)"
"$strata" summary contradicted 2>err | grep -q '^- 2 of 2 switches are followed by other threads than they name' || fail "$("$strata" summary contradicted)"
