#!/bin/sh
# strata stat by fields, over time, and its gaps: as a script finds them that looks through all events.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

. "$here/../lib/kernel_capture.sh"
kernel_capture local guest

case="by fields"
"$strata" report -f json guest 2>/dev/null >events
"$strata" stat -f json --by event,vec --every 0.01 --gaps 9000 guest >stat
python3 - events stat <<'END' || fail "not what a script finds"
import json, math, sys
from collections import defaultdict
items = [json.loads(line) for line in open(sys.argv[1])]
found = json.load(open(sys.argv[2]))
rows, gaps, last, lost, without, losses = defaultdict(list), [], None, False, 0, []
for item in items:
    if "lost" in item:
        lost = True
        losses.append((item.get("since_ns", 0), item["time_ns"]))
        continue
    if last:
        gaps.append((item["time_ns"] - last["time_ns"], last["time_ns"], last["event"], lost))
    last, lost = item, False
    if "vec" not in item["fields"]:
        without += 1
        continue
    rows[item["event"], item.get("names", {}).get("vec", str(item["fields"]["vec"]))].append(item["time_ns"])
assert len(rows) > 6 and found["events_without_keys"] == without
assert found["events"] == sum(map(len, rows.values())) == len([i for i in items if "lost" not in i]) - without
begin = min(times[0] for times in rows.values())
assert len(found["rows"]) == len(rows)
for row in found["rows"]:
    times = rows[row["key"]["event"], row["key"]["vec"]]
    assert row["count"] == len(times), row
    pairs = [(b - a, a) for a, b in zip(times, times[1:])]
    if pairs:
        longest = max(d for d, _ in pairs)
        assert row["intervals"]["max_ns"] == longest, row
        assert row["intervals"]["max_begin_ns"] == next(a for d, a in pairs if d == longest), row
    else:
        assert "intervals" not in row
    periods = defaultdict(list)
    for i, at in enumerate(times):
        periods[(at - begin) // 10_000_000].append(at - times[i - 1] if i else None)
    assert len(row["series"]) == len(periods), row
    for (start, n, p50, p99), number in zip(row["series"], sorted(periods)):
        assert (start, n) == (begin + number * 10_000_000, len(periods[number])), row
        distances = sorted(d for d in periods[number] if d is not None)
        for value, part in (p50, 0.5), (p99, 0.99):
            exact = distances[math.ceil(len(distances) * part - 1e-9) - 1] if distances else 0
            assert abs(value - exact) <= exact / 64 + 1, (row, value, exact)
gaps = [gap[:3] + (gap[3] or any(since < gap[1] + gap[0] and until > gap[1] for since, until in losses),) for gap in gaps]
gaps.sort(key=lambda gap: (-gap[0], gap[1]))
assert [(g["end_ns"] - g["begin_ns"], g["begin_ns"], g["after"], g["lost"]) for g in found["gaps"]] == gaps[:9000]
assert any(gap[3] for gap in gaps[:9000])
END

# 600 ms without events of CPU 1, in which CPU 0 has one in each ms; the loss comes at the end of it.
case="gaps within a loss"
{
    echo '# tracer: nop'
    echo '#'
    echo '# entries-in-buffer/entries-written: 400/400   #P:2'
    awk 'BEGIN {
        for (i = 0; i < 1000; i++) {
            if (i == 800) print "CPU:1 [LOST 600 EVENTS]"
            if (i < 200 || i >= 800)
                printf "a-7 [001] d.... 1.%03d000: softirq_entry: vec=1 [action=TIMER]\n", i
            printf "a-8 [000] d.... 1.%03d300: softirq_entry: vec=1 [action=TIMER]\n", i
        }
    }'
} >lost.txt
# gaps OPTION...: how many lie in the loss, and how many of them say so; then the same of the others.
gaps() {
    "$strata" stat -f json --gaps 9000 "$@" lost.txt 2>err | jq -r '.gaps[] | "\(.begin_ns >= 1199000000 and .end_ns <= 1800000000) \(.lost)"' |
        sort | uniq -c | awk '{ print $2, $3, $1 }'
}
gaps >got
printf '%s\n' 'false false 797' 'true true 602' | diff - got || fail "all of it"
gaps --until 1.5 >got
printf '%s\n' 'false false 398' 'true true 301' | diff - got || fail "until within it"
gaps --from 1.5 >got
printf '%s\n' 'false false 399' 'true true 300' | diff - got || fail "from within it"
gaps --jobs 2 --cpu 0 >got
! grep -q 'false true\|true true' got || fail "CPU 0 lost nothing: $(cat got)"

case="as text"
"$strata" stat -e 'softirq_*' --by vec --every 0.01 --gaps 2 guest >actual 2>err
cat >expected <<'END'
VEC     COUNT  RATE/s SHARE%     P50     P90     P99     MAX      MAX AT  COUNT OVER TIME
RCU       213  3028.3  95.95  3.81us   101us  3.90ms  3.98ms 4.646411641  ▄▇▃▃█▄▄
TIMER       6    85.3   2.70  95.2us  63.4ms  63.4ms  63.9ms 4.610429536  █     █
SCHED       3    42.7   1.35  93.2us  98.9us  98.9us  98.9us 4.618285478  █
(P50 to MAX: intervals from one event of a row to the next; MAX AT: when the longest began)
         222 events in 70.3ms
90735 events were lost (CPU 0: 85078, CPU 1: 5657) in 2 places; 31.5ms of 70.3ms are unknown: counts are without them, and P50 to MAX are over that time, too
RATE/s is the least that it can be: events of a row may be missing on the CPUs that lost events

The longest times without an event:
   3.98ms  from 4.646411641 to 4.650388815, after softirq_exit; events were lost there
   3.95ms  from 4.654398668 to 4.658350873, after softirq_exit; events were lost there
END
diff expected actual || fail "text"
"$strata" stat --by vec -f csv guest 2>err | head -n 1 | tr -d '\r' |
    grep -qx 'count,rate,share,p50_ns,p90_ns,p99_ns,max_ns,max_begin_ns,vec' || fail "$(cat err)"

case="a period for each, and none"
"$strata" stat -f json --every 0.001 guest | python3 -c '
import json, sys
for row in json.load(sys.stdin)["rows"]:
    assert row["count"] == sum(period[1] for period in row["series"]), row'
"$strata" stat --every 1 --gaps 2 -e nonesuch guest 2>/dev/null | grep -q ' 0 events$' || fail "nothing selected"

# A row takes memory for the periods with events, not for all.
case="many periods"
python3 - "$strata" <<'END' || fail "memory"
import resource, subprocess, sys
subprocess.run([sys.argv[1], "stat", "--by", "task", "--every", "0.0000007", "guest"], check=True,
               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
assert peak < 250 * 1024, peak
END

case="errors"
! "$strata" stat --by vecc guest >actual 2>err || fail "no such field, and no error"
grep -q "no event of the trace has a field 'vecc'" err || fail "$(cat err)"
[ ! -s actual ] || fail "a table of an unknown field: $(head -3 actual)"
! "$strata" stat --by a,b,c,d,e guest >actual 2>err || fail "five keys"
! "$strata" stat --every x guest >actual 2>err || fail "--every x"
"$strata" stat --every 0.0000001 -e 'softirq_*' guest >actual 2>err
grep -q '100000 periods' err || fail "$(cat err)"
