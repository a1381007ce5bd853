#!/bin/sh
# strata io: the requests of a real recording, as a script finds them that knows nothing of strata's rules in code.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/count_events.sh"

xz -dc "$DATA/io/virtio-blk.tar.xz" | tar -x

# The script has the times that strata report shows.
case="as a script finds them"
for layers in guest,vmm,host guest,vmm guest vmm host; do
    "$strata" report -f json --layer $layers \
        -e 'block_*,virtio_*,thread_pool_*,blk_co_*,irq_handler_*' vm >events 2>err
    "$strata" io -f json --slowest 7 --layer $layers vm >found 2>err || fail "$layers: $(cat err)"
    python3 "$here/io.py" events found >counts || fail "$layers"
done
# A stage whose event is missing is part of the next one.
without='-virtio_queue_notify,-thread_pool_complete,-irq_*,-block_bio_queue'
"$strata" report -f json --layer guest,vmm -e "$without" vm >events 2>err
"$strata" io -f json --slowest 3 --layer guest,vmm -e "$without" vm >found
python3 "$here/io.py" events found >counts || fail "without some events"
"$strata" io --layer guest,vmm -e "$without" vm |
    grep -q 'not in the trace: block_bio_queue, virtio_queue_notify, thread_pool_complete or thread_pool_complete_aio, irq_handler_entry;' ||
    fail "does not say what is missing"

# renamed DIR FROM TO...: the recording of a QEMU that calls events otherwise.
renamed() {
    cp -r vm "$1"
    made=$1
    shift
    while [ $# -gt 0 ]; do
        sed -i "s/\\b$1\\b/$2/" "$made/vmm/trace.log" "$made/vmm/trace-events"
        shift 2
    done
}

case="names of other versions"
renamed qemu10 thread_pool_submit thread_pool_submit_aio thread_pool_complete thread_pool_complete_aio
renamed qemu11 thread_pool_submit thread_pool_submit_aio thread_pool_complete thread_pool_complete_aio \
    virtio_notify virtio_notify_irqfd_deferred_fn
for verb in "io --slowest 7 --no-causal" "latency --layer vmm --slowest 7"; do
    "$strata" $verb -f json vm >expected 2>err || fail "$verb: $(cat err)"
    jq -e '.rows | length > 0' expected >/dev/null || fail "$verb: no rows"
    for made in qemu10 qemu11; do
        "$strata" $verb -f json $made >actual 2>err || fail "$verb of $made: $(cat err)"
        jq '.rows, .slowest' expected >left
        jq '.rows, .slowest' actual | diff left - || fail "$verb of $made"
    done
done
# A name that no known version has is not taken, and said.
renamed later thread_pool_submit thread_pool_submit_co
sed -i 's/req %p opaque/request %p opaque/; /^thread_pool_complete/s/void \*req,/void *request,/' later/vmm/trace-events
sed -i '/thread_pool_complete/s/ req / request /' later/vmm/trace.log
"$strata" io --layer guest,vmm later >actual 2>err || fail "later: $(cat err)"
for stage in thread_pool_submit_co:vmm thread_pool_complete:backend; do
    grep -q "^ *the trace has '${stage%:*}', which may end stage '${stage#*:}'; " actual || fail "$stage: $(tail -5 actual)"
done
# The declarations of another version: the note says which are needed.
cp -r qemu10 undeclared
sed -i '/^thread_pool_/d' undeclared/vmm/trace-events
"$strata" io --layer guest,vmm undeclared >actual 2>err || fail "undeclared: $(cat err)"
grep -q "^ *the trace has 'thread_pool_submit_aio', which may end stage 'vmm'; it has no fields, because its declaration is missing, .*--trace-events" actual ||
    fail "undeclared: $(tail -5 actual)"
"$strata" io --layer guest,vmm --trace-events qemu10/vmm/trace-events undeclared >actual 2>err || fail "--trace-events: $(cat err)"
"$strata" io --layer guest,vmm qemu10 | diff - actual || fail "with --trace-events"

case="as text"
"$strata" io --layer guest,vmm --slowest 1 vm >actual
cat >expected <<'END'
LAYER  DEVICE          KIND   STAGE          N     N/s     SUM SHARE%    MEAN     MIN     P50     P90     P99     MAX   ERROR  BYTES   PART
guest  254,0           read   total        121   194.1  43.5ms   6.97   359us  83.2us   207us   713us  2.08ms  4.47ms       - 495616 100.00
guest  254,0           read   queue        121   194.1  3.43ms   0.55  28.4us  8.85us  20.2us  38.4us   103us   738us       -      -   7.89
guest  254,0           read   kick         121   194.1  7.72ms   1.24  63.8us  23.9us  42.5us  89.1us   299us  1.43ms ±32.3us      -  17.75
guest  254,0           read   dispatch     121   194.1   868us   0.14  7.17us  2.00us  5.95us  11.9us  23.8us  37.0us       -      -   2.00
guest  254,0           read   vmm          121   194.1  2.09ms   0.34  17.3us  4.00us  11.9us  37.4us  65.0us  79.0us       -      -   4.81
guest  254,0           read   backend      121   194.1  9.94ms   1.59  82.1us  13.0us  36.4us  93.2us   315us  4.10ms       -      -  22.86
guest  254,0           read   done         121   194.1   525us   0.08  4.34us  2.00us  4.00us  5.06us  19.2us  20.0us       -      -   1.21
guest  254,0           read   inject       121   194.1  17.8ms   2.85   147us  22.1us  43.5us   356us  1.56ms  1.80ms ±32.3us      -  40.84
guest  254,0           read   guest        121   194.1  1.15ms   0.18  9.50us  3.49us  7.23us  13.7us  82.9us   123us       -      -   2.64
vmm    0x556c8f3788f0  read   total          4     0.2   951us   0.00   238us   137us   150us   469us   469us   469us       -  12800 100.00
vmm    0x556c8f3788f0  read   dispatch       4     0.2  84.0us   0.00  21.0us  9.00us  19.2us  30.0us  30.0us  30.0us       -      -   8.83
vmm    0x556c8f3788f0  read   vmm            4     0.2   185us   0.00  46.2us  36.0us  38.4us  57.9us  57.9us  58.0us       -      -  19.45
vmm    0x556c8f3788f0  read   backend        4     0.2   659us   0.00   165us  54.0us   101us   395us   395us   395us       -      -  69.30
vmm    0x556c8f3788f0  read   done           4     0.2  23.0us   0.00  5.75us  5.00us  5.95us  5.95us  5.95us  6.00us       -      -   2.42
guest  254,0           write  total          2     3.2  12.0ms   1.92  5.99ms  1.58ms  1.59ms  10.4ms  10.4ms  10.4ms       - 491520 100.00
guest  254,0           write  queue          2     3.2  10.1ms   1.63  5.07ms  1.02ms  1.02ms  9.04ms  9.04ms  9.13ms       -      -  84.76
guest  254,0           write  kick           2     3.2   492us   0.08   246us   195us   195us   298us   298us   298us ±32.2us      -   4.11
guest  254,0           write  dispatch       2     3.2  68.0us   0.01  34.0us  32.0us  32.0us  36.0us  36.0us  36.0us       -      -   0.57
guest  254,0           write  vmm            2     3.2  87.0us   0.01  43.5us  19.0us  19.2us  68.0us  68.0us  68.0us       -      -   0.73
guest  254,0           write  backend        2     3.2   300us   0.05   150us   121us   122us   178us   178us   179us       -      -   2.51
guest  254,0           write  done           2     3.2  15.0us   0.00  7.50us  6.00us  6.00us  9.00us  9.00us  9.00us       -      -   0.13
guest  254,0           write  inject         2     3.2   611us   0.10   306us  54.1us  54.1us   557us   557us   557us ±32.2us      -   5.11
guest  254,0           write  guest          2     3.2   251us   0.04   125us  29.4us  29.4us   221us   221us   221us       -      -   2.09
guest  254,0           flush  total          2     3.2  11.8ms   1.90  5.91ms  3.38ms  3.38ms  8.44ms  8.44ms  8.44ms       -      0 100.00
guest  254,0           flush  queue          2     3.2  1.81ms   0.29   906us   344us   348us  1.46ms  1.46ms  1.47ms       -      -  15.33
guest  254,0           flush  device         2     3.2  9.52ms   1.53  4.76ms  3.01ms  3.01ms  6.49ms  6.49ms  6.51ms       -      -  80.50
guest  254,0           flush  guest          2     3.2   494us   0.08   247us  23.4us  23.4us   471us   471us   471us       -      -   4.18
      2848 events in 23.4s
clock error of guest ±34.9us (stated ±64.3us), by 246 causes and effects

The slowest, each with the time when it began:
   10.4ms  29749.584411789  guest  254,0  write  total  CPU 1  dd-109
    9.13ms queue
    195us ±32.2us kick
    36.0us dispatch
    68.0us vmm
    179us backend
    9.00us done
    557us ±32.2us inject
    221us guest
  strata report --from 29749.584411789 --until 29749.594805954 vm
END
diff expected actual || fail "text"

case="why"
"$strata" io --task dd --slowest 3 vm | sed -n '/^ *8.44ms  2/,$p' | grep -v '^  strata report' >actual
cat >expected <<'END'
   8.44ms  29749.598331896  guest  254,0  flush  total  CPU 0  dd-109
    1.47ms queue
      ALL CPUs/TCG-5574 ran 1.47 ms
    6.51ms device
      worker-7853 ran 219.7 us, slept 6.22 ms, was runnable 62.1 us on CPU 0 behind ALL CPUs/TCG-5574 (54% of it); qemu-system-x86-5559 ran 461.6 us, slept 5.96 ms, was runnable 85.2 us on CPU 0 behind ALL CPUs/TCG-5574 (59% of it); ALL CPUs/TCG-5574 ran 5.79 ms, was runnable 713.7 us on CPU 0 behind qemu-system-x86-5559 (65% of it)
    471us guest
      ALL CPUs/TCG-5574 ran 470.7 us
   4.47ms  29749.643811208  guest  254,0  read  total  CPU 0  dd-114
    21.9us queue
      ALL CPUs/TCG-5574 ran 21.9 us
    98.3us ±30.7us kick
      ALL CPUs/TCG-5574 ran 71.1 us, was runnable 21.0 us on CPU 0 behind qemu-system-x86-5559 (100% of it), slept 6.3 us; qemu-system-x86-5559 ran 27.2 us, was runnable 51.1 us on CPU 0 behind ALL CPUs/TCG-5574 (100% of it), slept 20.0 us
    7.00us dispatch
      qemu-system-x86-5559 ran 7.0 us
    37.0us vmm
      qemu-system-x86-5559 ran 37.0 us
    4.10ms backend
      worker-7853 ran 10.2 us, slept 4.09 ms, was runnable 2.1 us on CPU 0 behind qemu-system-x86-5559 (100% of it); qemu-system-x86-5559 ran 59.8 us, was runnable 4.04 ms on CPU 0 behind ALL CPUs/TCG-5574 (99% of it)
    19.0us done
      qemu-system-x86-5559 ran 19.0 us
    163us ±30.7us inject
      ALL CPUs/TCG-5574 ran 91.0 us, was runnable 71.8 us on CPU 0 behind qemu-system-x86-5559 (100% of it)
    21.9us guest
      ALL CPUs/TCG-5574 ran 21.9 us
END
diff expected actual || fail "why"
"$strata" io --task dd --slowest 2 -e '-host:sched_switch' vm >actual
grep -q ' ran ' actual && fail "nothing tells when a thread slept: $(grep ' ran ' actual)"
# What a thread did adds up to its stage, and the recorder is named, by the number of its process here.
jq '(.sources[] | select(.layer == "host") | .host.recorder) = 5574' vm/trace.json >trace.json
cp vm/trace.json kept.json
mv trace.json vm/trace.json
"$strata" io -f json --task dd --slowest 99 vm >found
mv kept.json vm/trace.json
python3 - found <<'END' || fail "what threads did"
import json, re, sys
n = 0
for span in json.load(open(sys.argv[1]))["slowest"]:
    for stage in span["stages"]:
        for thread in (why for line in stage.get("why", []) for why in line.split("; ")):
            parts = re.findall(r"(?:ran|slept|runnable|unknown) ([0-9.]+) (us|ms)", thread)
            ns = sum(float(value) * {"us": 1e3, "ms": 1e6}[unit] for value, unit in parts)
            slack = sum({"us": 51, "ms": 5001}[unit] for value, unit in parts)
            assert abs(ns - (stage["end_ns"] - stage["begin_ns"])) <= slack, (stage, thread)
            assert ("(a thread of the recorder, " in thread) == ("behind ALL CPUs/TCG-5574 " in thread), thread
            n += "recorder" in thread
assert n > 10, n
END
# The flush that a task waits for is its own, although a thread of the kernel issues it.
"$strata" io --task dd --slowest 3 vm | grep -q '^ *8.44ms .*  flush  total  CPU 0  dd-109$' || fail "not of the task that queued it"

# Of a thread that slept most of the time, what it waited for between is not the first reason.
. "$here/../lib/made_io.sh"
"$strata" io --no-causal --layer vmm,host --slowest 9 asleep | sed -n '/^    56.7ms vmm$/{n;p;}' >actual
echo '      qemu-system-x86-5559 ran 1.59 ms, slept 52.71 ms, was runnable 2.36 ms on CPU 0 behind ALL CPUs/TCG-5574 (95% of it)' |
    diff - actual || fail "slept"

case="not ended"
n=$(count_events --until 29749.648 vm)
"$strata" io --layer guest,vmm,host --task dd --limit "$n" --slowest 3 vm | sed -n '/^ *4.08ms /,$p' >actual
cat >expected <<'END'
   4.08ms and not ended  29749.643811208  guest  254,0  read  total  CPU 0  dd-114
    21.9us queue
      ALL CPUs/TCG-5574 ran 21.9 us
    98.3us ±30.7us kick
      ALL CPUs/TCG-5574 ran 71.1 us, was runnable 21.0 us on CPU 0 behind qemu-system-x86-5559 (100% of it), slept 6.3 us; qemu-system-x86-5559 ran 27.2 us, was runnable 51.1 us on CPU 0 behind ALL CPUs/TCG-5574 (100% of it), slept 20.0 us
    7.00us dispatch
      qemu-system-x86-5559 ran 7.0 us
    37.0us vmm
      qemu-system-x86-5559 ran 37.0 us
    3.92ms backend, not ended
      worker-7853 ran 10.2 us, was runnable 2.1 us on CPU 0 behind qemu-system-x86-5559 (100% of it), slept 694.6 us, unknown 3.21 ms; qemu-system-x86-5559 ran 39.5 us, was runnable 667.4 us on CPU 0 behind ALL CPUs/TCG-5574 (98% of it), unknown 3.21 ms
END
diff expected actual || fail "text"
# They are in no row, and end with the trace, or with the recording of their source.
"$strata" io -f json --task dd --limit "$n" --slowest 3 vm >found
jq '(.sources[] | select(.layer == "guest") | .ended.monotonic_ns) = 29749645000000' vm/trace.json >trace.json
cp vm/trace.json kept.json
mv trace.json vm/trace.json
"$strata" io -f json --task dd --limit "$n" --slowest 9 vm >ended
mv kept.json vm/trace.json
"$strata" io -f json --task dd --limit "$n" vm >without
python3 - found ended without <<'END' || fail "JSON"
import json, sys
found, ended, without = (json.load(open(path)) for path in sys.argv[1:])
assert found["rows"] == without["rows"] and found["unpaired"] == without["unpaired"] and not without["slowest"]
*over, hangs = found["slowest"]
assert len(over) == 3 and all("open" not in span for span in over) and hangs["open"] is True and hangs["key"]["stage"] == "total", found["slowest"]
assert hangs["end_ns"] == found["first_ns"] + found["duration_ns"] == hangs["stages"][-1]["end_ns"], hangs
hangs, = (span for span in ended["slowest"] if "open" in span)
assert hangs["end_ns"] == 29749645000000, hangs
END
"$strata" io --task dd --limit "$n" --longer 0.005 --slowest 9 vm | grep -q 'not ended' && fail "shorter than --longer"
# If it is all there is, there is no row. All that QEMU had is there, so it is open until the guest's last event, which is later.
n=$(count_events --layer vmm,guest -e '-guest:block_*' --from 29749.6437 --until 29749.6479 vm)
"$strata" io --no-causal --layer vmm,guest -e '-guest:block_*' --from 29749.6437 --limit "$n" --slowest 1 vm >actual || fail "alone"
[ "$(grep -c ' total  ' actual)" -eq 1 ] || fail "rows: $(cat actual)"
grep -A3 ' not ended  ' actual >shown
diff - shown <<'END' || fail "alone: $(cat actual)"
   3.95ms and not ended  29749.643931404  vmm  0x556c8f3788f0  read  total  qemu-system-x86-5559
    7.00us dispatch
    37.0us vmm
    3.91ms backend, not ended
END

case="joined and not joined"
"$strata" io -f json --layer guest,vmm unjoined >found 2>err || fail "$(cat err)"
jq -e '([.rows[].key] | length == (unique | length)) and
    ([.rows[] | select(.key.layer == "guest" and .key.kind == "read") | {(.key.stage): .n}] | add |
     .total == 91 and ."total (guest only)" == 30 and ."device (guest only)" == 30 and .backend == 91 and
     .queue == 91 and ."queue (guest only)" == 30)' found >/dev/null || fail "$(cat found)"
# Where none of a kind is joined, there is nothing to distinguish.
jq -e '[.rows[] | select(.key.kind == "flush") | .key.stage] == ["total", "queue", "device", "guest"]' found >/dev/null ||
    fail "$(cat found)"
mv unjoined "un joined"
"$strata" io --slowest 1 "un joined" | grep -q "^  strata report --from [0-9.]* --until [0-9.]* 'un joined'$" || fail "no quotes"

case="which requests"
"$strata" io -f json --layer guest --longer 0.004 vm | python3 -c '
import json, sys
for row in json.load(sys.stdin)["rows"]:
    assert row["key"]["stage"] != "total" or row["min"] >= 4000000, row'
"$strata" io -f json --layer guest --task dd --sort sum vm | python3 -c '
import json, sys
rows = json.load(sys.stdin)["rows"]
assert {row["key"]["kind"] for row in rows} == {"read", "write", "flush"}, rows
assert [row["sum"] for row in rows] == sorted((row["sum"] for row in rows), reverse=True), rows'

case="one by one"
"$strata" io --events -f csv --layer guest,vmm vm >actual 2>err
[ "$(grep -c ',total' actual)" -eq 129 ] || fail "$(head -3 actual)"

case="as stacks, each time once"
for layers in guest,vmm vmm guest; do
    "$strata" io -f json --layer $layers vm >found 2>err || fail "$layers: $(cat err)"
    "$strata" io --folded --layer $layers vm >actual 2>err || fail "$layers: $(cat err)"
    python3 - found actual <<'END' || fail "$layers: the stacks are not the totals"
import collections, json, sys
rows = json.load(open(sys.argv[1]))["rows"]
totals, stacks = collections.Counter(), collections.Counter()
for row in rows:
    if row["key"]["stage"] == "total":
        totals[tuple(row["key"].values())[:3]] += row["sum"]
for line in open(sys.argv[2]):
    stack, ns = line.rsplit(" ", 1)
    *keys, stage = stack.split(";")
    assert stage != "total", line
    stacks[tuple(keys)] += int(ns)
assert len(totals) > 1 and totals == stacks, (totals, stacks)
END
done

case="nothing to measure"
status=0
"$strata" io -e 'sched_switch' vm >actual 2>err || status=$?
[ $status -eq 1 ] && [ ! -s actual ] || fail "exit status $status: $(cat actual)"
# What is selected has none; the trace may have some.
grep -q '^strata: no requests to disks are in this trace (.*), as far as it is selected by --event$' err &&
    ! grep -q 'strata record' err || fail "$(cat err)"
status=0
"$strata" io "$DATA/qemu/made/v2.simpletrace" --trace-events "$DATA/qemu/made/trace-events" >actual 2>err || status=$?
[ $status -eq 1 ] && [ ! -s actual ] || fail "exit status $status: $(cat actual)"
grep -q 'no requests to disks are in this trace.*strata record --for io' err || fail "$(cat err)"

case="options leave nothing"
# says MESSAGE ARGUMENT...: there are no rows.
says() {
    message=$1
    shift
    "$strata" "$@" -f json vm >actual 2>err && fail "$*: no status"
    grep -qx "strata: $message" err && [ "$(jq '.rows | length' actual)" -eq 0 ] || fail "$*: $(cat err)"
}
says "none of the 125 requests is of a task 'nosuch'" io --layer guest --task nosuch
says "none of the 125 requests is selected by --pid" io --layer guest --pid 999999
says "none of the 125 requests is of a task 'dd' and selected by --from, --cpu" io --layer guest --task dd --from +0 --cpu 9
says "none of the 125 requests is 1000 s long or longer" io --layer guest --longer 1000
says "none of the 125 requests is of a task 'dd' and 1000 s long or longer" io --layer guest --longer 1000 --task dd
says "none of the [0-9]* spans is of a task 'nosuch'" irq --layer guest --task nosuch
says "none of the [0-9]* spans is of a task 'nosuch'" latency --layer guest --task nosuch
says "none of the [0-9]* spans is 1000 s long or longer" latency --layer guest --longer 1000
says "none of the [0-9]* threads is of a task 'nosuch'" sched --layer guest --task nosuch
says "none of the [0-9]* threads is selected by --pid" sched --layer guest --pid 999999
says "none of the 2 CPUs is selected by --cpu" sched --layer guest --by cpu --cpu 77
"$strata" io --layer guest --task dd vm >actual 2>err && ! grep -q 'none of' err || fail "$(cat err)"

case="by keys"
"$strata" io -f json --layer guest,vmm vm >whole 2>err || fail "$(cat err)"
"$strata" io -f json --layer guest,vmm --by device,task,cpu vm >parts 2>err || fail "$(cat err)"
"$strata" report -f json --layer guest -e block_rq_issue,block_bio_queue vm >events 2>err
python3 - whole parts events <<'END' || fail "the parts are not the whole"
import collections, json, sys
whole, parts = (json.load(open(name))["rows"] for name in sys.argv[1:3])
events = [json.loads(line) for line in open(sys.argv[3])]
def add_up(rows):
    sums = collections.Counter()
    for row in rows:
        key = tuple(row["key"][name] for name in ("layer", "device", "kind", "stage"))
        for column in "n", "sum", "bytes":
            sums[key + (column,)] += row.get(column, 0)
    return sums
assert add_up(whole) == add_up(parts) and len(parts) > len(whole)
assert list(parts[0]["key"])[:6] == ["layer", "device", "kind", "task", "cpu", "stage"], parts[0]
assert all(isinstance(row["key"]["cpu"], int) for row in parts if row["key"]["layer"] == "guest"), "numbers as text"
issued, queued = collections.Counter(), {}
for e in events:
    if e.get("event") == "block_bio_queue":  # each flush as the other ones
        queued[e["fields"]["sector"] if e["fields"]["nr_sector"] else None] = e["comm"]
    elif "event" in e:
        at = None if e["fields"]["rwbs"].startswith("FF") else e["fields"]["sector"]
        issued[queued.pop(at, e["comm"]), e["cpu"]] += 1
found = collections.Counter()
for row in parts:
    if row["key"]["layer"] == "guest" and row["key"]["stage"] == "total":
        found[row["key"]["task"], row["key"]["cpu"]] += row["n"]
assert found and all(0 < n <= issued[key] for key, n in found.items()), (found, issued)
END
"$strata" io --layer guest --by task vm | head -n 1 | grep -q '^LAYER  *DEVICE  *KIND  *TASK  *STAGE ' || fail "headings"
"$strata" io --layer guest --by rwbs -f csv vm 2>err | grep -q ',read,R[A-Z]*,total' || fail "by a field: $(cat err)"
"$strata" io --folded --layer guest --by task vm | grep -q '^guest;254,0;read;dd;queue [0-9]*$' || fail "stacks"
# Of more values than are kept apart, none is lost.
"$strata" io -f json --layer guest,vmm --by sector vm >parts 2>err || fail "$(cat err)"
[ "$(jq '[.rows[] | select(.key.stage == "total") | .n] | add' parts)" = \
    "$(jq '[.rows[] | select(.key.stage == "total") | .n] | add' whole)" ] || fail "by sector"
status=0
"$strata" io --by task,cpu,pid vm >actual 2>err || status=$?
[ $status -eq 1 ] && [ ! -s actual ] && grep -q '^strata: rows have at most 2 keys beside layer' err || fail "$status: $(cat err)"
status=0
"$strata" io --by no_such_field vm >actual 2>err || status=$?
[ $status -eq 1 ] && [ ! -s actual ] && grep -q "no event of the trace has a field 'no_such_field'" err || fail "$status: $(cat err)"

case="a log by itself has microseconds"
"$strata" io -f json --trace-events vm/vmm/trace-events vm/vmm/trace.log >out 2>err || fail "$(cat err)"
jq -e '.rows | length > 0 and all(.error == 1000)' out >/dev/null || fail "$(cat out)"

# Lines are in their order, and a difference of their numbers is no duration.
case="a log without times"
grep -a virtio_blk vm/vmm/trace.log | sed 's/^[^:]*://' | head -n 200 >untimed.log
for verb in io latency; do
    "$strata" $verb -f json --slowest 2 --trace-events vm/vmm/trace-events untimed.log >out || fail "$verb"
    jq -e '(.rows | length > 0) and (.slowest | length == 0) and
           ([.rows[] | .n > 0 and .sum == null and .p50 == null and .share == null and .error == null] | all) and
           ([.notes[] | contains("has no times")] | any)' out >/dev/null || fail "$verb: $(cat out)"
done
"$strata" summary --trace-events vm/vmm/trace-events untimed.log >out || fail "summary"
grep -q 'events, in their order: the trace has no times' out || fail "summary: $(cat out)"
if grep -v 'Each character' out | grep -q ' ticks'; then fail "summary: $(cat out)"; fi
[ "$("$strata" stat -f json --trace-events vm/vmm/trace-events untimed.log | jq '[.rows[].intervals.p50_ticks // empty] | length')" -eq 0 ] ||
    fail "stat has intervals"
