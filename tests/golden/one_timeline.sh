#!/bin/sh
# Sources with different clocks on one timeline: a VMM's log, a guest's kernel and the host's, as a recorder of
# all of them leaves them.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

. "$here/../lib/three_layers.sh"

# ---- In the order of the host's time ----

"$strata" report --format json trace >told
python3 - told <<'END'
import json, sys

events = [json.loads(line) for line in open(sys.argv[1])]
times = [event["time_ns"] for event in events]
assert times == sorted(times), "out of order"
layers = {}
for event in events:
    layers.setdefault(event["layer"], []).append(event)
assert sorted(layers) == ["guest", "host", "vmm"], layers.keys()
assert {layer: sum("event" in e for e in found) for layer, found in layers.items()} == \
    {"guest": 14396, "host": 14429, "vmm": 4}
# All losses of all layers are there.
assert sum(e.get("lost") or 0 for e in events) == 90735 + 75157
assert sum("lost" in e for e in events) == 4

# The first of the guest is at 4.607817784, and the host's at 22038468548 ticks.
assert layers["guest"][0]["time_ns"] == 1000007817784
assert layers["host"][0]["time_ns"] == 999990000000 + 38468548 * 122222222 // 330000000
assert [e["time_ns"] for e in layers["vmm"]] == [1000020000000, 1000040001000, 1000050000000, 1000070000000]
assert layers["vmm"][3]["fields"] == {"sector": 10, "n": 8}

# By its thread, which runs one vCPU; of a guest's kernel, the CPU.
assert [e.get("vcpu") for e in layers["vmm"]] == [0, 1, None, None]
assert all(e["vcpu"] == e["cpu"] for e in layers["guest"])
assert {e.get("vcpu") for e in layers["host"] if e.get("pid") == 150} == {1}
assert {e.get("vcpu") for e in layers["host"] if e.get("pid") != 150} == {None}
END

# One source alone keeps its own clock; in the host's time it is as it is with the others.
"$strata" report --source guest --limit 1 trace 2>/dev/null | head -n 1 | grep -q '^4\.607817784 \[001\]'
"$strata" report --source guest --host-time --limit 1 trace 2>/dev/null | head -n 1 | grep -q '^1000\.007817784 \[001\]'

# ---- As text, and counted ----

"$strata" report -e disk_read -e guest:sched:sched_switch -e host:sched_switch --from 1000.0169 --until 1000.0205 \
    trace 2>err | sed 's/ prev_comm=.*//' >told
cat >expected <<'END'
1000.016939217   ±2us host  [001]      -       rcu_preempt-15 sched_switch:
1000.017478177  ±41us guest [001]  vcpu1               sh-121 sched_switch:
1000.020000000   ±2us vmm   [---]  vcpu0       CPU 0/TCG-4713 disk_read: sector 7 n 8
END
cmp told expected
"$strata" report trace 2>err >/dev/null
cat >expected <<'END'
strata: guest: 90735 events were lost (CPU 0: 85078, CPU 1: 5657) in 2 places
strata: host: 75157 events were lost (CPU 0: 75157) in 1 place, and an unknown number in 1 place
END
cmp err expected
"$strata" report --from +0.0040 --limit 20000 trace >told 2>err
[ "$(awk '{ print $3 }' told | sort -u | tr '\n' ' ')" = 'guest host vmm ' ]

"$strata" report --format csv --layer vmm trace >told
tr -d '\r' <told >lines
cat >expected <<'END'
time,error_ns,cpu,pid,comm,vcpu,layer,source,group,event,lost,text,fields,names
1000.020000000,1204,,4713,CPU 0/TCG,0,vmm,,,disk_read,,sector 7 n 8,"{""sector"":7,""n"":8}",
1000.040001000,1204,,4714,CPU 1/TCG,1,vmm,,,disk_read,,sector 8 n 8,"{""sector"":8,""n"":8}",
1000.050000000,1204,,4715,,,vmm,,,disk_read,,sector 9 n 8,"{""sector"":9,""n"":8}",
1000.070000000,1204,,4711,qemu,,vmm,,,disk_read,,sector 10 n 8,"{""sector"":10,""n"":8}",
END
cmp lines expected
# An export has the same times and sources. Here the layer names the source.
"$strata" report --format csv --from +0.0040 --limit 2000 trace >told 2>err
"$strata" export --to csv --from +0.0040 --limit 2000 trace 2>err | cmp - told

"$strata" stat --by layer trace | awk 'NR > 1 && NF == 9 { print $1, $2 }' >told
printf '%s\n' 'host 14429' 'guest 14396' 'vmm 4' | cmp - told
"$strata" stat --by vcpu --layer vmm,guest trace | awk 'NR > 1 && $10 { print $1, $2, $3 }' | grep '^[gv].* [0-9]*$' >told
printf '%s\n' 'guest vcpu0 7206' 'guest vcpu1 7190' 'vmm - 2' 'vmm vcpu0 1' 'vmm vcpu1 1' >expected
LC_ALL=C sort told | cmp - expected
"$strata" stat --by layer --format json trace | python3 -c '
import json, sys
told = json.load(sys.stdin)
assert told["layers"]["guest"]["lost"]["events"] == 90735
assert told["layers"]["vmm"]["lost"]["places"] == 0
assert [(row["layer"], row["count"]) for row in told["rows"]] == [("host", 14429), ("guest", 14396), ("vmm", 4)]'

"$strata" info trace >told
grep -q "^  related to  *the host's monotonic clock, by 3 exchanges, within 40.0 to 41.0 us" told
grep -q '^  vcpus  *0 by thread 4713, 1 by thread 4714, ' told
cat >expected <<'END'
trace, 3 sources
  timeline      the host's monotonic clock, of build7
  host's time   1000.004247610 to 1000.105355395, within 41.1us
END
tail -n 3 told | cmp - expected
"$strata" info --format json --source guest trace | python3 -c '
import json, sys
assert json.load(sys.stdin)["host_time"] == {
    "first_ns": 1000007817784, "last_ns": 1000078155423, "error_ns": 41004}'

# ---- What cannot be related ----

refused() { # WHAT IS TOLD
    if "$strata" report trace >told 2>err; then fail "related: $1"; fi
    grep -qF "$1" err || fail "not '$1' but $(cat err)"
    grep -q 'strata merge' err || fail "no remedy: $(cat err)"
}
manifest '' ', "pairs": "guest-guest/clock-pairs"' ', "pairs": "host/clock-pairs"' b1
refused "the clock (realtime) of the source 'qemu' of trace"
refused 'does not state how its clock relates'
manifest ', "pairs": "vmm/clock-pairs"' ', "pairs": "guest-guest/clock-pairs"' ', "pairs": "host/clock-pairs"' b2
refused 'they were recorded on different hosts, or their host was rebooted'
manifest ', "pairs": "vmm/clock-pairs"' ', "pairs": "guest-guest/none"' ', "pairs": "host/clock-pairs"' b1
refused 'guest-guest/none: is missing'
manifest ', "pairs": "vmm/clock-pairs"' ', "host": true' ', "host": true' b1
refused 'does not count nanoseconds'
all
# A bare trace file does not name its host, whatever the name of its clock.
xz -dc "$DATA/qemu/trace.simpletrace.xz" >bare.simpletrace
if "$strata" report --source guest trace bare.simpletrace >told 2>err; then fail 'a bare file was related'; fi
grep -q "its host is unknown (use --host-time if it was recorded on the same host); 'strata merge'" err
"$strata" report --host-time -e disk_read -e blk_root_attach trace bare.simpletrace >told
grep -q 'blk_root_attach' told
grep -q 'disk_read' told

# ---- A clock that is the host's, wrong by a little ----

manifest ', "pairs": "vmm/clock-pairs"' ', "host": true, "error_ns": 2500' ', "pairs": "host/clock-pairs"' b1
"$strata" report --format json -e sys_exit trace >told
grep -q '^{"time":4.607845506,"time_ns":4607845506,.*"layer":"guest"' told

# ---- A clock that is wrong by more than has room: by how much is not known ----

manifest ', "pairs": "vmm/clock-pairs"' ', "host": true, "error_ns": 5000000000' ', "pairs": "host/clock-pairs"' b1
"$strata" report --format json -e sys_exit trace >told
grep -q '^{"time":4.607845506,"time_ns":4607845506,"error_ns":null,' told || fail "$(head -n 3 told)"
"$strata" summary --no-causal -f json trace | jq -e '.sources[] | select(.source == "guest") | .error_ns == null' >/dev/null || fail "summary"

# ---- CPUs that begin at different times, as their first pages were released ----

# When the last CPU begins: in the guest's own time, and in the host's.
begins() {
    for cpu in 0 1; do
        "$strata" report "$@" --cpu $cpu -f csv released 2>/dev/null | sed -n 2p | cut -d, -f1
    done | sort -n | tail -n 1
}
cp -r trace released
pages=$(($(stat -c %s released/guest-guest/cpu1.raw) / 4096 / 2))
fallocate -p -o 0 -l $((pages * 4096)) released/guest-guest/cpu1.raw
begin=$(begins --source guest)
"$strata" info --source guest released >told 2>err || fail "info: $(cat err)"
grep -q "^ *complete from  *$begin\$" told || fail "not complete from $begin: $(cat told)"
begin=$(begins --layer guest)
"$strata" info released >told 2>err || fail "info: $(cat err)"
grep -q "^ *complete from  *$begin\$" told || fail "not complete from $begin: $(cat told)"
# The buffer of one CPU went round; without that, both begin where the trace does.
cp -r trace whole
for source in guest-guest host; do read_in_time whole/$source; done
"$strata" info whole >told 2>/dev/null
! grep -q 'complete from' told || fail "a whole trace begins late: $(cat told)"
rm -r whole
# So do copies, with holes or without.
cp -r --sparse=never released copy
"$strata" merge -o merged released >told 2>&1 || fail "merge: $(cat told)"
for copy in copy merged; do
    "$strata" info $copy >told 2>err || fail "info: $(cat err)"
    grep -q "^ *complete from  *$begin\$" told || fail "$copy is not complete from $begin: $(cat told)"
    "$strata" report released | cut -d' ' -f1-4 >before
    "$strata" report $copy | cut -d' ' -f1-4 >after
    cmp -s before after || fail "$copy has other events"
done
rm -r released copy merged

# ---- A page that was never written, in the middle ----

cp -r trace zeros
dd if=/dev/zero of=zeros/guest-guest/cpu0.raw bs=4096 seek=$((pages / 2)) count=1 conv=notrunc 2>/dev/null
status=0
"$strata" report zeros >told 2>err || status=$?
[ $status -eq 1 ] && grep -q "a page that was never written" err || fail "status $status: $(cat err)"
"$strata" report -k -f csv --source guest --cpu 0 zeros >told 2>err || fail "report: $(cat err)"
grep -q "4096" err || fail "$(cat err)"
# The times of other pages are no guide, then.
for line in 100 1000 2000; do
    from=$(sed -n ${line}p told | cut -d, -f1)
    "$strata" report -k -f csv --source guest --cpu 0 --from "$from" zeros 2>err >part || fail "report: $(cat err)"
    awk -F, -v from="$from" 'NR > 1 && $1 + 0 >= from + 0' told | cut -d, -f1 >before
    sed 1d part | cut -d, -f1 >after
    cmp -s before after || fail "--from $from: $(wc -l <after) instead of $(wc -l <before) events"
done
rm -r zeros

# ---- What was recorded, but came to nothing ----

: >trace/vmm/trace.log
all
"$strata" report --limit 1 trace >told
rm trace/vmm/trace-events
echo '4713@1700000000.020000:disk_read sector 7 n 8' >trace/vmm/trace.log
if "$strata" report -e disk_read trace >told 2>err; then fail 'missing declarations went unnoticed'; fi
grep -q '1000.020000000' told
grep -q "what declares the events of 'qemu' is left out: trace/vmm/trace-events: is missing" err

# ---- A hypervisor, related by the moments at which its recording began and ended ----

mkdir -p xen/xen xen/vmm
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen/xen/trace.raw
echo '4713@1700000000.020000:disk_read sector 7 n 8' >xen/vmm/trace.log
printf '%s\n' '999000000000 1699999999000000000 1200' '1000200000000 1700000000200000000 1200' >xen/vmm/clock-pairs
xen_manifest() { # MORE OF THE LAST MOMENT
    cat >xen/trace.json <<END
{"format": "strata-trace", "version": 1, "sources": [
 {"name": "xen", "kind": "xentrace", "layer": "hypervisor", "path": "xen/trace.raw",
  "clock": {"name": "tsc", "hz": 2400000000}, "xen": {"version": "4.17.7", "cpu_vendor": "amd"},
  "began": {"realtime_ns": 1, "monotonic_ns": 999000000000, "tsc": 40000000000$1},
  "ended": {"realtime_ns": 2, "monotonic_ns": 1004000000000, "tsc": 52000000000$1}, "complete": true},
 {"name": "qemu", "kind": "qemu-log", "layer": "vmm", "path": "vmm/trace.log",
  "clock": {"name": "realtime", "hz": 1000000000, "pairs": "vmm/clock-pairs"}, "complete": true}]}
END
}
xen_manifest ', "error_ns": 60'
# (40784360850 - 40000000000) / 2.4e9 s after the start; 6.6 us are 20 millionths of that, and the moment's.
"$strata" report --source xen --host-time --format json xen >told 2>err
grep -m 1 '"event"' told | grep -q '^{"time":999\.326817020,"time_ns":999326817020,"error_ns":66[0-9]*,'
"$strata" report -e disk_read -e page_fault --from 1000.019 --until 1000.04 xen >told 2>err
grep -q '^1000\.020000000   ±2us vmm        \[---\]      -                 4713 disk_read' told
grep -Eq '^1000\.0[0-9]*  ±2[0-9]us hypervisor \[00[01]\]   d0v[01]                    - page_fault: rip' told
"$strata" stat --by vcpu --layer hypervisor xen | grep -q '^hypervisor d0v1 '
# Clock pairs without error_ns are not used.
xen_manifest ''
if "$strata" report --host-time xen >told 2>err; then fail 'moments without a bound were used'; fi
grep -q 'does not state how its clock relates' err

# ---- A guest that came from another QEMU ----

# What it did from then until the first event of each CPU is a loss; on its own clock, from when is not known.
cp -r trace came
jq '(.sources[] | select(.name == "guest")) |= . + {came: {realtime_ns: 1795246302879548000, monotonic_ns: 1000001000000}, lost: 165892}' \
    trace/trace.json >came/trace.json
"$strata" report came --source guest --host-time -f json 2>err | jq -c 'select(has("lost")) | [.cpu, .lost, .since]' | head -n 2 | sort >told
printf '%s\n' '[0,null,1000.001]' '[1,null,1000.001]' | cmp - told
"$strata" report came --source guest -f json 2>err | jq -c 'select(has("lost")) | [.cpu, .lost, has("since")]' | head -n 2 | sort >told
printf '%s\n' '[0,null,false]' '[1,null,false]' | cmp - told
grep -qx 'strata: events were lost in 2 places, how many is unknown; 165892 in all by the recorder'\''s count' err ||
    { cat err >&2; exit 1; }
"$strata" info came --source guest >told 2>err
for fact in 'came by migration  *2026-11-21 07:31:42.879 UTC' 'complete  *no; an unknown number of events was lost' \
    "lost in all  *unknown; 165892 by the recorder's count"; do
    grep -qx "  $fact" told || { cat told err >&2; exit 1; }
done
# A window that begins later is not told of it again.
"$strata" report came --source guest --host-time --from 1000.02 --until 1000.03 -f json 2>err | jq -c 'select(has("lost"))' >told
[ ! -s told ] || { cat told >&2; exit 1; }
