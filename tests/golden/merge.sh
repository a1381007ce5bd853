#!/bin/sh
# strata merge relates traces that were recorded separately: by common events, by a common counter (--tsc), by their
# host. The offsets and errors that it prints hold, and strata report shows the merged directory by them.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

mounted=
at_exit='[ -z "$mounted" ] || umount -l "$mounted"'

# refused STATUS TEXT ARGUMENT...: strata merge fails with STATUS and prints TEXT on standard error.
refused() {
    status=0
    want=$1
    text=$2
    shift 2
    "$strata" merge "$@" >out 2>err || status=$?
    [ "$status" -eq "$want" ] || fail "$*: status $status: $(cat err)"
    grep -qF -- "$text" err || fail "$*: no '$text' in: $(cat err)"
}

# tells TEXT ARGUMENT...: strata merge ARGUMENT... succeeds and prints TEXT.
tells() {
    text=$1
    shift
    "$strata" merge "$@" >told 2>err || fail "$*: $(cat err)"
    grep -q -- "$text" told || fail "$*: no '$text' in: $(cat told)"
}

. "$here/../lib/kernel_capture.sh"
kernel_capture local guest all
kernel_capture tsc tsc all
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen.raw

# A VMM's log of what a real guest did: its clock ran faster by 25 ppm, and each saw what the other did some
# microseconds later.
cat >trace-events <<'END'
marker(int n, int count) "n %d count %d"
poke(int n) "n %d"
END
cat >make.py <<'END'
import json, random, sys

random.seed(7)
T0, G0, RATE = 1795246302000000000, 4600000000, 1 + 25e-6
lines = []
n = {"sys_enter_write": 0, "sys_exit_read": 0}
for line in sys.stdin:
    event = json.loads(line)
    name = event.get("event")
    if name not in n:
        continue
    at = T0 + (event["time_ns"] - G0) * RATE
    way = 3000 + random.expovariate(1 / 5000)
    if name == "sys_enter_write":
        lines.append((int(at + way), "marker n %d count %d" % (n[name], event["fields"]["count"])))
    else:
        lines.append((int(at - way), "poke n %d" % n[name]))
    n[name] += 1
for at, text in lines:
    print("4711@%d.%06d:%s" % (at // 10**9, at % 10**9 // 1000, text))
END
"$strata" report -f json guest 2>err | python3 make.py >vm.log
[ "$(grep -c marker vm.log)" -eq 1371 ]

# ---- Events in both orders: a bound that holds ----

tells 'by events in both orders' --trace-events trace-events vm.log guest -o both \
    --sync 'guest:sys_enter_write < vm:marker' --sync 'vm:poke < guest:sys_exit_read'
cat >check.py <<'END'
import json, re, sys

def ns(text):
    number, unit = re.match(r"([\d.]+)(ns|us|ms|s)$", text).groups()
    return float(number) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]

told, before, after = (open(name).read() for name in sys.argv[1:4])
least, most = re.search(r"error at most (\S+) to (\S+), by events in both orders", told).groups()
drift, around = map(float, re.search(r"drift ([-+][\d.]+) ppm, give or take ([\d.]+)", told).groups())
assert abs(drift - 25) <= around < 500, drift
assert ns(least) < 15000, least
# The clocks may also drift by 20 ppm over 70 ms.
bound = ns(most) * 1.01 + 1500
before = [json.loads(line) for line in before.splitlines()]
after = [json.loads(line) for line in after.splitlines()]
times = [event["time_ns"] for event in after]
assert times == sorted(times)
after = [event for event in after if event["layer"] == "guest" and "event" in event]
before = [event for event in before if "event" in event]
assert len(before) == len(after) == 14396
for a, b in zip(before, after):
    assert a["event"] == b["event"]
    truth = 1795246302000000000 + (a["time_ns"] - 4600000000) * (1 + 25e-6)
    assert abs(b["time_ns"] - truth) <= bound, (a, b, truth)
END
"$strata" report -f json guest 2>err >before
"$strata" report -f json both 2>err >after
python3 check.py told before after
# The merged directory has the events' declarations, too.
"$strata" report -e marker -n 1 both 2>err | grep -q 'marker: n 0 count 63'
"$strata" info both 2>err | grep -q 'related to .* the timeline of strata merge, by .* pairs'
grep -q '^# strata merge: by ' both/guest/clock-pairs

# ---- A signal leaves the whole output or none ----

for try in 1 2 3 4 5 6 7 8; do
    "$strata" merge -o cut-$try guest tsc --tsc guest,tsc --cpu-hz 2G >told 2>err &
    child=$!
    set -- cut-$try*
    while [ ! -e "$1" ] && kill -0 $child 2>/dev/null; do set -- cut-$try*; done
    kill -TERM $child 2>/dev/null || :
    wait $child || :
    set -- cut-$try*
    [ ! -e "$1" ] || [ "$*" = cut-$try ] || fail "a signal leaves $*"
done

# ---- Events ordered in one direction only, or unordered; without --output ----

tells 'the fastest, whose delay is assumed to be zero' --trace-events trace-events vm.log guest \
    --sync 'guest:sys_enter_write < vm:marker'
tells '^G  by 1371 common events of V, matched in their order' --trace-events trace-events V=vm.log G=guest \
    --sync 'sys_enter_write = marker'
grep -q 'a delay that all of them have in common cannot be measured' told
# --reference names the source whose clock is the timeline.
tells '^guest  the reference: the timeline is its clock, local' --trace-events trace-events vm.log guest -r guest \
    --sync 'guest:sys_enter_write = vmm:marker'

# Some events are missing on one side: the number in the text pairs the others.
awk '!/marker/ || NR % 7' vm.log >fewer.log
tells 'common events of vm, matched by their text' --trace-events trace-events vm.log fewer.log \
    --sync 'vm:marker~n (\d+) = fewer:marker~n (\w+) count'
grep -q 'offset +0.000000000 s, drift +0.000 ppm' told
# Intervals pair them, too, if they are exact and irregular.
tells 'matched by the times between them' --trace-events trace-events vm.log fewer.log \
    --sync 'vm:marker~n = fewer:marker~n'
grep -q 'offset +0.000000000 s' told

# ---- A real guest, and a real QEMU's log of it ----

# For each byte that came through a port, a program in the guest made a mark and answered by the port. The guest's
# clock was compared with the host's meanwhile, and the host's two clocks at the beginning.
mkdir real
tar -C real -xJf "$DATA/merge/guest.tar.xz"
xz -dc "$DATA/merge/qemu.log.xz" >real/qemu.log
cat >real/trace-events <<'END'
virtio_console_flush_buf(unsigned int port, size_t len, ssize_t ret) "port %u, in_len %zu, out_len %zd"
virtio_console_chr_read(unsigned int port, int size) "port %u, size %d"
END
tells 'by events in both orders' --trace-events qemu=real/trace-events real/qemu.log bells=real/guest/guest-guest \
    --cpu-hz 2596103999 -o bells --sync 'qemu:virtio_console_chr_read < bells:print~bell' \
    --sync 'bells:print~bell < qemu:virtio_console_flush_buf'
grep -q '1000 common events\|9[0-9][0-9] common events' told
"$strata" report -f json bells >after
"$strata" report -f json --host-time real/guest >before
cat >real.py <<'END'
import json, sys

# CLOCK_REALTIME minus CLOCK_MONOTONIC, from trace.json.
AHEAD = 1795298959382532680 - 49079139807667
after, before = ([json.loads(line) for line in open(name)] for name in sys.argv[1:])
bells = [event for event in after if event["event"] == "print"]
known = [event for event in before if event["event"] == "print"]
assert len(bells) == len(known) == 1000
worst = max(event["error_ns"] for event in bells)
assert worst < 200000, worst
for bell, truth in zip(bells, known):
    off = bell["time_ns"] - (truth["time_ns"] + AHEAD)
    assert abs(off) <= bell["error_ns"] + truth["error_ns"] + 5000, (bell, truth)
# Within the error, each bell comes after the read that triggered it and before the answer.
asked = [event["time_ns"] for event in after if event["event"] == "virtio_console_chr_read"]
answered = [event["time_ns"] for event in after if event["event"] == "virtio_console_flush_buf"]
assert len(asked) == 1001
for i, bell in enumerate(bells):
    assert asked[i] - bell["error_ns"] <= bell["time_ns"] <= answered[2 * i + 1] + bell["error_ns"] + 1000, bell
END
python3 real.py after before

# Both are of one host, so the recorded clock pairs relate them. QEMU's times are off only by their truncation.
tells '^guest  of the same host as qemu' --trace-events qemu=real/trace-events real/qemu.log real/guest \
    --same-host qemu,guest -o moments
"$strata" report -f json moments >after
"$strata" report -f json real/qemu.log --trace-events real/trace-events >before
python3 - after before <<'END'
import json, sys

AHEAD = 1795298959382532680 - 49079139807667
after, before = ([event for event in map(json.loads, open(name)) if event["layer"] == "vmm"] for name in sys.argv[1:])
assert len(after) == len(before) == 3001
for a, b in zip(after, before):
    assert abs(a["time_ns"] - (b["time_ns"] - AHEAD)) < 300, (a, b)
END

# ---- A clock of unknown rate ----

"$strata" report -f json -e vmexit xen.raw 2>err | python3 -c '
import json, sys
for line in sys.stdin:
    event = json.loads(line)
    if "event" in event:
        ns = 1795246302000000000 + (event["ticks"] - 40000000000) * 10 // 24
        print("1@%d.%06d:poke n 1" % (ns // 10**9, ns % 10**9 // 1000))' >xen.log
tells '^xen .*matched in their order' --trace-events log=trace-events log=xen.log xen.raw --sync 'vmexit = poke' -o rates
grep -Eq '2(400000[0-9]{3}|399999[0-9]{3})\.[0-9]* ticks a second' told || fail "$(cat told)"
"$strata" report -e vmexit -e poke rates 2>err | grep -v LOST | head -n 2 >first
grep -q vmexit first && grep -q poke first || fail "$(cat first)"

# ---- A trace in CTF, whose pairs are of what its clock counts ----

mkdir ctf
tar -C ctf -xJf "$DATA/ctf/lttng-ust.tar.xz"
"$strata" report -f json ctf/lttng-ust 2>err >before
python3 -c '
import json, sys
for line in open("before"):
    event = json.loads(line)
    if "event" in event:
        ns = event["time_ns"] * 1.00001 + 7e9
        print("1@%d.%06d:poke n 1" % (ns // 10**9, ns % 10**9 // 1000))' >ctf.log
tells '^lttng-ust  by 219 common events' --trace-events ctf=trace-events ctf.log ctf/lttng-ust -r ctf -o from-ctf \
    --sync 'lttng-ust:* = ctf:poke'
"$strata" report -f json from-ctf 2>err >after
python3 - before after <<'END'
import json, sys

before, after = ([event for event in map(json.loads, open(name)) if "event" in event] for name in sys.argv[1:])
after = [event for event in after if event["event"] != "poke"]
assert len(after) == len(before) == 219
for a, b in zip(before, after):
    assert abs(b["time_ns"] - (a["time_ns"] * 1.00001 + 7e9)) <= b["error_ns"] + 1000, (a, b)
END

# ---- One counter ----

refused 1 'give --cpu-hz' xen.raw tsc --tsc xen,tsc
tells '^tsc  by the same clock as xen' --cpu-hz 2.4G xen.raw tsc --tsc 'xen,tsc=-1000000000*1/2' --xen-version 4.17 \
    --cpu-vendor amd -o counter
"$strata" report -f json tsc 2>err >before
"$strata" report -f json counter 2>err >after
python3 - before after <<'END'
import json, sys

before, after = ([json.loads(line) for line in open(name)] for name in sys.argv[1:])
after = [event for event in after if event["layer"] == "guest"]
assert len(after) == len(before) > 14000
for a, b in zip(before, after):
    truth = (a["ticks"] + 1000000000) * 2 / 2.4
    assert abs(b["time_ns"] - truth) < 300, (a, b, truth)
END
"$strata" report -e vmexit counter 2>err | grep -v LOST | head -n 1 | grep -q 'reason=ioio'
refused 1 'not a time stamp counter' --cpu-hz 2.4G xen.raw guest --tsc xen,guest
refused 1 'use NAME[=OFFSET[*RATIO]]' --cpu-hz 2.4G xen.raw tsc --tsc 'xen,tsc=1*x'
refused 1 'names only xen' --cpu-hz 2.4G xen.raw tsc --tsc xen

# What is known of pauses holds for each source that counts the same counter.
mkdir stopped
cp -r tsc stopped/guest
cat >stopped/trace.json <<'END'
{"format": "strata-trace", "version": 1, "sources": [
 {"name": "guest", "kind": "ftrace", "layer": "guest", "path": "guest",
  "clock": {"name": "x86-tsc", "hz": 2400000000, "pairs": "pairs"}, "host": {"boot_id": "b1"}, "complete": true}]}
END
printf '%s\n' '100000000000 22000000000 1000' '100050000000 22120000000 1000' '# paused' \
    '110060000000 22140000000 1000' '110100000000 22236000000 1000' >stopped/pairs
"$strata" merge --cpu-hz 2.4G xen.raw stopped --tsc xen,guest -o continued >told 2>err || fail "$(cat err)"
cut -d ' ' -f 1,2 continued/xen/clock-pairs >kept
cut -d ' ' -f 1,2 stopped/pairs | cmp - kept
awk '/^[0-9]/ && $3 > 2000' continued/xen/clock-pairs >wide
[ ! -s wide ] || fail "the bound of the pause is that of times before it: $(cat wide)"

# ---- One host ----

folder() { # NAME BOOT_ID
    mkdir -p "$1/vmm"
    cp vm.log "$1/vmm/trace.log"
    cp trace-events "$1/vmm/trace-events"
    # CLOCK_MONOTONIC shows 5000 s at T0.
    echo '5000000000000 1795246302000000000 1000' >"$1/vmm/clock-pairs"
    echo '6000000000000 1795247302000000000 1000' >>"$1/vmm/clock-pairs"
    cat >"$1/trace.json" <<END
{"format": "strata-trace", "version": 1, "sources": [
 {"name": "qemu", "kind": "qemu-log", "layer": "vmm", "path": "vmm/trace.log", "events": ["vmm/trace-events"],
  "clock": {"name": "realtime", "hz": 1000000000, "pairs": "vmm/clock-pairs"},
  "host": {"boot_id": "$2", "name": "build7"}, "complete": true}]}
END
}
folder one b1
folder two b1
folder three b2
tells '^qemu-2  of the same host as qemu' one two -o same
[ "$("$strata" report -e marker -n 2 same | grep -c '^5000\.0078')" -eq 2 ]
[ "$(grep -c '"boot_id": "b1"' same/trace.json)" -eq 2 ]
refused 1 'cannot be related to the clock of' one three
refused 1 'another host' one three --same-host qemu,qemu-2

# Sources of machines that have names are called by these, also when they are merged again.
for name in web7 'web 8'; do
    cp -r one "named $name"
    sed "s#\"complete\": true#\"vmm\": {\"pid\": 7, \"version\": \"7.2\", \"name\": \"$name\"}, &#" one/trace.json >"named $name/trace.json"
done
tells '^web-8-qemu  of the same host as web7-qemu' 'named web7' 'named web 8' -o machines
"$strata" report -e marker -n 2 machines >shown 2>err
grep -q ' web7-qemu  *\[' shown && grep -q ' web-8-qemu  *\[' shown || fail "$(cat shown)"
tells '^web-8-qemu  of the same host as web7-qemu' machines
tells '^web7-2  of the same host as web7' web7='named web7' web7='named web 8'

# Two hosts: events common to one source of each relate all sources of both.
tells '^two    by 1371 common events of qemu' one two=three guest -o hosts --link \
    --sync 'qemu:marker~n (\d+) = two:marker~n (\d+)' --sync 'sys_enter_write = two:marker'
[ "$("$strata" report -e marker -n 4 hosts 2>err | grep -c '^5000\.0078.*marker')" -eq 2 ]
"$strata" report -e sys_enter_write hosts 2>err | grep -v LOST | head -n 1 | grep -q '^5000\.0078'
# If the sources are related already, common events are a check.
tells '^1371 common events (.*): qemu-2 has them 0.0 to 0.0 us later than qemu$' one two \
    --sync 'qemu:marker~n (\d+) = qemu-2:marker~n (\d+)'
# With A < B, B is never too late, only too early.
folder late b1
sed 's/^\(.000\)000/\1001/' one/vmm/clock-pairs >late/vmm/clock-pairs
marker='marker~n (\d+)'
tells '^1371 common events .* 1000.0 to 1000.0 us later than qemu; 1371 by more than the stated error$' one late \
    --sync "qemu:$marker = qemu-2:$marker"
tells '^1371 common events .* 1000.0 to 1000.0 us later than qemu$' one late --sync "qemu:$marker < qemu-2:$marker"
tells '^1371 .* -1000.0 us later than qemu-2; 1371 earlier, by more than the stated error$' one late \
    --sync "qemu-2:$marker < qemu:$marker"

# A trace without its host: --same-host names it.
xz -dc "$DATA/qemu/trace.simpletrace.xz" >disk.trace
refused 1 '--same-host=qemu,disk' one disk.trace
tells '^disk  of the same host as qemu' one disk.trace --same-host qemu,disk -o one-host
"$strata" report -n 1 one-host | grep -q '^5000\.00'

# A merged trace can be merged again.
tells '^again-guest  of the same host as vm' both again=both -o twice --link

# ---- Files ----

tells common --trace-events trace-events vm.log guest --sync 'guest:guest:sys_enter_write = vm:marker' --link -o linked
[ "$(stat -c %i vm.log)" = "$(stat -c %i linked/vm/trace.log)" ]
# A log that is called as the file of pairs is in a merged directory keeps its events.
cp -r one named
mkdir named/vmm/p
mv named/vmm/clock-pairs named/vmm/p/pairs
mv named/vmm/trace.log named/vmm/clock-pairs
sed 's#vmm/clock-pairs#vmm/p/pairs#; s#vmm/trace.log#vmm/clock-pairs#' one/trace.json >named/trace.json
"$strata" report one 2>/dev/null | wc -l >want
"$strata" merge -o named-merged named >told 2>err || fail "$(cat err)"
cmp one/vmm/trace.log named-merged/qemu/clock-pairs
cmp one/vmm/clock-pairs named-merged/qemu/clock-pairs-2
"$strata" report named-merged 2>/dev/null | wc -l | cmp - want

before=$(cksum <three/vmm/clock-pairs)
tells common one three --link --sync 'qemu:marker~n (\d+) = qemu-2:marker~n (\d+)' -o linked2
[ "$(cksum <three/vmm/clock-pairs)" = "$before" ]
refused 1 'directory exists and is not empty; name another directory' --trace-events trace-events vm.log guest --sync 'guest:sys_enter_write = vm:marker' -o linked
[ "$(find . -name 'linked.*')" = "" ]
# A merge that fails leaves no output.
tells host one two -o fine
chmod a-r two/vmm/trace-events
cp -r one broken
rm broken/vmm/trace-events
status=0
"$strata" merge broken two -o never >out 2>err || status=$?
[ "$status" -eq 1 ]
[ "$(find . -name 'never*')" = "" ]

# ---- Errors ----

refused 2 'no trace file given'
refused 1 'cannot merge standard input' - guest
refused 1 'its clock (local) cannot be related to the clock of vm' vm.log guest
refused 1 "no event 'nothing' in guest" vm.log guest --sync 'guest:nothing = vm:marker'
refused 1 "no event 'marker' matches 'x'" --trace-events trace-events vm.log guest --sync 'guest:sys_enter = vm:marker~x'
refused 1 "'marker' is in several sources (vm, fewer); name one of them, as in" --trace-events trace-events vm.log fewer.log guest \
    --sync 'guest:sys_enter = marker'
refused 1 'both sides are of vm' --trace-events trace-events vm.log --sync 'vm:marker = vm:poke'
refused 1 'no source of the layer hypervisor' vm.log guest --sync 'hypervisor:a = vm:b'
refused 1 'requires '"'A-EVENT[~TEXT] = B-EVENT[~TEXT]'" vm.log guest --sync 'guest:a'
refused 1 'is not a regular expression' vm.log guest --sync 'guest:a~( = vm:b'
refused 1 'parentheses in the TEXT of one side only' vm.log guest --sync 'guest:a~(x) = vm:b'
refused 1 'names no event' vm.log guest --sync 'guest: = vm:b'
refused 1 "--reference: no source 'nobody'" vm.log guest -r nobody
refused 1 "--same-host: no source 'nobody'" vm.log guest --same-host nobody
refused 1 'use NAME=LAYER' vm.log guest --layer-of guest=cellar
refused 1 'invalid name in' 'v m=vm.log' guest
refused 1 './vm.log: was given twice' vm.log guest ./vm.log
refused 1 'they do not belong together' --trace-events trace-events vm.log guest --sync 'guest:sched_switch = vm:poke'
# On a full disk no output remains, and the message has the path that the user gave.
mkdir small
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=1m none small 2>/dev/null; then
    mounted=$work/small
    refused 1 'strata: small/all/guest/events/' guest -o small/all/
    grep -q 'No space left' err || fail "$(cat err)"
    [ -z "$(ls -A small)" ] || fail "there is left: $(ls -A small)"
    umount -l small
    mounted=
else
    echo "merge: SKIPPED in part: no small file system can be mounted" >&2
fi
# One event gives an offset, but no drift.
grep -m 1 marker vm.log >single.log
tells 'drift unknown, assumed to be at most 500 ppm' --trace-events trace-events single.log vm.log \
    --sync 'single:marker~n (\d+) = vm:marker~n (\d+)'
grep -q 'error unknown: there is one event' told

# ---- Clock pairs of a directory are copied unchanged ----

cmp real/guest/guest-guest/clock-pairs moments/guest/clock-pairs
# But the readings of another clock of the host go if the timeline is not that clock.
grep -q monotonic_ns moments/trace.json
tells '^guest  by ' --trace-events qemu=real/trace-events real/qemu.log real/guest -r qemu -o other \
    --sync 'guest:print~bell < qemu:virtio_console_flush_buf'
grep -q realtime_ns other/trace.json
! grep -q monotonic_ns other/trace.json || fail 'the moments are of another clock'

# A host's trace.dat, which does not say that it is one.
case="layer"
"$strata" info -f json "$DATA/ftrace/made/v7.dat" | grep -q '"layer": *"guest"' || fail "another layer"
"$strata" merge --layer-of host=host -o layered host="$DATA/ftrace/made/v7.dat" >told 2>err || fail "$(cat err)"
"$strata" info -f json layered | grep -q '"layer": *"host"' || fail "$("$strata" info layered)"

# ---- QEMU logged nothing, and others did ----

case="a log without lines"
mkdir silent
tar -xJf "$DATA/io/virtio-blk.tar.xz" -C silent
: >silent/vm/vmm/trace.log
"$strata" report -f json silent/vm >want 2>err
[ "$(wc -l <want)" -gt 1000 ] || fail "$(cat err)"
tells '^vmm .*of the same host' silent/vm again=silent/vm
grep -q 'vmm, qemu-log: 0 events' told || fail "$(cat told)"
"$strata" merge -o merged-silent silent/vm >told 2>err || fail "$(cat err)"
"$strata" report -f json merged-silent >have 2>err
cmp want have

# ---- A recorder stated no lengths of its files, and data of a CPU are missing ----

case="a CPU that ends before the others"
tar -xJf "$DATA/kvm/exits.tar.xz"
mv trace whole-cpus
cp -r whole-cpus half
truncate -s $(($(wc -c <half/host/cpu0.raw) / 4096 / 2 * 4096)) half/host/cpu0.raw
cp -r half/host bare
cp -r whole-cpus absent
rm absent/host/cpu0.raw
for trace in half bare absent; do
    "$strata" merge -o $trace.merged $trace >told 2>err || fail "$trace: $(cat err)"
    for verb in exits sched "sched --by cpu" stat; do
        for of in $trace $trace.merged; do
            # shellcheck disable=SC2086 # words
            "$strata" $verb -f json -k $of 2>err >out || fail "$verb $of: $(cat err)"
            jq -S '[.covered_ns, .lost, (.rows | map(del(.layer, .source, .key.layer, .key.source)))]' out
        done >tables
        half=$(($(wc -l <tables) / 2))
        head -n $half tables >want
        tail -n $half tables >have
        cmp want have || fail "$verb of $trace: $(diff want have | head -n 5)"
    done
done
