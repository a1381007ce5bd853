#!/bin/sh
# strata info and strata stat as people see them.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

made=$DATA/qemu/made
STRATA_EVENTS=$made/trace-events
export STRATA_EVENTS

. "$here/../lib/kernel_capture.sh"
kernel_capture local guest
xz -dc "$DATA/xen/xen-4.17-no-guest-class.raw.xz" >xen.raw

"$strata" info guest >actual
cat >expected <<'END'
guest
  format         ftrace
  layer          guest
  complete from  4.668942030
  page           4096 bytes
  kernel         64-bit, little-endian
  clock          local, 1000000000 ticks a second
  cpus           2
  events         14396 of 89 classes
  time           4.607817784 to 4.678155423, 70.3ms
  lost           90735 events were lost (CPU 0: 85078, CPU 1: 5657) in 2 places
END
diff expected actual

"$strata" info -f json guest | python3 -c '
import json, sys
info = json.load(sys.stdin)
assert info["path"] == info["format"].replace("ftrace", "guest") and info["layer"] == "guest"
assert info["clock"] == {"name": "local", "hz": 1000000000}
assert info["cpus"] == info["cpus_seen"] == 2
assert info["first_ns"] == 4607817784 and info["last_ns"] == 4678155423
assert info["lost"] == {"events": 90735, "uncounted": 0, "places": 2, "skipped_bytes": 0}
'

# CSV has what JSON has: the same cells, with the names of what they are members of in front.
"$strata" info -f json guest xen.raw "$made/v3.simpletrace" >json
"$strata" info -f csv guest xen.raw "$made/v3.simpletrace" >csv
python3 - json csv <<'END'
import csv, json, sys

NAMES = {"clock_name": "clock", "lost_events": "lost", "switches_count": "switches"}
infos = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
rows = list(csv.DictReader(open(sys.argv[2], newline="", encoding="utf-8")))
assert len(infos) == len(rows) == 3
for info, row in zip(infos, rows):
    facts = ";".join(f"{key}: {value}" for key, value in info.pop("facts").items())
    flat = {"facts": facts} if facts else {}
    for key, value in info.items():
        for name, cell in value.items() if isinstance(value, dict) else [("", value)]:
            name = f"{key}_{name}".rstrip("_")
            flat[NAMES.get(name, name)] = str(cell)
    assert {key: cell for key, cell in row.items() if cell} == flat, (row, flat)
END

# Several traces, of whatever clocks: one after the other.
"$strata" info guest xen.raw >actual
grep -A1 '^xen.raw$' actual | grep -q 'format  *xentrace'
grep -q 'clock  *tsc, its rate is unknown' actual
"$strata" info --cpu-hz 2.4G xen.raw | grep -q 'clock  *tsc, 2400000000 ticks a second'
"$strata" info -fjson guest xen.raw | wc -l | grep -qx 2

"$strata" stat guest >actual
sed -n '1,3p' actual >head
cat >expected <<'END'
EVENT                         COUNT  RATE/s SHARE%     P50     P90     P99     MAX      MAX AT
sys_enter                      3447 88850.7  23.94  4.67us  52.7us   170us  1.99ms 4.623236312
sys_exit                       3447 88850.7  23.94  4.67us  46.6us   195us  1.71ms 4.623143849
END
diff expected head
tail -n 3 actual >head
cat >expected <<'END'
(P50 to MAX: intervals from one event of a row to the next; MAX AT: when the longest began)
       14396 events in 70.3ms
90735 events were lost (CPU 0: 85078, CPU 1: 5657) in 2 places; 31.5ms of 70.3ms are unknown: counts are without them, and P50 to MAX are over that time, too
END
diff expected head

"$strata" stat --by task guest | sed -n '2p' >head
cat >expected <<'END'
dd-161            7202 102391.8  50.03  1.26us  1.74us  2.27us   116us 4.670237610
END
diff expected head
# What a task, or what has a value of a field, did on a CPU that lost events is not known.
"$strata" stat --by task guest | tail -n 1 >head
echo 'RATE/s is the least that it can be: events of a row may be missing on the CPUs that lost events' | diff - head
for by in task pid,event vec; do
    "$strata" stat --by $by -f json guest | jq -e '.rates_are_least and (.duration_ns as $ns | .rows[0] | .rate * $ns / 1e9 / .count | . > 0.9999 and . < 1.0001)' >found || fail "$by: $(cat found)"
done
for by in event cpu cpu,pid; do
    "$strata" stat --by $by -f json guest | jq -e 'has("rates_are_least") | not' >found || fail "$by: $(cat found)"
done
"$strata" stat --by cpu -f json guest | jq '.rows[] | select(.cpu == 1).rate' >found
"$strata" stat --by cpu,layer -f json guest | jq '.rows[] | select(.key.cpu == "1").rate' | diff found - || fail "of a CPU"
"$strata" stat -b cpu guest | sed -n '2,3p' | awk '{ print $1, $2 }' >head
printf '[000] 7206\n[001] 7190\n' | diff - head
# What is covered is what the analyses say, also if the first of a CPU or of all was lost, whatever is counted by however many threads.
. "$here/../lib/lose_pages.sh"
tar -xJf "$DATA/kvm/exits.tar.xz"
cp -r trace late
lose_pages late/host/cpu1.raw 0 0.5
cp -r late later
lose_pages later/host/cpu0.raw 0 0.4
xz -dc "$DATA/perf/lost.data.xz" >lost.data
for t in trace late later lost.data guest; do
    for options in "" "--from +0.02 --until +0.06"; do
        # shellcheck disable=SC2086 # words
        "$strata" latency syscall -f json $options $t 2>err | jq -c '[.first_ns, .duration_ns, .covered_ns]' >analysis
        [ -s analysis ] || "$strata" exits -f json $options $t 2>err | jq -c '[.first_ns, .duration_ns, .covered_ns]' >analysis
        [ -s analysis ] || fail "$t $options: $(cat err)"
        for jobs in 1 4; do
            # shellcheck disable=SC2086 # words
            "$strata" stat -j $jobs -f json $options $t 2>err >counted
            jq -c '[.first_ns, .duration_ns, .covered_ns]' counted | diff analysis - || fail "$t $options -j $jobs"
            jq -e '.covered_ns as $ns | .rows[0] | .rate * $ns / 1e9 / .count | . > 0.9999 and . < 1.0001' counted >/dev/null || fail "$t $options: $(head -c 600 counted)"
        done
    done
done

# What is not selected says how long its source was recorded; what the options of time, layer and number exclude does not.
for jobs in 1 4; do
    for options in "" "--from +0.02 --until +0.06"; do
        # shellcheck disable=SC2086 # words
        "$strata" stat -j $jobs -f json $options trace 2>err >rows
        jq -c '[.first_ns, .duration_ns, .covered_ns]' rows >all
        for event in $(jq -r '.rows[0, 1, -1].event' rows); do
            # shellcheck disable=SC2086 # words
            "$strata" stat -j $jobs -f json -e "$event" $options trace 2>err >counted
            jq -c '[.first_ns, .duration_ns, .covered_ns]' counted | diff all - || fail "$event $options -j $jobs"
        done
    done
done
first=$("$strata" stat -f json -n 1 guest 2>err | jq -r '.rows[0].event')
"$strata" stat -f json -n 1 -e "$first" guest 2>err | jq -e '.events == 1 and .duration_ns == 0' >found || fail "-n: $(cat found)"

# A clock without a rate: no rates, and distances in ticks.
"$strata" stat xen.raw | sed -n 2p | awk '$3 != "-" || $5 !~ /^[0-9]+$/ { exit 1 }'

# CSV has what JSON has.
for by in event cpu task layer vcpu; do
    for trace in guest xen.raw "$made/v4.simpletrace"; do
        "$strata" stat -f json --by $by "$trace" >json 2>/dev/null
        "$strata" stat -f csv --by $by "$trace" >csv 2>/dev/null
        python3 - json csv <<'END'
import csv, json, sys

rows = json.load(open(sys.argv[1], encoding="utf-8"))["rows"]
found = list(csv.DictReader(open(sys.argv[2], newline="", encoding="utf-8")))
assert rows and len(found) == len(rows), (len(found), len(rows))
for row, cells in zip(rows, found):
    flat = row | row.pop("intervals", {})
    flat.pop("intervals", None)
    assert {key for key, cell in cells.items() if cell} == set(flat), (row, cells)
    for key, value in flat.items():
        assert type(value)(cells[key]) == value, (key, row, cells)
END
    done
done
"$strata" stat -f csv guest 2>err | head -n 1 | tr -d '\r' |
    grep -qx 'layer,source,group,event,count,rate,share,p50_ns,p90_ns,p99_ns,max_ns,max_begin_ns'
"$strata" stat -f csv guest 2>err >/dev/null
grep -qx 'strata: 90735 events were lost (CPU 0: 85078, CPU 1: 5657) in 2 places' err

# Times before 0.
cp "$made/trace-events" .
python3 -c 'import struct, sys
sys.stdout.buffer.write(struct.pack("<3Q", 2**64 - 1, 0xf2b177cb0aa429b4, 3) +
                        b"".join(struct.pack("<2Q2I", 0, 2**64 - ago, 24, 1) for ago in (2**63 - 5, 5)))' >before-0.simpletrace
"$strata" stat -f json before-0.simpletrace | grep -q '"first_ns":-9223372036854775803,'

# Events that are out of order: every reader says how many, whatever the number of threads.
case="out of order"
cp -r guest swapped
swap_halves swapped/cpu1.raw
n=$("$strata" info -f json swapped 2>err | jq .out_of_order)
[ "$n" -gt 1000 ] || fail "info: $n"
for jobs in 1 2 8; do
    "$strata" stat -j $jobs -f json swapped 2>err | jq -e ".out_of_order == $n" >out || fail "-j $jobs: $(cat out)"
    "$strata" stat -j $jobs swapped 2>err | grep -qx "$n events are out of order: what is measured around them is wrong" || fail "-j $jobs"
    "$strata" report -j $jobs swapped 2>err >out
    grep -qx "strata: swapped: $n events are out of order: what is measured around them is wrong" err || fail "report -j $jobs: $(cat err)"
done
"$strata" stat -f json guest 2>err | jq -e '.out_of_order == 0' >out || fail "a whole trace: $(cat out)"
! grep 'out of order' err || fail "a whole trace"
for query in "SELECT count(*) FROM event" "SELECT count(*) FROM state"; do
    "$strata" sql -c "$query" swapped 2>err >out
    grep -qx "strata: swapped: $n events are out of order: what is measured around them is wrong" err || fail "sql: $(cat err)"
done
"$strata" export --to ctf -o swapped.ctf swapped 2>err
grep -q "$n events are out of order" err || fail "export: $(cat err)"
"$strata" merge -o swapped.merged swapped 2>err >out
grep -q "$n events are out of order" err || fail "merge: $(cat err)"

# Nothing selected is not an error.
"$strata" stat -e nonesuch guest 2>/dev/null | grep -q ' 0 events$'
