#!/bin/sh
# What perf shows of its recordings (tests/data/perf/README.md), strata shows too: the same times, CPUs, tasks, events,
# texts and call chains, in the same order, and each loss; and the exits that perf kvm stat counts.
. "$(dirname "$0")/../lib/golden.sh"

for name in packed stream clock lost switch one kvm guest; do
    xz -dc "$DATA/perf/$name.data.xz" >$name.data
    for printed in script dump; do
        [ -e "$DATA/perf/$name.$printed.xz" ] || continue
        case="$name.$printed"
        xz -dc "$DATA/perf/$name.$printed.xz" >printed
        python3 "$here/perf_data.py" "$strata" $name.data printed || fail "not as perf has it"
    done
done

# info NAME KEY: the value of a line of strata info.
info() {
    "$strata" info "$1.data" 2>/dev/null | sed -n "s/^  $2  *//p"
}
is() {
    [ "$1" = "$2" ] || fail "'$1' is not '$2'"
}

case="losses"
# As perf report --stats has it: 77673 + 77692 of the two events, and 3 of the records about tasks.
is "$(info lost lost)" "155368 events were lost (CPU 0: 71731, CPU 1: 83637) in 18 places"
"$strata" stat --strict lost.data >/dev/null 2>&1 && fail "--strict does not see them"

case="facts"
is "$(info clock clock)" "monotonic, 1000000000 ticks a second"
is "$(info kvm clock)" "perf, 1000000000 ticks a second"
is "$(info kvm layer)" host
# cpu-clock counts on the host, too.
is "$(info guest layer)" "host, guest"
is "$(info kvm 'command line')" "/usr/bin/perf kvm --host stat record -a -o kvm.data"
is "$(info packed compression)" zstd

# One file of several: the number of CLOCKID's section (23) becomes DIR_FORMAT's (24), whose content is not read.
case="perf record --threads"
python3 - <<'END'
data = bytearray(open("clock.data", "rb").read())
assert data[72 + 2] & 0x80 and not data[72 + 3] & 1
data[72 + 2] &= 0x7F
data[72 + 3] |= 1
open("threads.data", "wb").write(data)
END
is "$(info threads lost)" "unknown: the file does not say"
"$strata" info threads.data 2>&1 | grep -q 'perf record --threads wrote; only this file is read' || fail "no note"

# cut_off NAME BYTES: cut.data, its first BYTES; what of it `strata report -k` shows.
cut_off() {
    head -c "$2" "$1.data" >cut.data
    "$strata" stat cut.data >out 2>err && fail "is read"
    grep -q '^strata: cut.data: offset [0-9]*: the file was cut: .* not in it; --keep-going reads the events that are$' err || fail "$(cat err)"
    "$strata" report -k cut.data >out 2>err || fail "$(cat err)"
}
case="cut within its records"
# No format of a tracepoint is left. What is there is as it was, and the end of each CPU is a loss.
cut_off kvm 30000
grep -q 'the formats of events .* are missing; .*; the file was cut, and lacks the formats of tracepoints$' err || fail "$(cat err)"
grep -v LOST out | awk '{ print $1, $2, $3, $4 }' >left
[ "$(wc -l <left)" -gt 50 ] || fail "$(cat left)"
"$strata" report kvm.data 2>err | sed 's/: .*//' | awk '{ print $1, $2, $3, $4 }' | head -n "$(wc -l <left)" >expected
sed 's/ *unknown-.*//; s/:$//' left >shown
awk '{ print $1, $2 }' expected >left
awk '{ print $1, $2 }' shown | cmp - left || fail "other events"
grep -q LOST out || fail "nothing is lost"
"$strata" info -k cut.data 2>err | grep -q '^  complete  *no, the file was cut$' || fail "info"
"$strata" sched -k cut.data >out 2>err && fail "sched"
grep -q 'no scheduler events .*, unless events without a format (unknown-' err || fail "$(cat err)"

case="exits, as perf kvm stat report"
"$strata" exits -f json kvm.data >rows 2>err || fail "$(cat err)"
jq -r '.rows[] | [.key.reason, .n, .min, .max, .sum / .n] | join(" ")' rows | LC_ALL=C sort >ours
awk '$2 ~ /^[0-9]+$/ { gsub("us", ""); print $1, $2, $5, $6, $7 }' "$DATA/perf/kvm.report.txt" | LC_ALL=C sort >theirs
[ "$(wc -l <theirs)" -eq 5 ] || fail "perf has no rows"
# Hundredths of microseconds, rounded in some way.
paste -d' ' theirs ours | awk '
    function differ(us, ns) { return us * 1000 - ns > 5.001 || ns - us * 1000 > 5.001 }
    $1 != $6 || $2 != $7 || differ($3, $8) || differ($4, $9) || differ($5, $10) { print; wrong = 1 }
    END { exit wrong }' >&2 || fail "not as perf (left) has it"

case="a stream through a pipe"
"$strata" report stream.data >whole 2>err || fail "$(cat err)"
cat stream.data | "$strata" report - >piped 2>err || fail "$(cat err)"
cmp whole piped || fail "differs"
case="a file through a pipe"
"$strata" report kvm.data >whole 2>err || fail "$(cat err)"
cat kvm.data | "$strata" report - >piped 2>err || fail "$(cat err)"
cmp whole piped || fail "differs"

# Its last three records say how many events were lost in all: perf writes them at its end.
case="a stream whose perf was killed"
cp "$DATA/perf/made/stream.data" ended.data
python3 - <<'END'
import struct
data = open("ended.data", "rb").read()
at, ends = 16, []
while at < len(data):
    kind, _, size = struct.unpack_from("<IHH", data, at)
    if kind == 66:
        size += (struct.unpack_from("<I", data, at + 8)[0] + 7) // 8 * 8
    if kind == 13:
        ends.append(at)
    at += size
open("killed.data", "wb").write(data[:ends[0]])
END
"$strata" info ended.data >out 2>err
if grep -E '^  complete  +[a-z]|more may be missing' out err; then fail "ended"; fi
"$strata" info killed.data >out 2>err
grep -q 'complete  *no, perf did not finish' out && grep -q 'lost .*; more may be missing that are not counted' out || fail "$(cat out)"
grep -q 'perf lost events and did not finish the stream' err || fail "$(cat err)"

case="nothing after --from"
"$strata" report -f json kvm.data 2>err | jq -s -r '[.[] | select(.event)] | last.time' >last
if "$strata" stat --from 99999999 kvm.data >out 2>err; then :; fi
grep -q "ends at $(cat last)" err || fail "$(cat err)"

# Bit 19 of the features: perf stat record.
case="counts"
cp kvm.data counts.data
printf '\010' | dd of=counts.data bs=1 seek=74 conv=notrunc 2>err
if "$strata" info counts.data >out 2>err; then fail "is read"; fi
grep -q '^strata: counts.data: it is of perf stat record' err || fail "$(cat err)"

case="version 1"
printf 'PERFFILE%096d' 0 >v1.data
"$strata" report v1.data >out 2>err && fail "is read"
grep -q '^strata: v1.data: perf.data of version 1 is not supported' err || fail "$(cat err)"

case="samples of the host and of guests"
cp "$DATA/perf/made/guest.data" both.data
is "$("$strata" report both.data 2>err | awk '{ print $2, $NF }' | tr '\n' ' ')" \
    "host cpumode=kernel host cpumode=user guest cpumode=guest_kernel guest cpumode=guest_user host cpumode=hypervisor host cpumode=7 "
is "$("$strata" report -e 'guest:*' both.data 2>err | wc -l)" 2
is "$("$strata" info both.data 2>err | sed -n 's/^  layer *//p')" "host, guest"

case="events of EventHeader"
cp "$DATA/perf/made/programs.data" programs.data
is "$("$strata" report programs.data 2>err | cut -d' ' -f2- | tr -s ' ' | tr '\n' ';')" \
    '[000] 9 My_Shop:Sale: count=7 name="tea" level=information opcode=info;[000] 9 My_Shop:Sale: count=8 name="coffee" level=information opcode=info;[000] 9 My_Shop_L4K0: eventheader_flags=7 version=0 id=0 tag=0 opcode=0 level=4 data=[0x12 0x0 0x1 0x0 0x53 0x61 0x6c 0x65 0x0 0x63 0x6f 0x75 0x6e 0x74 0x0 0x2 0x6e 0x61 0x6d 0x65 0x0 0xa 0x9 0x63 0x0 0x74 0x65 0x61];'
grep -q ': 1 event of EventHeader cannot be decoded, and shows as bytes: values that do not fit the metadata, of My_Shop_L4K0$' err ||
    fail "$(cat err)"

case="later events alone"
from=$(sed -n '3000s/ .*//p' whole)
"$strata" report --from="$from" kvm.data >later 2>err || fail "$(cat err)"
awk -v from="$from" '$1 >= from' whole | cmp - later || fail "differs"

# Through other formats: the kernel's events as they are.
case="trace.dat"
"$strata" export --to trace.dat -o kvm.dat kvm.data >/dev/null 2>err || fail "$(cat err)"
"$strata" report kvm.dat >again 2>err || fail "$(cat err)"
cmp whole again || fail "differs"
if command -v trace-cmd >/dev/null; then
    trace-cmd report -N kvm.dat 2>err | grep -c 'kvm_exit: ' >n || fail "trace-cmd: $(cat err)"
    is "$(cat n)" "$(grep -c 'kvm_exit: ' whole)"
fi
"$strata" export --to trace.dat -o clock.dat clock.data >/dev/null 2>err || fail "$(cat err)"
is "$("$strata" report clock.dat | grep -c 'cpu_clock: ip=0x')" "$("$strata" report clock.data | grep -c 'cpu-clock: ip=0x')"

case="merged"
"$strata" merge -o merged host=kvm.data >/dev/null 2>err || fail "$(cat err)"
"$strata" report merged >again 2>err || fail "$(cat err)"
cmp whole again || fail "differs"
[ -e merged/host/perf.data ] || fail "no perf.data in it"

case="tables"
is "$("$strata" sql --format=csv -c 'select count(*) as n from host_kvm_exit' kvm.data 2>err | tail -1 | tr -d '\r')" \
    "$(grep -c 'kvm_exit: ' whole)"
is "$("$strata" sql --format=csv -c 'select sum(period) as n from guest_cpu_clock' guest.data 2>err | tail -1 | tr -d '\r')" \
    "$("$strata" report --layer guest guest.data | sed -n 's/.* period=//p' | awk '{ n += $1 } END { print n }')"

# Without --keep-going, reading ends where the file is damaged: of each CPU, the rest is unknown.
case="damaged"
xz -dc "$DATA/perf/packed.data.xz" >packed.bad
printf '\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377' | dd of=packed.bad bs=1 seek=80000 conv=notrunc 2>err
for options in "" -k; do
    # shellcheck disable=SC2086 # no word, or one
    "$strata" report -f json $options packed.bad 2>err$options | jq -c 'select(.cause) | [.cpu, .lost, .cause]' | sort >losses$options || :
done
grep -q '^strata: packed.bad: offset [0-9]*: compressed records are damaged; --keep-going continues after it$' err || fail "$(cat err)"
is "$(tr '\n' ' ' <losses)" '[0,null,"unreadable"] [1,null,"unreadable"] '
cmp losses losses-k || fail "other losses than with -k: $(cat losses-k)"
grep -q '^strata: events were lost in 2 places, how many is unknown' err || fail "$(cat err)"

# A machine of three CPUs, of which perf recorded two: what the third did, and threads that may have run there, is unknown.
case="some CPUs alone"
xz -dc "$DATA/perf/packed.data.xz" >two.data
python3 - two.data three.data <<'PYTHON'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
begin, size = struct.unpack_from("<QQ", data, 40)
features = [n for n in range(256) if data[72 + n // 8] >> n % 8 & 1]
at, _ = struct.unpack_from("<QQ", data, begin + size + 16 * features.index(7))  # HEADER_NRCPUS
assert struct.unpack_from("<II", data, at) == (2, 2)
struct.pack_into("<II", data, at, 3, 3)
open(sys.argv[2], "wb").write(data)
PYTHON
for of in two three; do "$strata" info -f json $of.data 2>err | jq .lost.uncounted >$of || :; done
is $(($(cat three) - $(cat two))) 1
grep -q 'three.data: perf did not record 1 of the 3 CPUs: what they did is unknown$' err || fail "$(cat err)"
"$strata" export --to trace.dat -o three.dat three.data 2>err || fail "$(cat err)"
is "$("$strata" sched --by cpu -f json three.dat 2>/dev/null | jq -c '[.rows[] | select(.unknown_share == 1) | .key.cpu]')" "[2]"
sleeps() { "$strata" sched -f json "$1" 2>/dev/null | jq '[.rows[].sleep // 0] | add'; }
[ "$(sleeps two.data)" -gt 0 ] && is "$(sleeps three.data)" 0

# perf switches its events on in one CPU after the other, and off: what ran on the second one before its first event is not known, and what
# ran on the first one after its last event.
case="CPUs that begin and end one after the other"
"$strata" report -f json two.data 2>err >events
jq -s '[group_by(.cpu)[] | map(.time_ns) | min] | sort' events >begins
jq -s '[group_by(.cpu)[] | map(.time_ns) | max] | sort' events >ends
"$strata" irq -f json two.data 2>err | jq '.duration_ns - .covered_ns' >unknown
is "$(jq -s '(.[0][1] - .[0][0] + .[1][1] - .[1][0]) / 2 | floor' begins ends)" "$(cat unknown)"
"$strata" sql --format=json -c "SELECT max(end_ns) AS last FROM state WHERE kind = 'thread' AND state IN ('sleeping', 'woken', 'preempted')" two.data 2>err |
    jq -e --argjson until "$(jq '.[0]' ends)" '.last <= $until' >out || fail "after the first CPU ends: $(cat out err)"
is "$("$strata" info -f json two.data 2>err | jq -r '.facts["complete from"]' | tr -d .)" "$(jq '.[1]' begins)"
"$strata" sched --states -f json two.data 2>err | jq -e '.rows | length > 0' >out || fail "$(cat err)"
"$strata" sql --format=json -c "SELECT min(begin_ns) AS first FROM state WHERE kind = 'thread' AND state IN ('sleeping', 'woken', 'preempted')" two.data 2>err |
    jq -e --argjson from "$(jq '.[1]' begins)" '.first >= $from' >out || fail "before the second CPU begins: $(cat out err)"
# A part that begins later has all CPUs.
"$strata" export --to trace.dat --from 34.691 -o part.dat two.data 2>err || fail "$(cat err)"
is "$("$strata" info -f json part.dat 2>/dev/null | jq .lost.places)" 0

# What perf was asked to leave out: the tracer's word is in the attributes and the table of IDs. All states are unknown then; of rings that
# were overwritten, what threads did before the last CPU begins.
case="perf record -F, of a thread, --overwrite"
python3 - "$here/../simulation" <<'PYTHON'
import random, sys
sys.path.insert(0, sys.argv[1])
import machine, perf_stream
rng = random.Random(5)
made = machine.Machine(rng, 2, 0, 4, True, False)
made.run(31 * machine.MILLI)
for name, values in {"whole": {}, "filtered": {}, "freq": {"period": 300, "flags": perf_stream.FREQ}, "period": {"period": 2}, "thread": {"tid": 101},
                     "overwrite": {"flags": perf_stream.WRITE_BACKWARD}, "overwritten": {"flags": perf_stream.WRITE_BACKWARD}}.items():
    stream = perf_stream.PerfStream(made.host, 0, 30 * machine.MILLI, machine.MILLI)
    for key, value in values.items():
        setattr(stream, key, value)
    if name == "filtered":
        for page in (page for pages in stream.cpus for page in pages):
            page.events = [e for e in page.events if e.name != "sched_switch" or e.values["next_pid"] % 2]
    if name == "overwritten":
        del stream.cpus[1][:20]
    stream.write(f"{name}.made")
PYTHON
# A filter of events leaves out switches.
case="perf record --filter"
! "$strata" sched filtered.made >out 2>err || fail "states: $(cat out)"
grep -q '^strata: filtered.made: CPUs go on to another thread [0-9]* times without a switch ([0-9]* are there): ' err || fail "$(cat err)"
# What is only shown says so with --strict, which asks for what is missing.
"$strata" report --strict --limit 1 filtered.made >/dev/null 2>err || status=$?
grep -q 'without a switch' err || fail "$(cat err)"
"$strata" report filtered.made >events 2>err || fail "$(cat err)"
[ "$(wc -l <events)" -gt 100 ] && [ ! -s err ] || fail "$(cat err)"
"$strata" info filtered.made 2>err | grep -q '^  lost .*may be missing\|^  lost *unknown' || fail "$("$strata" info filtered.made)"
case="perf record -F, of a thread, --overwrite"
for of in whole freq period overwrite overwritten; do
    "$strata" sched -f json $of.made 2>$of.err >$of.json || fail "$of: $(cat $of.err)"
done
[ "$(jq '[.rows[].run // 0] | add' whole.json)" -gt 0 ] && [ "$(jq '[.rows[].sleep // 0] | add' whole.json)" -gt 0 ] || fail "whole"
for of in freq period; do
    is "$(jq '[.rows[] | .run, .wait, .sleep | select(. != null and . > 0)] | length' $of.json)" 0
done
grep -q 'freq.made: perf sampled tracepoints (-F, or -c above 1)' freq.err || fail "$(cat freq.err)"
"$strata" sched thread.made >thread 2>thread.err && fail "states of a thread alone"
grep -q 'except for the threads that perf recorded or printed, which are not enough for states' thread.err || fail "$(cat thread.err)"
# That others are unknown is in each answer.
told() {
    "$strata" latency -f json "$1" 2>/dev/null | jq -e '.covered_ns == 0 and .lost.incomplete and (.notes | any(startswith("only certain threads were recorded")))' >told || fail "$1: $(cat told)"
    "$strata" stat --strict "$1" >told 2>err && fail "$1: --strict: $(cat told)"
    grep -q '^events may be missing; how many is unknown' told || fail "$1: $(cat told)"
    is "$("$strata" info "$1" 2>/dev/null | sed -n 's/^  lost *//p')" "unknown: only certain threads were recorded"
}
told thread.made
# So it is of what is exported of it.
for of in ctf trace.dat; do
    "$strata" export --to $of -o thread.$of thread.made 2>err || fail "$(cat err)"
    "$strata" sched thread.$of >thread 2>err && fail "$of: states of a thread alone"
    grep -q 'which are not enough for states' err || fail "$of: $(cat err)"
    told thread.$of
done
# Of 30 ms, CPU 1 has the last 10.
"$strata" sched --states --events -f json overwritten.made >states 2>/dev/null || fail "states"
begin=$("$strata" report --cpu 1 -n 1 overwritten.made 2>/dev/null | cut -d' ' -f1)
is "$(jq -s --argjson begin "$begin" '[.[] | select(.key.state == "sleeping" and .end_ns < $begin * 1e9)] | length' states)" 0
"$strata" sched --states --events -f json whole.made | jq -se --argjson begin "$begin" \
    'any(.[]; .key.state == "sleeping" and .end_ns < $begin * 1e9)' >/dev/null || fail "nothing sleeps before"

# One thread after the other: one that slept for long is not damaged.
case="perf record --per-thread"
xz -dc "$DATA/perf/per-thread.data.xz" >per-thread.data
"$strata" stat -f json per-thread.data >got 2>err || fail "$(cat err)"
is "$(jq -s '.[0].events' got)" 4
! grep -q damaged err || fail "$(cat err)"

# The last record of a CPU whose time is damaged: its own order refutes a time that is earlier; nothing refutes a later one, which is told.
case="a damaged time of the last sample"
end_at() { # SECONDS
    python3 - whole.made end.made "$1" <<'END'
import struct
import sys

data = bytearray(open(sys.argv[1], "rb").read())
at = data.rindex(struct.pack("<IHH", 68, 0, 8))
sample = max(at - size for size in range(56, 400, 8)
             if struct.unpack_from("<IHH", data, at - size) == (9, 0, size))
time, = struct.unpack_from("<Q", data, sample + 32)
struct.pack_into("<Q", data, sample + 32, time + int(float(sys.argv[3]) * 1e9))
open(sys.argv[2], "wb").write(data)
END
    "$strata" stat -f json end.made 2>err | jq -s '.[0].duration_ns / 1e9 | floor' >got
}
end_at -60
is "$(cat got)" 0
grep -q '^strata: end.made: events with a time far from those around them are damaged and count as lost (1)' err || fail "$(cat err)"
end_at 60.9
is "$(cat got)" 60
grep -q '^strata: end.made: the last event of CPU [0-9] is 60 seconds after all others: its time may be damaged, and the trace shorter' err || fail "$(cat err)"
