#!/bin/sh
# strata exits: Xen's as xenalyze counts and measures them, KVM's as perf kvm stat counts them, and all of it as a script
# finds it that looks through all events.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

. "$here/../lib/exit_captures.sh"

case="as xenalyze"
for trace in xen-4.17-all xen-4.22-all; do
    "$strata" exits --handled --cpu-vendor amd -f json $trace >rows 2>err || fail "$(cat err)"
    jq -r '.rows[] | [.key.reason, .n, .mean] | join(" ")' rows | LC_ALL=C sort >ours
    grep "^$trace " "$DATA/xen/xenalyze-exits" | cut -d' ' -f2- | LC_ALL=C sort >theirs
    [ -s theirs ] || fail "nothing to compare with"
    diff theirs ours >&2 || fail "$trace: not as xenalyze (<) has it"
done

case="an unknown CPU vendor"
note='^reasons are numbers because the CPU vendor is unknown; state it with --cpu-vendor=amd or --cpu-vendor=intel$'
python3 "$here/made_xen.py" made
"$strata" exits made/neither.raw >rows 2>err || fail "$(cat err)"
[ "$(grep -c "$note" rows)" -eq 1 ] || fail "$(cat rows)"
for trace in "--cpu-vendor=amd made/neither.raw" xen-4.17-all kvm; do
    "$strata" exits $trace >rows 2>err || fail "$(cat err)"
    ! grep "$note" rows || fail "$trace: the vendor is known"
done

case="as perf"
"$strata" exits -f json kvm >rows 2>err || fail "$(cat err)"
jq -r '.rows[] | select(.n > 0) | [.key.reason, .n] | join(" ")' rows | LC_ALL=C sort >ours
awk '$2 ~ /^[0-9]+$/ { print $1, $2 }' "$DATA/kvm/exits.perf.txt" | LC_ALL=C sort >theirs
diff theirs ours >&2 || fail "not as perf (<) has it"

case="without switches"
# Wake-ups do not tell when a vCPU's thread left its CPU.
"$strata" exits -e '-sched_switch' -f json kvm >rows 2>err || fail "$(cat err)"
jq -e '.rows | length > 3 and all(.[]; has("run") or has("wait") or has("unknown") | not)' rows >/dev/null || fail "$(jq -c '.rows[0]' rows)"

# A span of `strata sql` has its reason as the key.
for trace in "--cpu-vendor=amd xen-4.17-all" kvm; do
    case="in SQL: $trace"
    "$strata" exits -f json $trace >rows 2>err || fail "$(cat err)"
    jq -r '.rows[] | select(.n > 0) | "\(.key.reason),\(.n),\(.sum)"' rows | LC_ALL=C sort >ours
    "$strata" sql --format=csv -c "select key, count(*), sum(end_ns - begin_ns) from span
        where name = 'exit' and cut is null group by key" $trace 2>err | tr -d '\r' | tail -n +2 | LC_ALL=C sort >theirs
    [ -s theirs ] || fail "$(cat err)"
    diff theirs ours >&2 || fail "not as strata exits (>) has it"
done

# perf's report and its events in CTF, of one recording: averages have two digits of microseconds.
case="perf's own events"
xz -dc "$DATA/kvm/perf.ctf.tar.xz" | tar -x
"$strata" exits -f json perf.ctf >rows 2>err || fail "$(cat err)"
jq -r '.rows[] | [.key.reason, .n, (.min / 10 | round), (.max / 10 | round), (.sum / .n / 10 | round)] | join(" ")' rows |
    LC_ALL=C sort >ours
awk '$2 ~ /^[0-9]+$/ { gsub("us", ""); printf "%s %d %.0f %.0f %.0f\n", $1, $2, $5 * 100, $6 * 100, $7 * 100 }' \
    "$DATA/kvm/perf.ctf.report.txt" | LC_ALL=C sort >theirs
diff theirs ours >&2 || fail "not as perf (<) has it"

# Durations, what the vCPU did in them, and what was asked for, of all events in their order.
cat >script.py <<'END'
import json, re, sys
trace, kind = sys.argv[1:3]
items = [json.loads(line) for line in open(trace + ".events")]
rows = [row for row in json.load(open(trace + ".rows"))["rows"] if row["n"] > 0]
time = "time_ns" if "time_ns" in items[0] else "ticks"
found, open_exits = {}, {}

def detail_of(name, f):
    n = lambda field: int(f[field], 0) if isinstance(f[field], str) else f[field]
    way = lambda field, least=1: "write" if n(field) >= least else "read"
    if kind == "kvm":
        return {"kvm_pio": lambda: (3, f"port {n('port'):#x} {way('rw')}"),
                "kvm_mmio": lambda: (3, f"mmio {n('gpa'):#x} {way('type', 2)}"),
                "kvm_msr": lambda: (3, f"msr {n('ecx'):#x} {way('write')}"),
                "kvm_cpuid": lambda: (3, f"leaf {n('function'):#x}"),
                "kvm_page_fault": lambda: (1, f"page {n('fault_address'):#x}")}[name]()
    way = "write" if name.endswith("write") else "read"
    return {"ioport_read": lambda: (3, f"port {n('port'):#x} {way}"),
            "mmio_read": lambda: (3, f"mmio {n('addr'):#x} {way}"),
            "cpuid": lambda: (3, f"leaf {n('leaf'):#x}"),
            "npf": lambda: (1, f"page {n('gpa'):#x}")}[name.replace("write", "read")]()

def turn(key, at, state):
    e = open_exits.get(key)
    if e and e["state"] != state:
        e["times"][e["state"]] += at - e["since"]
        e["state"], e["since"] = state, at

NUMBERS = ("n", "sum", "max", "run", "wait", "sleep", "vmm", "vmm_run", "vmm_n")
STATES = {"running": "run", "runnable": "wait", "blocked": "sleep", "offline": "sleep"}
for item in items:
    if "lost" in item:
        open_exits.clear()
        continue
    name, f, at = item["event"], item["fields"], item[time]
    key = item.get("vcpu") if kind == "xen" else item["pid"]
    if name in ("vmexit", "kvm_exit"):
        open_exits[key] = {"at": at, "since": at, "state": "run", "times": dict(run=0, wait=0, sleep=0),
                           "vmm": None,
                           "reason": f["reason" if kind == "xen" else "exit_reason"], "rank": 0, "detail": "-"}
    elif name in ("vmentry", "kvm_entry"):
        e = open_exits.pop(key, None)
        if e:
            e["times"][e["state"]] += at - e["since"]
            row = found.setdefault((e["reason"], e["detail"]), dict.fromkeys(NUMBERS, 0))
            row["n"] += 1
            row["sum"] += at - e["at"]
            row["max"] = max(row["max"], at - e["at"])
            for state, ticks in e["times"].items():
                row[state] += ticks
            if e["vmm"] is not None:
                row["vmm"] += at - e["vmm"]
                row["vmm_run"] += e["times"]["run"] - e["vmm_run"]
                row["vmm_n"] += 1
    elif kind == "xen" and "_to_" in name:
        turn(f"d{f['dom']}v{f['vcpu']}", at, STATES[name.split("_to_")[1]])
    elif name == "sched_switch":
        turn(f["prev_pid"], at, "wait" if f["prev_state"] & 0xff == 0 else "sleep")
        turn(f["next_pid"], at, "run")
    elif name == "sched_waking":
        if f["pid"] in open_exits and open_exits[f["pid"]]["state"] == "sleep":
            turn(f["pid"], at, "wait")
    elif name == "kvm_userspace_exit":
        if key in open_exits and open_exits[key]["vmm"] is None:
            turn(key, at, "run")
            e = open_exits[key]
            e["vmm"], e["vmm_run"] = at, e["times"]["run"] + at - e["since"]
    elif key in open_exits:
        try:
            rank, detail = detail_of(name, f)
        except KeyError:
            continue
        if rank > open_exits[key]["rank"]:
            open_exits[key].update(rank=rank, detail=detail)

ours = {}
for row in rows:
    value = row["key"]["reason_value"]
    assert row["unknown"] == 0, row
    # The name of an MSR follows its number.
    detail = re.sub("^(msr 0x[0-9a-f]+) [A-Z]\\w+ ", "\\1 ", row["key"]["detail"])
    ours[(value, detail)] = {k: row.get(k, 0) for k in NUMBERS}
    assert ("vmm" in row) == (kind == "kvm"), row
if kind == "xen": # What the script knows not, it has as one row.
    known = {}
    for (reason, detail), row in ours.items():
        sum_of = known.setdefault((reason, detail if detail.split()[0] in ("port", "mmio", "leaf", "page") else "-"),
                                  dict.fromkeys(NUMBERS, 0))
        for k, v in row.items():
            sum_of[k] = max(sum_of[k], v) if k == "max" else sum_of[k] + v
    ours = known
assert len(found) > 4 and ours == found, sorted(set(map(str, ours.items())) ^ set(map(str, found.items())))
END
case="as a script"
for trace in xen-4.17-all xen-4.22-all kvm; do
    "$strata" report -f json $trace >$trace.events 2>err || fail "$(cat err)"
    "$strata" exits --by detail -f json $trace >$trace.rows 2>err || fail "$(cat err)"
    python3 script.py $trace ${trace%%-*} >&2 || fail "$trace"
done

# Of QEMU: only KVM_RUN ends an exit, of the same vCPU.
case="QEMU with KVM"
cat >trace-events <<'END'
kvm_run_exit(int cpu_index, uint32_t reason) "cpu_index %d, reason %d"
kvm_vcpu_ioctl(int cpu_index, int type, void *arg) "cpu_index %d, type 0x%x, arg %p"
END
cat >qemu.log <<'END'
77@10.000100:kvm_run_exit cpu_index 0, reason 2
77@10.000110:kvm_vcpu_ioctl cpu_index 0, type 0x8090ae81, arg 0x7f
77@10.000120:kvm_run_exit cpu_index 1, reason 6
77@10.000150:kvm_vcpu_ioctl cpu_index 0, type 0xae80, arg (nil)
77@10.000220:kvm_vcpu_ioctl cpu_index 1, type 0xae80, arg (nil)
77@10.000300:kvm_run_exit cpu_index 0, reason 5
77@10.000900:kvm_vcpu_ioctl cpu_index 0, type 0xae80, arg (nil)
END
"$strata" exits --trace-events trace-events -f csv --by cpu_index qemu.log 2>err | tr -d '\r' |
    cut -d, -f1,3,23- | LC_ALL=C sort >rows || fail "$(cat err)"
diff - rows >&2 <<'END' || fail "not these exits"
1,100000,MMIO,1
1,50000,IO,0
1,600000,HLT,0
n,sum_ns,reason,cpu_index
END
"$strata" exits --trace-events trace-events qemu.log >rows 2>err
grep -q 'QEMU sees only the exits that KVM passes on to it.*strata record --host --for exits' rows || fail "$(cat rows)"
"$strata" exits --no-idle --trace-events trace-events -f csv qemu.log | cut -d, -f1,3,22- | tr -d '\r' >rows
! grep -q HLT rows && grep -q IO rows || fail "$(cat rows)"

case="longest"
"$strata" exits --by vcpu,detail --slowest 1 kvm >rows
grep -q '^   29\.5ms  .*  cpuid  leaf 0x0  0  ' rows || fail "$(cat rows)"
"$strata" exits --longer 0.02 -f json kvm >rows
[ "$(jq '[.rows[].n] | add' rows)" -eq "$("$strata" latency exit --longer 0.02 -f json kvm | jq '[.rows[].n] | add')" ] ||
    fail "$(cat rows)"

case="losses"
"$strata" exits --cpu-vendor amd xen-4.17-all >rows
grep -q '^248363 events were lost (CPU 0: 188650, CPU 1: 59713) in 2 places' rows || fail "$(cat rows)"

case="errors"
status=0
"$strata" exits "$DATA/qemu/made/v2.simpletrace" --trace-events "$DATA/qemu/made/trace-events" >rows 2>err || status=$?
[ $status -eq 1 ] || fail "status $status"
grep -q 'no VM exits are in this trace (kvm_exit and kvm_entry; .*); record with .strata record --for exits' err || fail "$(cat err)"
[ ! -s rows ] || fail "no events, but output: $(cat rows)"
status=0
"$strata" exits --by no_such_field kvm >rows 2>err || status=$?
[ $status -eq 1 ] && grep -q "no event of the trace has a field 'no_such_field'" err || fail "status $status: $(cat err)"
[ ! -s rows ] || fail "a table of an unknown field: $(head -3 rows)"
status=0
"$strata" exits --by task,pid,cpu,vcpu,source kvm >rows 2>err || status=$?
[ $status -eq 1 ] && grep -q 'rows have at most 4 keys' err || fail "status $status: $(cat err)"

case="paravirtualised guests"
pv='hypercall,hypercall_subcall,trap,page_fault,emulate_privop,ptwr_emulation,math_state_restore'
"$strata" exits -e "$pv" xen-4.17-all >rows 2>err || fail "$(cat err)"
grep -q '^paravirtualised guests have no VM exits: these are their entries into Xen, by kind; how long they take is unknown' rows ||
    fail "no note: $(cat rows)"
grep -q '^page_fault  *2534  *-  *-  *-  *-' rows || fail "$(cat rows)"
"$strata" exits -e "$pv" --by detail,vcpu --every 100000000 -f json xen-4.17-all >rows 2>err || fail "$(cat err)"
"$strata" report -e "$pv" -f json xen-4.17-all >events 2>err || fail "$(cat err)"
python3 - rows events <<'END' || fail "not as the events are"
import collections, json, sys
found = json.load(open(sys.argv[1]))
rows, events = collections.Counter(), collections.Counter()
for row in found["rows"]:
    assert set(row) <= {"n", "rate", "covered", "key", "series"}, row
    assert sum(period[1] for period in row["series"]) == row["n"] and row["series"][0][2:4] == [None, None], row
    rows[row["key"]["reason"], row["key"]["vcpu"]] += row["n"]
for line in open(sys.argv[2]):
    event = json.loads(line)
    if event.get("event") not in (None, "hypercall_subcall"):
        events[event["event"], event["vcpu"]] += 1
assert len(rows) >= 8 and rows == events, (rows, events)
details = {row["key"]["reason"]: row["key"]["detail"].split()[0] for row in found["rows"]}
assert details == {"hypercall": "call", "page_fault": "page", "ptwr_emulation": "page", "emulate_privop": "-",
                   "math_state_restore": "-"}, details
END
# If there are VM exits, they are counted.
"$strata" exits --cpu-vendor amd xen-4.17-all >rows 2>err || fail "$(cat err)"
! grep -e hypercall -e paravirtualised rows || fail "entries beside exits"

# ---- The buffer of one CPU went round: what its first page follows is lost ----

case="a buffer that went round"
xz -dc "$DATA/kvm/exits.tar.xz" | tar -x
cp -r trace round
. "$here/../lib/lose_pages.sh"
lose_pages round/host/cpu1.raw 0 0.5
"$strata" info round 2>err | grep -q '^ *complete from ' || fail "complete from the begin: $(cat err)"
for name in trace round; do
    "$strata" exits --no-causal --events -f json $name 2>err | sort >$name.spans
done
[ "$(wc -l <round.spans)" -gt 1000 ] || fail "$(wc -l round.spans)"
[ -z "$(comm -13 trace.spans round.spans)" ] || fail "no such exits: $(comm -13 trace.spans round.spans | head -n 3)"
