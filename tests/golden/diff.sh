#!/bin/sh
# strata diff: nothing changes from a trace to itself; all times do to a copy that took 1.1 times as long.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

xz -dc "$DATA/io/virtio-blk.tar.xz" | tar -x

case="the same trace"
for analysis in stat latency io irq; do
    "$strata" diff -f json vm vm $analysis >found 2>err || fail "$analysis: $(cat err)"
    python3 - found <<'END' || fail "$analysis"
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
assert rows
for row in rows:
    assert row["flag"] in ("", "?") and row["rate_change"] == 0, row
    assert all(value == 0 for key, value in row.items() if key.endswith("_change")), row
END
done

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
flags = {row["key"]["event"]: row["flag"] for row in stat}
assert flags == {"thread_pool_submit": "!", "thread_pool_complete": "!", "only_in_one": "-", "only_in_other": "+"}, flags
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

case="what cannot be read several times"
for input in "- xen.raw" "xen.raw -" "- -"; do
    status=0
    "$strata" diff $input <xen.raw >out 2>err || status=$?
    [ $status -eq 1 ] && [ ! -s out ] || fail "$input: exit status $status: $(cat out)"
    grep -qx 'strata: standard input: cannot be read several times, as diff does; copy it to a file, and name that' err ||
        fail "$input: $(cat err)"
done
mkfifo pipe
status=0
"$strata" diff xen.raw pipe >out 2>err || status=$?
[ $status -eq 1 ] && grep -q '^strata: pipe: cannot be read several times' err || fail "pipe: $(cat err)"

case="threads by their names"
"$strata" diff -f json vm vm sched >out 2>err || fail "$(cat err)"
grep -q '"state": *"running"' out || fail "$(head -5 out)"
grep -q '"pid"' out && fail "rows by pid: $(grep -m1 pid out)"
"$strata" diff --layer guest vm vm sched --fail 'sched.running.sum < 1%' >out 2>err && fail "no status"

case="by keys of events"
"$strata" diff --layer guest --by cpu -f json vm vm irq >out 2>err || fail "$(cat err)"
grep -q '"cpu": *"\?[01]"\?' out || fail "$(head -3 out)"
"$strata" diff --layer guest --by cpu vm vm irq >out 2>err || fail "$(cat err)"
head -1 out | grep -q ' CPU$' || fail "heading: $(head -1 out)"
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

case="nothing to compare"
"$strata" diff vm vm exits >out 2>err || fail "$(cat err)"
grep -qx 'strata: neither trace has what strata exits measures' err || fail "$(cat err)"
