#!/bin/sh
# strata summary: each of its results is what the verb itself prints; each finding is a number of one of them, and its
# command works.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"
# trace: a guest's kernel, the host's, and QEMU; and a kernel's by itself.
. "$here/../lib/three_layers.sh"
state_files
mv trace layers

. "$here/../lib/analysis_captures.sh"
xz -dc "$DATA/qemu/stock-qemu.log.xz" >qemu.log

cat >check.py <<'END'
import json, shlex, subprocess, sys

strata, *options = sys.argv[1:]

def run(*arguments):
    return subprocess.run([strata, *arguments], capture_output=True, text=True)

done = run("summary", "-fjson", *options)
assert done.returncode == 0, done.stderr
told = json.loads(done.stdout)
results = {part["command"]: part["result"] for part in told["results"]}
head = {key: told[key] for key in ("unit", "events", "lost") + tuple(key for key in told if key.startswith("first"))}

# Each result is the verb's own, whole.
for command, result in results.items():
    verb = run(*shlex.split(command), "-fjson", *options)
    is_left_out = "strata: none of the " in verb.stderr
    assert verb.returncode == int(is_left_out) and not (is_left_out and result["rows"]), (command, verb.stderr)
    assert json.loads(verb.stdout) == result, command
    assert {key: result[key] for key in head} == head, command
# What is missing is what the verb has not.
missing = [part["analysis"] for part in told["missing"]]
assert sorted(missing + list({r["analysis"] for r in results.values()} - {"latency", "path"})) == \
    ["exits", "io", "irq", "sched"], missing
for name in missing:
    verb = run(name, "-fjson", *options)
    assert verb.returncode == 1 or json.loads(verb.stdout)["rows"] == [], name
for name in ("latency", "path"):
    assert (name in results) == (run(name, *options).returncode == 0), name

# What stands out is a number of one of the results; its command works.
for finding in told["findings"]:
    verb = run(*shlex.split(finding["command"]), options[-1])
    assert verb.returncode == 0, (finding, verb.stderr)
    if "key" not in finding:
        continue
    found = [row[finding["column"]] for result in results.values() for row in result["rows"]
             if finding["column"] in row and finding["key"].items() <= row["key"].items()]
    assert any(abs(value - finding["value"]) <= 1e-5 * abs(value) + (value > 1) for value in found), (finding, found)

# The sources are the trace.
assert sum(source["events"] for source in told["sources"]) == told["events"]
assert sum(source["lost"]["events"] for source in told["sources"]) == told["lost"]["events"]
for source in told["sources"]:
    assert sum(period[1] for period in source["series"]) == source["events"]
    assert source["lost"]["places"] or not any(period[2] for period in source["series"])
    assert len(source["series"]) <= 96
for part in told["results"]:
    if part["command"] == "exits":
        assert sum(period[1] for period in part["series"]) == sum(row["n"] for row in part["result"]["rows"])
    if part["command"] == "io":
        assert sum(period[1] for period in part["series"]) == \
            sum(row["n"] for row in part["result"]["rows"] if row["key"]["stage"] in ("total", "total (guest only)"))

# The text has all findings and tables, in their order.
text = run("summary", *options).stdout
at = 0
for line in [finding["text"] for finding in told["findings"]] + ["The trace: "] + \
        [f": strata {command} " for command, result in results.items()
         if result["rows"] and (command != "sched" or any("pid" in row["key"] for row in result["rows"]))]:
    assert line in text[at:], (line, text)
    at = text.index(line, at)
for finding in told["findings"]:
    print(finding["text"])
END

check() {
    case="$*"
    python3 check.py "$strata" "$@" >findings || fail "see above"
}
finds() {
    grep -qF -- "$1" findings || fail "does not find: $1; but: $(cat findings)"
}
check --cpu-vendor amd xen-4.17-all
finds '248363 events were lost (CPU 0: 188650, CPU 1: 59713) in 2 places; 20051632657 of 37620399223 ticks are unknown'
check xen-4.22-all
# Durations have a unit, so that those of a millisecond stand out.
check --cpu-hz 2G xen-4.22-all
check --cpu-vendor amd --cpu-hz 2G xen-4.17-all
check kvm
finds "the cost of recording: Strata's own threads, of all recordings there, use 69.4% of a CPU of the host; vCPU 0 waits behind them 10.7% of the time, 73% of its waits; 10.9% of its time is unknown"
! grep -q 'vCPU 0 waits for a CPU' findings || fail "what the recording costs is a finding about the workload"
finds "exits by io take 13.0% of a vCPU's time, over all vCPUs: 1000, 408/s, the median 60.9us, at most 21.8ms"
check perf.ctf
check vm
finds '2 of 2 CPUs of the host are busy 90% of the time or more; CPU 0, the busiest, 99.9%'
head -n 1 findings >first
grep -qF 'the slowest of 121 guest reads takes 4.47ms, the median is 207us: for 92% of its time, qemu-system-x86 of the host waits for a '\
'CPU behind ALL CPUs/TCG; of the others, 12%; it begins at 29749.643811208' first || fail "$(cat findings)"
! grep -q 'clang' findings || fail "a task of the host beside the virtual machine is a finding: $(cat findings)"
check --layer host vm
finds "costs most: it waits 66.0%; for 27% of its waits, Strata's own threads ran (the cost of recording); "
# Who ran in nearly half of these waits is not known.
"$strata" sched --who --layer host --pid 7797 -f json vm | jq -e '.recorder | .own_ns / .wait_ns > 0.09 and .own_ns / .wait_ns < 0.1 and
    .unknown_ns / .wait_ns > 0.445 and .unknown_ns / .wait_ns < 0.455' >out || fail "sched --who says something else"
# A machine that stood still says more than how idle its CPUs were.
cp -r vm still
jq '(.sources[] | select(.vmm)) |= (.vmm.stopped_ns = (.ended.monotonic_ns - .began.monotonic_ns) / 4 | .vmm.stopped_ns |= floor)' \
    vm/trace.json >still/trace.json
check still
head -n 1 findings | grep -q '^the virtual machine was stopped by a signal for some [0-9]* s, 25\.0% of the recording: it did nothing meanwhile$' ||
    fail "not first: $(cat findings)"
# Where the rate of the guest's clock is not known otherwise than by two exchanges, the stage kick is shorter than its error.
mkdir vague
cp -r vm/* vague
jq 'del(.sources[].began.tsc)' vm/trace.json >vague/trace.json
check vague
! grep -q 'stage kick' findings || fail "a finding within the error of the clocks"
finds 'some durations are known within'
# One thread for one vCPU, and a guest whose switches are there for a part of the time: most of its waits cannot be called
# stolen or not, and without entries nothing is known of the VMM's own time.
cp -r vm one
jq '(.sources[] | select(.vmm) | .vmm.threads) |= map(select(.vcpu != 1))' vm/trace.json >one/trace.json
check one
finds 'vCPU 0 waits for a CPU 23.2% of the time; preempted 615 times for 44.2ms, at most 8.29ms'
"$strata" summary one | grep -A 1 '^VCPU .* GUEST% STOLEN% STOLEN?% HALTED%$' >out || fail "no column STOLEN?%"
grep -q '^0  *host .* 67\.03 *2\.95 *18\.71 *9\.21$' out || fail "$(cat out)"
"$strata" sched --by vcpu -f json one | jq -e '.rows[0] | has("guest") and (has("vmm") or has("vmm_share") | not)' >out ||
    fail "the VMM's time is known"
# Requests that are joined with QEMU's and those that are not are not mixed.
. "$here/../lib/made_io.sh"
check unjoined
finds 'the slowest of 121 guest reads takes 4.47ms'
# One of four, which no percentile shows.
check held
finds 'the slowest of 4 vmm reads takes 42.3ms, the median is 150us: for 100% of its time, the cause is unknown (events are missing), 99% in stage vmm; it begins at 29727.093280399'
! grep -q 'not in the trace' findings || fail "all stages are in the trace"
# Without the events of the stages before it, a stage has their time as well.
cp -r held few
grep -v ':thread_pool_' held/vmm/trace.log >few/vmm/trace.log
check few
finds 'the slowest of 4 vmm reads takes 42.3ms'
finds '; stages that are not in the trace are part of the next one'
check layers
finds 'CPU 1 of the guest is busy 100.0% of the time'
check guest
# Its events contradict each other about who runs, but it has no switches of which that could be said.
check "$DATA/ftrace/made/v7.dat"
finds '12 events were lost (CPU 0: 12) in 1 place'
! grep -q 'switch' findings || fail "$(cat findings)"
cp -r guest swapped
swap_halves swapped/cpu1.raw
check swapped
finds 'events are out of order'
"$strata" summary swapped >text 2>err || fail "$(cat err)"
[ "$(grep -c 'events are out of order' text)" -eq 1 ] || fail "$(cat text)"
check qemu.log
[ "$(cat findings)" = 'no problem stands out; vmm reads: 86% in stage done, 14% in stage dispatch' ] || fail "$(cat findings)"
check --from +0.1 --until +1.5 kvm
check -e '-kvm:*' kvm
check --layer guest,vmm vm
check --limit 5000 guest

# snapshot FILTER: "a snapshot's" is vm as one.
snapshot() {
    rm -rf "a snapshot's"
    cp -r vm "a snapshot's"
    jq ".snapshot = $1" vm/trace.json >"a snapshot's/trace.json"
}
# begins LINE: the text of it, and the page has it, too.
begins() {
    "$strata" summary "a snapshot's" >out 2>err || fail "$(cat err)"
    [ "$(head -n 1 out)" = "$1" ] || fail "$(head -n 3 out)"
    "$strata" summary --html page.html "a snapshot's" 2>err || fail "$(cat err)"
    grep -qF "<p class=\"note\">$(printf "%s\n" "$1" | sed "s/>/\&gt;/g; s/'/\&#39;/g")</p>" page.html || fail "$(grep -F 'Snapshot' page.html)"
}
case="why a snapshot was taken"
snapshot '{reason: "request", time: {realtime_ns: 1795528897477660000, monotonic_ns: 29740000000001}}'
begins 'Snapshot asked for at 2026-11-24 14:01:37.477 UTC (29740.000000001)'
"$strata" summary -f json "a snapshot's" | jq -e '.snapshots == [{path: "a snapshot'"'"'s", reason: "request", repeats: 0,
    text: "asked for at 2026-11-24 14:01:37.477 UTC (29740.000000001)", also: [], suppressed: 0,
    realtime_ns: 1795528897477660000, monotonic_ns: 29740000000001}]' >/dev/null || fail "JSON"
snapshot '{reason: "trigger", trigger: "latency block > 300ms", what: "3 spans\nno more", time: {realtime_ns: 1795528897477660000},
    repeats: 2, also: ["exit", "qmp:STOP"], suppressed: 1}'
begins "Snapshot saved by the trigger 'latency block > 300ms' at 2026-11-24 14:01:37.477 UTC: 3 spans\\x0ano more; until it was saved also \
by 'exit', 'qmp:STOP'; 2 more times until it was saved; 1 trigger before it saved no snapshot"
"$strata" summary -f json "a snapshot's" | jq -e '.snapshots[0] | .trigger == "latency block > 300ms" and .what == "3 spans\nno more" and
    .also == ["exit", "qmp:STOP"] and .repeats == 2 and .suppressed == 1' >/dev/null || fail "JSON"
# The request that it was saved for is the first finding.
case="what a snapshot was taken for"
first() {
    jq ".snapshot = {reason: \"trigger\", trigger: \"$1\", what: \"\", time: {realtime_ns: 1795528897477660000}}" vm/trace.json \
        >"a snapshot's/trace.json"
    "$strata" summary -f json "a snapshot's" | jq -r '.findings[0].text' >out
    grep -q "$2" out || fail "$1: $(cat out)"
}
first 'latency block > 2ms' '^the slowest of 121 guest reads takes 4.47ms'
first 'runnable clang > 20% for 1s' '^the slowest of 121 guest reads takes 4.47ms'
first 'exits > 2x' '^the slowest of 121 guest reads takes 4.47ms'
"$strata" summary -f json vm | jq -e 'has("snapshots") | not' >/dev/null || fail "snapshots of none"
# Two machines with disks of the same name.
cp -r vm another
"$strata" merge -o both vm another >out 2>err || fail "$(cat err)"
"$strata" summary both >out 2>err || fail "$(cat err)"
[ -z "$(grep '^- ' out | sort | uniq -d)" ] || fail "twice: $(grep '^- ' out | sort | uniq -d)"
"$strata" summary --layer host both >out 2>err || fail "$(cat err)"
grep -q '^- host\(-2\)\?: after 1 of 100 of its 103 wake-ups, ' out || fail "$(grep '^- ' out)"
# Of several directories, each line says which it is of.
"$strata" summary "a snapshot's" vm >out 2>err || fail "$(cat err)"
head -n 1 out | grep -q "^Snapshot a snapshot's: saved by the trigger" || fail "$(head -n 1 out)"

case="commands for a shell"
"$strata" summary "a snapshot's" | sed -n 's/^    strata/"$strata"/p' >commands
[ "$(wc -l <commands)" -gt 3 ] || fail "$(cat commands)"
while read -r command; do
    eval "$command" >out 2>err || fail "$command: $(cat err)"
done <commands

case="long idle time"
cat >far.log <<'END'
1@1000.000001:qmp_job_cancel job 0x1
1@1000.000002:qmp_job_cancel job 0x1
1@9000.000001:qmp_job_cancel job 0x1
END
"$strata" summary -f json far.log >out 2>err || fail "$(cat err)"
jq -e '[.sources[0].series[] | select(.[1] > 0) | .[1]] == [2, 1]' out >/dev/null || fail "$(cat out)"

case="rows"
"$strata" summary --top 2 vm >out
grep -q '^ *123 more rows$' out || fail "$(cat out)"
"$strata" summary --top 0 vm >out
! grep -q 'more rows' out || fail "$(cat out)"
[ "$(sed -n '/^Tasks:/,/^$/p' out | wc -l)" -eq $(($("$strata" sched -f json vm | jq '.rows | length') + 3)) ] ||
    fail "not all tasks: $(cat out)"

case="errors"
status=0
"$strata" summary -f csv kvm >out 2>err || status=$?
[ $status -eq 2 ] && grep -q 'a summary is several tables' err && [ ! -s out ] || fail "status $status: $(cat err)"
status=0
"$strata" summary >out 2>err || status=$?
[ $status -eq 2 ] && grep -q 'no trace file given' err || fail "status $status: $(cat err)"
status=0
"$strata" summary --strict xen-4.17-all >out 2>err || status=$?
[ $status -eq 3 ] || fail "status $status: $(cat err)"

# What came by a pipe is gone.
case="a pipe"
"$strata" summary - <qemu.log >told 2>errors || fail "$(cat errors)"
grep -q '^[A-Z].*: strata .* TRACE$' told || fail "$(cat told)"
! grep -q 'strata .* -$' told || fail "$(grep 'strata .* -$' told)"

# Stages between two clocks whose stated error is false have no bound: none of them is the one that takes most of the time.
case="a clock whose error is false"
xz -dc "$DATA/io/virtio-blk.tar.xz" | tar -x
awk '{ printf "%.0f %s %s\n", $1 + 1000000, $2, $3 }' vm/guest-guest/clock-pairs >pairs
mv pairs vm/guest-guest/clock-pairs
"$strata" summary vm >told 2>errors || fail "$(cat errors)"
sed '/^The trace/q' told | grep -q . || fail "$(cat told)"
! sed '/^The trace/q' told | grep 'reads take' || fail "a cause without a bound stands out"

# How much of a CPU Strata's own threads, of all recordings there, use is within what is printed, where half of a CPU's pages are gone.
case="own threads, of which a part is missing"
xz -dc "$DATA/kvm/exits.tar.xz" | tar -x
used() { sed -n "s/^- the cost of recording: Strata's own threads, of all recordings there, use \([0-9.]*\)% of a CPU of the host\(, or up to \([0-9.]*\)% more\)\?.*/\1 \3/p" "$1"; }
"$strata" summary trace >told 2>errors || fail "$(cat errors)"
whole=$(used told)
. "$here/../lib/lose_pages.sh"
lose_pages trace/host/cpu1.raw 0 0.5
"$strata" summary trace >told 2>errors || fail "$(cat errors)"
echo "$whole $(used told)" | awk '{ exit !(NF == 3 && $1 > 5 && $2 < $1 && $1 <= $2 + $3) }' || fail "$whole, and of a part $(used told)"
