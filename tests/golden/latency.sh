#!/bin/sh
# strata latency: spans of a guest's kernel, of Xen and of QEMU as a script finds them that looks through all events.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

XDG_CONFIG_HOME=$PWD/config
export XDG_CONFIG_HOME
STRATA_EVENTS=$DATA/qemu/made/trace-events
export STRATA_EVENTS
. "$here/../lib/kernel_capture.sh"
. "$here/../lib/count_events.sh"
kernel_capture local guest
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen.raw

case="built-in rules"
# Up to where spans are open that have lasted long, and the whole.
for until in 4.675 5; do
    "$strata" report -f json --until $until guest >events
    "$strata" latency -f json --slowest 7 --limit "$(count_events --until $until guest)" guest >rows 2>err
    python3 - events rows $until <<'END' || fail "until $until: not what a script finds"
import json, math, struct, sys
items = [json.loads(line) for line in open(sys.argv[1])]
told = json.load(open(sys.argv[2]))
# The kernel's buffers went round: before the last of them begins, a thread or a timer may have been on a CPU of which nothing is
# kept, unless the thread has not left its own.
begins = [struct.unpack("<QQ", open(f"guest/cpu{cpu}.raw", "rb").read(16)) for cpu in (0, 1)]
complete = max(time for time, commit in begins if commit >> 31 & 1)
RULES = { # begin, end, field of the key, place, whether the first of several begins counts
    "syscall": ("sys_enter", "sys_exit", "id", "pid", False),
    "softirq": ("softirq_entry", "softirq_exit", "vec", "cpu", False),
    "softirq-raise": ("softirq_raise", "softirq_entry", "vec", "cpu", True),
    "hrtimer": ("hrtimer_expire_entry", "hrtimer_expire_exit", "hrtimer", "cpu", False),
    "hrtimer-start": ("hrtimer_start", "hrtimer_expire_entry", "hrtimer", None, False),
    "syscall-openat": ("sys_enter_openat", "sys_exit_openat", "__syscall_nr", "pid", False),
}
# Nothing says until when each CPU was recorded: after its last event, a span may have ended on it.
ends = {item["cpu"]: item["time_ns"] for item in items if "lost" not in item}
first_end, is_whole = min(ends.values()), sys.argv[3] == "5"
longest, not_ended = [], set()
for name, (begin, end, field, place, keeps_first) in RULES.items():
    spans, open_spans, switched = [], {}, {}
    for item in items:
        if "lost" in item:
            # A thread may have gone to any CPU, and so may a timer.
            open_spans = {key: at for key, at in open_spans.items()
                          if place == "cpu" and key[0] != item["cpu"]}
            continue
        if item["event"] == "sched_process_exit" and place == "pid":
            open_spans = {key: at for key, at in open_spans.items() if key[0] != item["pid"]}
        if item["event"] == "sched_switch":
            switched[item["cpu"]] = item["time_ns"]
        if item["event"] not in (begin, end):
            continue
        at = item[place] if place else None
        key = (at if at != 0 or place != "pid" else ("idle", item["cpu"]), item["fields"][field])
        if item["event"] == end and key in open_spans:
            first, cpu = open_spans.pop(key)
            stayed = place == "pid" and switched and cpu == item["cpu"] and switched.get(cpu, 0) <= first
            if first < complete and place != "cpu" and not stayed:
                continue
            spans.append(item["time_ns"] - first)
            longest.append((item["time_ns"] - first, first, name))
        if item["event"] == begin and place == "pid":  # a thread is in one system call at a time
            open_spans = {other: first for other, first in open_spans.items() if other[0] != key[0]}
        if item["event"] == begin and not (keeps_first and key in open_spans):
            open_spans[key] = item["time_ns"], item["cpu"]
    last = [item["time_ns"] for item in items if "lost" not in item][-1]
    not_ended |= {(last - first, first, name) for first, cpu in open_spans.values()
                  if (place == "cpu" or first >= complete) and
                  (not is_whole or ends[cpu] == last and (place == "cpu" or switched.get(cpu, 0) <= first) or first_end == last)}
    row = [row for row in told["rows"] if row["key"]["name"] == name]
    assert len(row) == 1 and spans, name
    row, spans = row[0], sorted(spans)
    exact = {"n": len(spans), "sum": sum(spans), "mean": sum(spans) // len(spans), "min": spans[0],
             "max": spans[-1], "negative": 0, "error": 0}
    for key, value in exact.items():
        assert row[key] == value, (name, key, row[key], value)
    for key, part in ("p50", 0.5), ("p90", 0.9), ("p99", 0.99):
        value = spans[max(math.ceil(len(spans) * part - 1e-9), 1) - 1]
        assert abs(row[key] - value) <= value / 64 + 1, (name, key, row[key], value)
names = set(RULES)
slow = [(span["end_ns"] - span["begin_ns"], span["begin_ns"]) for span in told["slowest"]]
# Those that have not ended follow the others, and take no place of theirs.
ended = [pair for pair, span in zip(slow, told["slowest"]) if "open" not in span]
still_open = slow[len(ended):]
assert len(ended) == 7 and len(still_open) <= 7, slow
assert all("open" in span for span in told["slowest"][7:]), told["slowest"]
for part, of in (ended, longest), (still_open, list(not_ended)):
    assert part == sorted(part, reverse=True), part
    known = sorted(((d, at) for d, at, _ in of), reverse=True)
    assert [pair for pair in part if pair in known][:3] == known[:3], (part, known[:3])
for span in told["slowest"]:
    what = span["end_ns"] - span["begin_ns"], span["begin_ns"], span["key"]["name"]
    assert what[2] not in RULES or span.get("open", False) == (what in not_ended), span
if not is_whole:
    assert any("open" in span for span in told["slowest"]), told["slowest"]
    sys.exit()
# CPU 0 lost what it had from the first event to its loss, CPU 1 nothing in that time: half of it is covered. CPU 1 ends first.
first, lost = told["first_ns"], max(item["time_ns"] for item in items if "lost" in item)
assert told["covered_ns"] == told["duration_ns"] - (lost - first + last - first_end) // 2, told["covered_ns"]
for row in told["rows"]:
    assert math.isclose(row["rate"], row["n"] * 1e9 / told["covered_ns"], rel_tol=1e-4), row
    assert math.isclose(row["share"], row["sum"] / told["covered_ns"], rel_tol=1e-4), row
    assert set(told["columns"]) | {"key"} == set(row), row
assert told["unit"] == "ns" and len(told["kinds"]) == len(told["columns"]), told["kinds"]
assert told["lost"]["events"] == 90735 and told["unpaired"]["lost"] == 15 and told["unpaired"]["early"] == 244 and \
    told["unpaired"]["again"] == 4 and told["unpaired"]["open"] == 0, told["unpaired"]
END
done

# The kernel did not go on while its CPUs were read.
case="tracing was off"
echo 0 >guest/guest/tracing_on
"$strata" latency -f json guest 2>err >rows
jq -e '.unpaired.open == 4 and .unpaired.lost == 0 and .unpaired.early == 255' rows >/dev/null || fail "$(jq -c .unpaired rows)"
rm guest/guest/tracing_on

case="by keys"
"$strata" latency softirq --by vec,cpu -f csv guest 2>err | tr -d '\r' >rows
[ "$(head -n 1 rows)" = "n,rate,sum_ns,share,mean_ns,min_ns,p50_ns,p90_ns,p99_ns,max_ns,error_ns,max_at_ns,negative,covered_ns,name,vec,cpu" ] ||
    fail "$(head -n 1 rows)"
awk -F, 'NR > 1 { n += $1; sum += $3; rows++ } END { print n, (rows > 1), sum }' rows >sum
"$strata" latency softirq -f csv guest 2>err | awk -F, 'NR == 2 { print $1, 1, $3 }' | diff - sum || fail "parts are not the whole"
grep -q ',softirq,TIMER,[01]$' rows || fail "no names of values: $(cat rows)"
# Functions have their names, if the kernel's symbols are in the trace.
"$strata" latency hrtimer timer --by function guest >rows
grep -q '^hrtimer  *tick_sched_timer  *19 ' rows && grep -q '^timer  *process_timeout  *1 ' rows || fail "no names: $(cat rows)"
"$strata" latency syscall --by task --task 'l*' guest >rows
grep -q '^syscall *ls ' rows || fail "$(cat rows)"
! grep -q '^syscall *sh ' rows || fail "$(cat rows)"

[ "$("$strata" latency syscall-* --sort max --top 2 -f csv guest 2>err | awk -F, 'NR > 1 { print $15 }' | tr -d '\r' | xargs)" = \
    "syscall-execve syscall-clone" ] || fail "not the largest maxima"
"$strata" latency softirq --by vec,cpu -f json guest 2>err | python3 -c '
import json, sys
keys = [row["key"] for row in json.load(sys.stdin)["rows"]]
assert {"name": "softirq", "vec": "RCU", "vec_value": 9, "cpu": 0} in keys, keys' || fail "no keys with names and values"

case="own rules"
printf '# mine\none: sched_waking(pid) -> sched_switch(next_pid)\n' >pairs
"$strata" latency --pairs pairs --pair 'two: sched:sched_waking(pid) -> sched:sched_switch(next_pid)' guest >rows
[ "$(sed -n 's/^one //p' rows)" = "$(sed -n 's/^two //p' rows)" ] || fail "$(cat rows)"
"$strata" latency --pair 'e: vmexit -> vmentry by vcpu' --by reason -f csv xen.raw >rows 2>err
[ "$(awk -F, 'NR > 1 { n += $1 } END { print n }' rows)" -gt 1000 ] || fail "$(cat rows err)"
head -n 1 rows | grep -q 'sum_ticks' || fail "$(head -n 1 rows)"
"$strata" latency exit xen.raw >rows 2>err || fail "$(cat err)"
grep -q '^exit ' rows || fail "$(cat rows)"

case="rules of the user's file"
mkdir -p config/strata
echo 'mine: softirq_entry(vec) -> softirq_exit(vec) by cpu' >config/strata/pairs
"$strata" latency mine softirq -f csv guest 2>err | awk -F, 'NR > 1 { print $1, $3 }' | uniq | wc -l >rows
[ "$(cat rows)" -eq 1 ] || fail "$(cat rows)"
"$strata" latency guest >rows
grep -q '^mine ' rows || fail "$(cat rows)"
"$strata" latency --list guest | grep -q '^mine ' || fail "not listed"
echo 'mine: softirq_entry(vec) ->' >config/strata/pairs
if "$strata" latency softirq guest >rows 2>err; then fail "wrong rules are read"; fi
grep -q 'config/strata/pairs:1: column 28: an event should stand here' err || fail "$(cat err)"
rm config/strata/pairs

case="longer spans, and how they are spread"
"$strata" latency syscall --longer 0.001 --hist guest >rows
awk 'NR == 2 && $7 !~ /ms$/ { exit 1 }' rows || fail "a span is shorter: $(cat rows)"
n=$(awk 'NR == 2 { print $2 }' rows)
[ "$(sed -n '/^syscall$/,$p' rows | awk 'NR > 1 { n += $2 } END { print n }')" = "$n" ] || fail "$(cat rows)"
"$strata" latency --slowest 1 syscall guest >rows
command=$(sed -n 's/^ *strata \(report .*\)/\1/p' rows)
eval "\"\$strata\" $command" >shown || fail "$command"
[ "$(grep -c . shown)" -ge 2 ] || fail "$command: $(cat shown)"

# As if the buffer of no CPU had gone round.
cp -r guest whole
read_in_time whole
mv guest lossy
mv whole guest

case="not ended"
n=$(count_events --until 4.6266 guest)
"$strata" latency --pair 'x: sys_enter -> sys_enter_readlink -> sched_switch? -> sys_exit by thread again=replace' \
    --limit "$n" --slowest 2 guest 2>err | sed -n '/^Not ended/,$p' >rows
diff - rows <<'END' || fail "text"
Not ended, each with the time when it began:
   9.14ms and not ended  4.617446097  x  CPU 1  sh-121
    9.14ms sys_enter_readlink, not ended
   4.35ms and not ended  4.622235857  x  CPU 1  ls-157
    942ns sys_enter_readlink
    367us sched_switch
    3.98ms sys_exit, not ended
END
"$strata" latency syscall --limit "$n" --slowest 9 --task ls --longer 0.0043 guest 2>err | sed -n '/^Not ended/,$p' >rows
[ "$(wc -l <rows)" -eq 3 ] && grep -q '^ *4.35ms and not ended  4.622235857  syscall  CPU 1  ls-157$' rows ||
    fail "not those that are selected: $(cat rows)"
# They are in no row.
for slowest in 0 9; do
    "$strata" latency --limit "$n" --slowest $slowest -f json guest 2>err | jq '[.rows, .unpaired]' >rows-$slowest
done
cmp rows-0 rows-9 || fail "other rows"

case="conditions"
"$strata" latency --by vec softirq -f csv guest 2>err | tr -d '\r' | awk -F, '$16 == "RCU" { print $1, $3 }' >some
"$strata" latency --pair 'a: softirq_entry(vec){ vec == 9 && (vec != 8 || vec > 9) } -> softirq_exit(vec) by cpu' \
    -f csv guest 2>err | awk -F, 'NR == 2 { print $1, $3 }' | diff some - || fail "not the softirqs of one kind"
"$strata" latency --pair 'a: sched_switch(next_pid){next_comm == "l*"} -> sched_switch(prev_pid){prev_comm == "ls"}' \
    --events -f json guest 2>err >rows
"$strata" latency --pair 'a: sched_switch(next_pid) -> sched_switch(prev_pid)' --by next_comm --events -f json guest 2>err |
    python3 -c '
import json, sys
other = [(span["begin_ns"], span["end_ns"]) for span in map(json.loads, sys.stdin) if span["key"]["next_comm"] == "ls"]
mine = [(span["begin_ns"], span["end_ns"]) for span in map(json.loads, open("rows"))]
assert mine == other and len(mine) == 2, (mine, other)' || fail "not the runs of ls"

mv guest whole
mv lossy guest

case="over time"
"$strata" latency syscall --every 0.01 --percentiles 50,99.9 -f json guest >rows 2>err
"$strata" latency syscall --events -f json guest >spans 2>err
python3 - rows spans events <<'END' || fail "not what the spans say"
import json, sys
told, spans = json.load(open(sys.argv[1])), [json.loads(line) for line in open(sys.argv[2])]
items = [json.loads(line) for line in open(sys.argv[3])]
lost = [item["time_ns"] for item in items if "lost" in item]
first_end = min({item["cpu"]: item["time_ns"] for item in items if "lost" not in item}.values())
row, = told["rows"]
assert row["n"] == len(spans) > 3000 and "p99.9" in row and "p90" not in row, row
assert row["sum"] == sum(span["end_ns"] - span["begin_ns"] for span in spans)
assert [span["end_ns"] for span in spans] == sorted(span["end_ns"] for span in spans)
assert told["unpaired"]["open"] == 0 and told["unpaired"]["lost"] == 6, told["unpaired"]
first = told["first_ns"]
for i, (begin, n, p50, p99, is_lost) in enumerate(row["series"]):
    assert begin == first + i * told["every_ns"] == first + i * 10_000_000
    part = sorted(span["end_ns"] - span["begin_ns"] for span in spans
                  if begin <= span["begin_ns"] < begin + 10_000_000)
    assert n == len(part), (begin, n, len(part))
    assert not n or abs(p50 - part[(n - 1) // 2]) <= p50 / 32 + 1, (begin, p50)
    # CPU 0 lost events from the first event to its loss, and CPU 1 is not recorded after its last one.
    assert is_lost == (begin <= max(lost) or begin + 10_000_000 > first_end), (begin, is_lost)
END
"$strata" latency syscall --every 0.003 guest >rows
grep -q '^syscall .*  ·*█··  ·*▁··$' rows || fail "$(cat rows)"
grep -q '^Each character over time is 3.00ms, from 4.607817784 on' rows || fail "$(cat rows)"

rm -r guest
mv whole guest

case="spans and stacks"
"$strata" latency syscall --task 'dd' --by pid --events -f csv guest 2>err | tr -d '\r' >rows
[ "$(head -n 1 rows)" = "begin_ns,end_ns,error_ns,cpu,pid,task,name,pid" ] || fail "$(head -n 1 rows)"
awk -F, 'NR > 1 && ($6 != "dd" || $5 != $8) { exit 1 }' rows || fail "$(cat rows)"
"$strata" latency syscall --by task --events guest 2>err | sed -n 2p >rows
grep -q '^ *4.607862638 *4.09us .* 1  ls-157 *syscall *ls$' rows || fail "$(cat rows)"
"$strata" latency syscall softirq --by task --folded guest 2>err >rows
"$strata" latency syscall softirq --by task -f csv guest 2>err | awk -F, 'NR > 1 { print $15 ";" $16 " " $3 }' |
    tr -d '\r' | diff - rows || fail "other sums"

case="context"
"$strata" latency syscall --slowest 2 --context 0.00002 guest >rows 2>err
"$strata" report --from 4.622215857 --until 4.626624998 guest 2>err >around
sed -n '/^Events around the span of 4.37ms at 4.622235857, syscall:$/,/^$/p' rows | sed '1d; /^$/d' | diff - around ||
    fail "other events"
[ "$(grep -c '^Events around' rows)" -eq 2 ] || fail "$(cat rows)"

# refused TEXT OPTION...: it is an error, which says so.
refused() {
    text=$1
    shift
    if "$strata" latency "$@" >out 2>err; then
        fail "$*: not refused"
    fi
    grep -qF -- "$text" err || fail "$*: $(cat err)"
}
case="errors"
refused "the trace has no event 'sched_swich'; did you mean 'sched_switch'?" \
    --pair 'sched_waking(pid) -> sched_swich(next_pid)' guest
refused "the trace has no event 'w:sched_waking'; did you mean 'sched:sched_waking', or 'w: sched_waking' for a rule" \
    --pair 'w:sched_waking(pid) -> sched_switch(next_pid)' guest
refused "event 'sched_switch' has no field 'nextpid'; did you mean 'next_pid'?" \
    --pair 'sched_waking(pid) -> sched_switch(nextpid)' guest
refused "event 'sched_switch' has no field 'colour'; it has prev_comm, prev_pid" \
    --pair 'sched_waking(pid) -> sched_switch(colour)' guest
refused "column 19: field 'comm' of event 'sched_waking' is not a number; a mask requires one" \
    --pair 'sched_waking(comm &3) -> sched_switch(next_pid)' guest
refused "column 1 of the condition" --pair 'sched_waking(pid){pidd > 1} -> sched_switch(next_pid)' guest
refused "column 10 of the condition: a value is missing" --pair 'sched_waking(pid){pid > 1 &} -> sched_switch(next_pid)' guest
refused "only fields are allowed here" --pair 'a(b){thread.id == 1} -> c(b)' guest
refused "the '}' of a condition is missing" --pair 'a(b){c == "}" -> c(b)' guest
refused "--pair: column 5: ',' or ')' should stand here; 'a(b -> c'" --pair 'a(b -> c' guest
status=0
"$strata" latency --pair 'a(b -> c' no-such-trace >out 2>err || status=$?
[ $status -eq 2 ] && grep -qF "Try 'strata latency --help'" err || fail "a malformed rule ends with $status: $(cat err)"
status=0
"$strata" latency --pair 'a -> b' guest >out 2>err || status=$?
[ $status -eq 1 ] || fail "a rule without events ends with $status: $(cat err)"
refused "no event of the trace has a field 'colour'" --by colour syscall guest
[ ! -s out ] || fail "a table of an unknown field: $(head -3 out)"
refused "block: the trace has no event 'block_rq_issue'" block guest
for sort in P99=p99 N/s=rate n/S=rate SHARE%=share; do
    "$strata" latency syscall softirq --sort "${sort%=*}" guest >titled 2>err || fail "--sort ${sort%=*}: $(cat err)"
    "$strata" latency syscall softirq --sort "${sort#*=}" guest 2>err | cmp - titled || fail "--sort $sort: another order"
done
refused "invalid --sort 'p98'; the columns are n, rate, sum," --sort p98 syscall guest
refused "invalid --sort 'p98'; the columns are n, rate, sum," --sort p98 --events syscall guest
refused "has more than 10000 periods" --every 0.000001 syscall guest
refused "is not a list of percentiles" --percentiles 50,100 syscall guest
refused "--context requires --slowest" --context 1 syscall guest
refused "--folded excludes --events" --events --folded syscall guest
refused "--folded excludes --every" --folded --every 1 syscall guest
refused "--folded excludes --format=csv" --folded --format=csv syscall guest
refused "must be more than 0" --every 0 syscall guest
refused 'no trace file given' block
refused "rows have at most 4 keys" --by a,b,c,d,e syscall guest
printf 'a ->\n' >pairs
refused "pairs:1: column 5: an event should stand here" --pairs pairs guest
refused "no built-in rule has its events" -e 'sched:*' guest
[ ! -s out ] || fail "no events, but output: $(cat out)"

case="list"
"$strata" latency --list >all
"$strata" latency --list guest >some
grep -q '^virtio-blk ' all || fail "$(cat all)"
! grep -q '^virtio-blk ' some || fail "$(cat some)"
grep -q '^softirq ' some || fail "$(cat some)"
case="one of each"
"$strata" latency softirq -e softirq_entry --limit 1 guest >out 2>err || fail "$(cat err)"
grep -q '^ *1 event$\|^ *1 event in' out || fail "$(cat out)"
grep -q '^ *1 span was open at the end of the trace: not counted$' out || fail "$(cat out)"
"$strata" latency softirq -e softirq_exit --limit 1 guest >out 2>err || fail "$(cat err)"
grep -q '^ *1 end whose begin is not in the trace: not counted$' out || fail "$(cat out)"
