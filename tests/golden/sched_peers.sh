#!/bin/sh
# strata sched beside the tools that others have for the same: xenalyze on traces of Xen; perf sched and trace-cmd on
# this machine's own kernel, while a program with threads that run and sleep is recorded.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/kernel_capture.sh"
skipped=

skip() {
    echo "sched_peers: SKIPPED in part: $*" >&2
    skipped=yes
}

# xenalyze stops at records that it does not know: they are left out.
case=xenalyze
. "$here/../lib/xenalyze.sh"
if [ "$xenalyze" ]; then
    for trace in xen-4.17-no-guest-class xen-4.17-all xen-4.22-all; do
        xz -dc "$DATA/xen/$trace.raw.xz" >whole.raw
        summarise_xen whole.raw known.raw >summary 2>err || fail "$trace: xenalyze: $(tail -1 err)"
        "$strata" sched --by vcpu -f json known.raw >rows 2>err || fail "$trace: $(cat err)"
        python3 - summary rows <<'END' || fail "$trace: they do not say the same"
import json, re, sys
peer, domain, vcpu = {}, None, None
for line in open(sys.argv[1], errors="replace"):
    if found := re.match(r"\|-- Domain (\d+) --\|", line):
        domain, vcpu = int(found[1]), None
    elif found := re.match(r"-- v(\d+) --", line):
        vcpu = int(found[1])
    elif (found := re.match(r" +([a-z_ ]+): +(\d+) +[\d.]+s +(\d+) ", line)) and vcpu is not None:
        peer[f"d{domain}v{vcpu}", found[1].strip()] = int(found[2]), int(found[3])
told = json.load(open(sys.argv[2]))
rows = {row["key"]["vcpu"]: row for row in told["rows"]}
assert rows and told["contradictions"]["switches"] == 0, told
n_same = 0
for vcpu, row in rows.items():
    for ours, theirs in (("wake", "wake"), ("preempt", "preempt"), ("sleep", "blocked")):
        n, mean = peer.get((vcpu, theirs), (0, 0))
        # One at an edge of the trace may be the difference; if there is none, all is the same.
        assert abs(row[ours + "_n"] - n) <= 1, (vcpu, ours, row, n)
        if row[ours + "_n"] == n and n > 0:
            assert row[ours + "_sum"] // n == mean, (vcpu, ours, row, mean)
            n_same += 1
    # It ends an interval where a vCPU goes on running, and counts the last one up to there.
    n, mean = peer[vcpu, "running"]
    unknown = row["unknown_share"] * told["duration_ticks"]
    assert row["run_sum"] - n <= n * mean + n <= row["run"] + unknown + 2 * n, (vcpu, row, n, mean)
assert n_same >= len(rows), n_same
END
    done
else
    skip "xenalyze is missing; fetch it: tools/packages fetch xen build/xen/debs"
fi

if ! can_trace_kernel; then
    skip "$no_kernel"
    exit 77
fi

case=recording
# The names of its threads; another run of this test has others.
load=load$$
cat >load.py <<'END'
import ctypes, sys, threading, time
def work(name):
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)
    for _ in range(100):
        end = time.thread_time() + 0.002
        while time.thread_time() < end:
            pass
        time.sleep(0.003)
threads = [threading.Thread(target=work, args=(f"{sys.argv[1]}-{i}",)) for i in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
END
events=sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_process_exit,sched:sched_migrate_task
# What all CPUs have spent with interrupts and stolen by the host, in 1/100 s: the scheduler counts it to no thread.
uncounted() { awk '/^cpu / { print $7 + $8 + $9 }' /proc/stat; }
perf=yes
uncounted >uncounted
perf record -q -a -m 2048 -e sched:sched_switch -e sched:sched_wakeup -e sched:sched_wakeup_new \
    -e sched:sched_stat_runtime -o perf.data -- true >/dev/null 2>&1 || perf=
if [ -n "$perf" ]; then
    perf record -q -a -m 2048 -e sched:sched_switch -e sched:sched_wakeup -e sched:sched_wakeup_new \
        -e sched:sched_stat_runtime -o perf.data -- \
        "$strata" record -o trace --buffer-size 16M --event=host:$(echo $events | sed s/,/,host:/g) -- python3 load.py $load >out 2>told ||
        fail "$(cat told)"
else
    skip "perf cannot record the scheduler of this machine"
    "$strata" record -o trace --buffer-size 16M --event=host:$(echo $events | sed s/,/,host:/g) -- python3 load.py $load >out 2>told || fail "$(cat told)"
fi
uncounted >>uncounted
"$strata" sched -f json trace >rows 2>err || fail "$(cat err)"

# perf's switches are waits; its run time is that which the scheduler counts, without interrupts and stolen time. Where
# this kernel leaves switches out, the times around them are unknown.
case=perf
if [ -n "$perf" ]; then
    perf sched -i perf.data latency -p >latency 2>/dev/null || fail "perf sched"
    if grep -qi 'lost events' latency; then
        skip "perf lost events"
    elif ! grep -q '^  host .* 0 lost' told; then
        skip "the kernel lost events that strata was to record: $(cat told)"
    else
        # Each of the two recordings lacks switches of its own.
        "$strata" sched -f json perf.data >perf-rows 2>err || fail "$(cat err)"
        python3 - latency rows uncounted perf-rows $load <<'END' || fail "they do not say the same"
import json, re, sys
peer = {int(found[1]): (float(found[2]), int(found[3])) for found in re.finditer(
    re.escape(sys.argv[5]) + r"-\d:(\d+) +\| +([\d.]+) ms \| +(\d+) \|", open(sys.argv[1], errors="replace").read())}
told = json.load(open(sys.argv[2]))
missing = told["contradictions"]["switches"]
peer_missing = json.load(open(sys.argv[4])).get("contradictions", {}).get("switches", 0)
rows = {row["key"]["pid"]: row for row in told["rows"] if row["key"]["task"].startswith(sys.argv[5] + "-")}
before, after = map(int, open(sys.argv[3]).read().split())
uncounted_ms = 10 * (after - before + 1)
assert len(peer) == 4 and set(peer) == set(rows), (peer, rows)
for pid, (run_ms, n) in peer.items():
    row = rows[pid]
    assert row["run"] / 1e6 <= run_ms * 1.01 + uncounted_ms, (row, run_ms, uncounted_ms)
    assert row["run"] / 1e6 >= run_ms * 0.99 - 5 * missing, (row, run_ms, missing)
    waits = row["wake_n"] + row["preempt_n"]
    assert waits <= n * 1.01 + peer_missing and waits >= n * 0.99 - missing - 1, (row, n, missing, peer_missing)
END
    fi
fi

# trace-cmd leaves out the first wake-up of a thread that it has not seen before. Where this kernel leaves a switch out, the
# CPU's next switch is from another thread than the last one was to. Only these two threads may differ: they are not compared.
# It takes R+, which is 256, of a thread that was taken off its CPU for one that sleeps: if that thread is woken, which it can be
# where it was about to sleep, this is a wake-up to it.
case=trace-cmd
if ! grep -q '^  host .* 0 lost' told; then
    skip "the kernel lost events that strata was to record: $(cat told)"
elif command -v trace-cmd >/dev/null; then
    "$strata" export --to trace.dat -o trace.dat trace 2>err || fail "$(cat err)"
    trace-cmd report --profile trace.dat >profile 2>/dev/null || fail "trace-cmd"
    "$strata" report -f json trace >events
    python3 - profile rows events <<'END' || fail "they do not say the same"
import collections, json, re, sys
n, total = collections.Counter(), collections.Counter()
for line in open(sys.argv[1], errors="replace"):
    if found := re.match(r"  Event: sched_wakeup\w*:0x([0-9a-f]+) \((\d+)\) Total: (\d+)", line):
        n[int(found[1], 16)] += int(found[2])
        total[int(found[1], 16)] += int(found[3])
told = json.load(open(sys.argv[2]))
woken, first = {}, {}
running, left_out = {}, set()
preempted, more_since = set(), {}
more_n, more_total, events = collections.Counter(), collections.Counter(), collections.defaultdict(list)
for line in open(sys.argv[3]):
    item = json.loads(line)
    for field in ("pid", "prev_pid", "next_pid"):
        if field in item.get("fields", {}):
            events[item["fields"][field]].append(line)
    if item.get("event") in ("sched_wakeup", "sched_wakeup_new"):
        pid = item["fields"]["pid"]
        woken.setdefault(pid, item["time_ns"])
        if pid in preempted:
            preempted.remove(pid)
            more_since[pid] = item["time_ns"]
    elif item.get("event") == "sched_switch":
        prev, pid = item["fields"]["prev_pid"], item["fields"]["next_pid"]
        if running.get(item["cpu"], prev) != prev:
            left_out |= {prev, running[item["cpu"]]}
        running[item["cpu"]] = pid
        if pid in woken:
            first.setdefault(pid, item["time_ns"] - woken[pid])
        if pid in more_since:
            more_n[pid] += 1
            more_total[pid] += item["time_ns"] - more_since.pop(pid)
        preempted.discard(pid)
        if item["fields"]["prev_state"] == 256:
            preempted.add(prev)
same, other = 0, []
for row in told["rows"]:
    pid = row["key"]["pid"]
    ours = row["wake_n"] + more_n[pid], row.get("wake_sum", 0) + more_total[pid]
    if (ours[0] == 0 and n[pid] == 0) or pid in left_out:
        continue
    if (n[pid], total[pid]) in (ours, (ours[0] - 1, ours[1] - first.get(pid, 0))):
        same += 1
    else:
        other.append((row["key"], ours, n[pid], total[pid]))
        # Most often, one wait differs: what happened so far apart.
        difference = ours[1] - first.get(pid, 0) * (n[pid] < ours[0]) - total[pid]
        times = [json.loads(line)["time_ns"] for line in events[pid]]
        for i, time in enumerate(times):
            if any(later - time in (difference, -difference) for later in times[i:i + 6]):
                print(*events[pid][max(i - 3, 0):i + 6], sep="", file=sys.stderr)
assert not other, other
assert same > 5, (same, left_out)
END
else
    skip "trace-cmd is not installed"
fi
# skip() said why.
if [ -n "$skipped" ]; then
    exit 77
fi
