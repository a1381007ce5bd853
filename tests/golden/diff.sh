#!/bin/sh
# strata diff: nothing changes from a trace to itself; all times do to a copy that took 1.1 times as long.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

xz -dc "$DATA/io/virtio-blk.tar.xz" | tar -x

case="the same trace"
for analysis in stat latency io irq; do
    "$strata" diff -f json vm vm $analysis >found 2>err || fail "$analysis: $(cat err)"
    "$strata" $analysis -f json vm >counts 2>err || fail "$analysis: $(cat err)"
    python3 - found counts $analysis <<'END' || fail "$analysis"
import json, sys
rows, counts = (json.load(open(path)) for path in sys.argv[1:3])
analysis = sys.argv[3]
numbers = {}
for row in counts["rows"]:
    key = row["key"] if "key" in row else row
    key = (key["layer"], key["event"]) if "event" in key else tuple(v for k, v in key.items() if not k.endswith("_value"))
    numbers[key] = row["n"] if "n" in row else row["count"]
assert rows["rows"]
n_same = 0
for row in rows["rows"]:
    assert row["verdict"] in ("same", "unknown") and row["rate_change"] == 0, row
    assert all(value == 0 for key, value in row.items() if key.endswith("_change")), row
    if numbers[tuple(row["key"].values())] >= 100:
        assert row["verdict"] == "same" and row.get("mean_low", 0) <= 0 <= row.get("mean_high", 0), row
        n_same += 1
assert n_same >= 1 or analysis == "irq", n_same
END
done

# CPU 1 has three times as many interrupts as CPU 0. Of the second trace nearly all of CPU 1 is lost, of the third 5 % of it: only of
# this can it be told how often something occurs.
case="a CPU that is missing"
python3 - <<'END'
import random
for name, begin, end in ("whole", 0, 0), ("missing", 20, 980), ("fewer", 500, 550):
    random.seed(1)
    lines = []
    for ms in range(1000):
        for cpu, n in (0, 1), (1, 3):
            for i in range(n):
                at = 1000 * ms + i * 250 + random.randrange(100)
                irq = "irq=28 name=once" if ms == 700 and cpu == 1 and i == 1 else "irq=27 name=virtio0"
                if cpu == 0 or not begin <= ms < end:
                    for after, event in (0, f"irq_handler_entry: {irq}"), (40, f"irq_handler_exit: {irq[:6]} ret=handled"):
                        lines.append((at + after, f"a-{7 + cpu} [00{cpu}] d.h.. 1.{at + after:06d}: {event}"))
        if ms == end and end > 0:
            lines.append((1000 * ms - 1, "CPU:1 [LOST 5000 EVENTS]"))
    with open(name, "w") as out:
        print("# tracer: nop\n#\n# entries-in-buffer/entries-written: 400/400   #P:2", file=out)
        for _, line in sorted(lines, key=lambda line: line[0]):
            print(line, file=out)
END
for analysis in stat irq; do
    for pair in "whole missing" "missing whole" "missing missing"; do
        # shellcheck disable=SC2086 # two words
        "$strata" diff -f json $pair $analysis >found 2>err || fail "$(cat err)"
        jq -e '(.rows | all(.key.name != "once" or .verdict == "unknown")) and (.rows | map(select(.key.name != "once")) | length > 0 and all(.rate_verdict == "unknown" and ($analysis == "irq" or .p50_verdict == "unknown"))) and
            (.notes[0] | test("^most of the time of a CPU is missing, or within losses, in .*: rates and sums cannot be compared$"))' --arg analysis $analysis found >out || fail "$analysis $pair: $(cat found)"
    done
    "$strata" diff -f json whole fewer $analysis >found 2>err || fail "$(cat err)"
    jq -e '.rows | map(select(.key.name != "once")) | length > 0 and all(.rate_verdict == "same")' found >out || fail "$analysis: $(cat found)"
done
"$strata" diff -f json --by cpu whole missing irq 2>err | jq -e '.rows | map(select(.key.name != "once")) | all(.rate_verdict == {"0": "same", "1": "unknown"}[.key.cpu | tostring])' >out ||
    fail "--by cpu: $("$strata" diff --by cpu whole missing irq)"
"$strata" diff whole missing irq 2>err | grep -q '^most of the time of a CPU is missing, or within losses, in B: ' || fail "not as text"
status=0
"$strata" diff --fail 'irq.virtio0.rate > +20%' whole missing irq >out 2>err || status=$?
[ $status -eq 1 ] && grep -q 'cannot be decided' err || fail "--fail: $status: $(cat err)"

case="one stage that takes a fifth longer"
cat >io-events <<'END'
virtio_blk_handle_read(void *vdev, void *req, uint64_t sector, size_t nsectors) "vdev %p req %p sector %"PRIu64" nsectors %zu"
blk_co_preadv(void *blk, void *bs, int64_t offset, int64_t bytes, int flags) "blk %p bs %p offset %"PRId64" bytes %" PRId64 " flags 0x%x"
thread_pool_submit(void *pool, void *req, void *opaque) "pool %p req %p opaque %p"
thread_pool_complete(void *pool, void *req, void *opaque, int ret) "pool %p req %p opaque %p ret %d"
virtio_blk_req_complete(void *vdev, void *req, int status) "vdev %p req %p status %d"
END
python3 - <<'END'
import random
for name, seed, slow in ("usual.log", 1, 1), ("again.log", 2, 1), ("slow.log", 3, 1.2):
    random.seed(seed)
    at = 10**9
    with open(name, "w") as log:
        for n in range(1, 2001):
            for median, text in ((100, f"virtio_blk_handle_read vdev 0x1 req {n:#x} sector {8 * n} nsectors 8"),
                                 (30, f"blk_co_preadv blk 0x1 bs 0x1 offset {4096 * n} bytes 4096 flags 0x0"),
                                 (60, f"thread_pool_submit pool 0x1 req {n:#x} opaque 0x1"),
                                 (90 * slow, f"thread_pool_complete pool 0x1 req {n:#x} opaque 0x1 ret 0"),
                                 (40, f"virtio_blk_req_complete vdev 0x1 req {n:#x} status 0")):
                at += max(1, round(median * random.lognormvariate(0, 0.4)))
                log.write("1@%d.%06d:%s\n" % (at // 10**6, at % 10**6, text))
END
for pair in "usual again:" "usual slow:backend total"; do
    logs=${pair%%:*}
    "$strata" diff -f json --trace-events io-events "${logs% *}.log" "${logs#* }.log" io >found 2>err || fail "$logs: $(cat err)"
    python3 - found "${pair#*:}" <<'END' || fail "$logs: $(cat found)"
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
assert len(rows) == 4, rows
assert {row["key"]["stage"] for row in rows if row["verdict"] == "changed"} == set(sys.argv[2].split())
assert all(row["verdict"] in ("changed", "same") and row["mean_low"] <= row["mean_change"] <= row["mean_high"] for row in rows)
changes = {row["key"]["stage"]: row for row in rows}
if sys.argv[2]:
    assert 0 < changes["backend"]["mean_low"] < 0.2 < changes["backend"]["mean_high"]
END
done
"$strata" diff --trace-events io-events usual.log slow.log io >out 2>err || fail "$(cat err)"
[ "$(tail -1 out)" = "2 changed, 2 the same (~), 0 undecided (?)" ] || fail "$(cat out)"
sed -n 2p out | grep -q ' +[12][0-9.]* ±[0-9.]* ' || fail "$(cat out)"

case="the same work after a longer boot"
cp -r vm short
sed -i '/@1795391587\./d' short/vmm/trace.log
for analysis in io irq latency; do
    "$strata" diff -f json --layer guest,vmm short vm $analysis >found 2>err || fail "$analysis: $(cat err)"
    python3 - found <<'END' || fail "$analysis"
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
rows = [row for row in rows if row["key"].get("layer", "guest") == "guest" and
        row["key"].get("name", "block") not in ("thread-pool", "virtio-blk")]
assert len(rows) >= 3, rows
for row in rows:
    assert row["rate_change"] == 0 and row.get("sum_change", 0) == 0, row
END
done
"$strata" diff short vm io --fail 'io.guest.read.total.rate > +1%' >out 2>err || fail "status $?: $(cat err)"

case="1.1 times as long"
cat >trace-events <<'END'
thread_pool_submit(void *pool, void *req, void *opaque) "pool %p req %p opaque %p"
thread_pool_complete(void *pool, void *req, void *opaque, int ret) "pool %p req %p opaque %p ret %d"
only_in_one(int n) "n %d"
only_in_other(int n) "n %d"
END
python3 - <<'END'
for name, scale, extra in ("a.log", 10, "only_in_one n 1"), ("b.log", 11, "only_in_other n 1"):
    with open(name, "w") as log:
        def put(at, text):
            at = at * scale
            log.write("1@%d.%06d:%s\n" % (1000 + at // 10**6, at % 10**6, text))
        put(0, extra)
        for n in range(1, 2001):
            put(n * 100, f"thread_pool_submit pool 0x1 req {n:#x} opaque 0x1")
            put(n * 100 + 20 + n % 7, f"thread_pool_complete pool 0x1 req {n:#x} opaque 0x1 ret 0")
END
"$strata" diff -f json --trace-events trace-events a.log b.log stat >stat 2>err || fail "$(cat err)"
"$strata" diff -f json --trace-events trace-events a.log b.log latency >latency 2>err || fail "$(cat err)"
python3 - stat latency <<'END' || fail "not 10 % more"
import json, sys
stat, latency = (json.load(open(path))["rows"] for path in sys.argv[1:])
verdicts = {row["key"]["event"]: row["verdict"] for row in stat}
assert verdicts == {"thread_pool_submit": "changed", "thread_pool_complete": "changed", "only_in_one": "only_a",
                    "only_in_other": "only_b"}, verdicts
for row in stat:
    if row["key"]["event"].startswith("thread"):
        assert abs(row["rate_change"] - (1 / 1.1 - 1)) < 0.001, row
        assert abs(row["max_change"] - 0.1) < 1e-6, row
        assert abs(row["p50_change"] - 0.1) < 0.035, row  # 1.6 % of each
[row] = latency
assert row["key"]["name"] == "thread-pool", row
assert abs(row["mean_change"] - 0.1) < 1e-6 and abs(row["max_change"] - 0.1) < 1e-6, row
assert abs(row["rate_change"] - (1 / 1.1 - 1)) < 0.001 and abs(row["sum_change"]) < 0.001, row
END

case="a clock without a rate"
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen.raw
"$strata" diff -f json --top 1 xen.raw xen.raw 2>err | grep -q '"p99_a_ticks":' || fail "$(cat err)"
"$strata" diff --top 1 xen.raw xen.raw 2>err | sed -n 2p | grep -q '[0-9][mun]*s ' && fail "ticks as seconds"

status=0
"$strata" diff xen.raw vm >out 2>err || status=$?
[ $status -eq 1 ] && [ ! -s out ] || fail "ticks and seconds: exit status $status: $(cat out)"
grep -qx 'strata: xen.raw: its clock rate is unknown, so its times cannot be compared with vm' err ||
    fail "ticks and seconds: $(cat err)"

case="what cannot be read once per analysis"
for input in "- xen.raw" "xen.raw -"; do
    status=0
    "$strata" diff $input stat sched <xen.raw >out 2>err || status=$?
    [ $status -eq 1 ] && [ ! -s out ] || fail "$input: exit status $status: $(cat out)"
    grep -qx 'strata: standard input: cannot be read once per analysis; copy it to a file, and name that' err ||
        fail "$input: $(cat err)"
done
status=0
"$strata" diff - - <xen.raw >out 2>err || status=$?
[ $status -eq 2 ] || fail "twice the standard input: exit status $status: $(cat out err)"
"$strata" diff -f json xen.raw xen.raw >expected 2>err || fail "$(cat err)"
"$strata" diff -f json - xen.raw <xen.raw >found 2>err || fail "$(cat err)"
cmp expected found || fail "standard input is another trace than the file"

# A condition looks at the change, decided or not; the message says that it is not.
case="--fail of an undecided change"
head -n 9 a.log >few-a.log
head -n 9 b.log >few-b.log
status=0
"$strata" diff --trace-events trace-events few-a.log few-b.log latency --fail 'latency.thread-pool.mean > +5%' >out 2>err || status=$?
[ $status -eq 4 ] || fail "status $status: $(cat err)"
grep -q '^thread-pool .*?' out || fail "it is decided: $(cat out)"
grep -q ': +10\.0% (undecided: too few spans)$' err || fail "$(cat err)"

case="threads by their names"
"$strata" diff -f json vm vm sched >out 2>err || fail "$(cat err)"
grep -q '"state": *"running"' out || fail "$(head -5 out)"
grep -q '"pid"' out && fail "rows by pid: $(grep -m1 pid out)"
"$strata" diff --layer guest vm vm sched --fail 'sched.running.sum < 1%' >out 2>err && fail "no status"

case="by keys of events"
"$strata" diff --layer guest --by cpu -f json vm vm irq >out 2>err || fail "$(cat err)"
grep -q '"cpu": *"\?[01]"\?' out || fail "$(head -3 out)"
"$strata" diff --layer guest --by cpu vm vm irq >out 2>err || fail "$(cat err)"
head -1 out | grep -q ' CPU ' || fail "heading: $(head -1 out)"
"$strata" diff --layer guest --by cpu vm vm io >out 2>err || fail "$(cat err)"
head -1 out | grep -q ' CPU ' || fail "heading: $(head -1 out)"
status=0
"$strata" diff --by cpu,pid,task,vcpu vm vm io >out 2>err || status=$?
[ $status -eq 1 ] && grep -q 'more keys than rows of io have room for' err || fail "status $status: $(cat err)"
status=0
"$strata" diff --by cpu vm vm irq sched 2>err || status=$?
[ $status -eq 2 ] && grep -q 'requires the analyses latency, io, irq or exits' err || fail "status $status: $(cat err)"

case="conditions"
run() {
    status=0
    "$strata" diff --trace-events trace-events a.log b.log latency "$@" >out 2>err || status=$?
    echo $status
}
[ "$(run --fail 'latency.thread-pool.mean > +9%')" -eq 4 ] || fail "did not fail: $(cat err)"
grep -qx 'strata: latency.thread-pool.mean > +9%: +10.0%' err || fail "$(cat err)"
[ "$(run --fail 'latency.thread-*.mean > +11%' --fail 'latency.thread-pool.rate < -50%')" -eq 0 ] || fail "$(cat err)"
[ "$(run --fail 'latency.thread-pool.rate < -5%')" -eq 4 ] || fail "$(cat err)"
[ "$(run --fail 'latency.none.mean > 1%')" -eq 1 ] || fail "no row, and no error"
[ "$(run --fail 'latency.mean > 1%')" -eq 2 ] || fail "$(cat err)"
[ "$(run --fail 'latency.thread-pool.mode > 1%')" -eq 2 ] || fail "$(cat err)"
for limit in nan inf 1e400 -inf; do
    [ "$(run --fail "latency.thread-pool.mean > $limit%")" -eq 2 ] || fail "$limit: $(cat err)"
done
[ "$(run --fail 'latency.thread-pool.mean > 9%, or so')" -eq 2 ] || fail "$(cat err)"
[ "$(run nonesuch)" -eq 2 ] || fail "$(cat err)"
"$strata" diff --layer guest vm vm io --fail 'io.read.total.p99 < 1%' >out 2>err && fail "no status"
[ "$(grep -c 'io.read.total.p99' err)" -eq 1 ] || fail "$(cat err)"

case="the same kernel at another address"
. "$here/../lib/kernel_capture.sh"
kernel_capture local first
kernel_capture local second
rm first/guest/proc/kallsyms second/guest/proc/kallsyms
python3 - second/cpu*.raw <<'END'
import sys
for path in sys.argv[1:]:
    data = open(path, "rb").read()
    for address in (0xffffffff81168830, 0xffffffff81153510):
        data = data.replace(address.to_bytes(8, "little"), (address + 0x1a00000).to_bytes(8, "little"))
    open(path, "wb").write(data)
END
"$strata" irq -f csv second 2>/dev/null | grep -q '0xffffffff82b68830' || fail "nothing has moved"
"$strata" diff -f json first second irq >found 2>err || fail "$(cat err)"
grep -q '"name":"0xffffffff81168830"' found || fail "$(cat found)"
grep -q 'only_[ab]\|0xffffffff82' found && fail "$(cat found)"
"$strata" diff first second irq >out 2>err || fail "$(cat err)"
grep -qx '2 functions moved with their kernel; their addresses are those in A' out || fail "$(cat out)"

# What can be read is compared, as other verbs show it.
case="damaged"
xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot.trace
head -c 1600000 boot.trace >damaged.trace
"$strata" diff boot.trace damaged.trace >out 2>err && fail "no status"
grep -q '^strata: damaged.trace: offset 1[0-9]*: the file ends within a record' err || fail "$(cat err)"
grep -q '^vmm  *serial_read ' out || fail "$(cat out)"
cp -r vm without
rm without/vmm/trace.log
"$strata" diff vm without io >out 2>err && fail "no status"
grep -q "^strata: the source 'vmm' cannot be shown: " err || fail "$(cat err)"
grep -q '^guest  254,0 ' out || fail "$(cat out)"

case="nothing to compare"
"$strata" diff vm vm exits >out 2>err && fail "no status"
grep -qx 'strata: neither trace has what strata exits measures' err || fail "$(cat err)"
