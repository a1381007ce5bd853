#!/bin/sh
# JSON and CSV hold what the text holds, for every kind of trace; stat and info count the same.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

. "$here/../lib/kernel_capture.sh"
kernel_capture local guest
xz -dc "$DATA/qemu/stock-qemu.log.xz" >boot.log
xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot.trace
xz -dc "$DATA/xen/xen-4.17-no-guest-class.raw.xz" >xen.raw

cat >check.py <<'END'
import csv, io, json, subprocess, sys

strata = sys.argv[1]


def run(*words):
    return subprocess.run([strata, *words], capture_output=True, check=True).stdout


def quantile(values, share):
    values = sorted(values)
    return values[max(0, -(-len(values) * share // 1000) - 1)]


def check_stat(path, events, by, key):
    stat = json.loads(run("stat", "-fjson", "--by", by, path))
    times = {}
    for event in events:
        times.setdefault(key(event), []).append(event.get("time_ns", event.get("ticks")))
    rows = {key(row): row for row in stat["rows"]}
    assert rows.keys() == times.keys()
    counts = [row["count"] for row in stat["rows"]]
    assert counts == sorted(counts, reverse=True)
    unit = "ns" if "time_ns" in events[0] else "ticks"
    for name, row in rows.items():
        own = times[name]
        distances = [b - a for a, b in zip(own, own[1:])]
        assert row["count"] == len(own)
        assert abs(row["share"] - len(own) / len(events)) < 1e-5
        if distances:
            assert row["intervals"]["max_" + unit] == max(distances)
            for share in 500, 900, 990:
                exact = quantile(distances, share)
                told = row["intervals"]["p%d_%s" % (share // 10, unit)]
                assert abs(told - exact) <= exact / 64 + 1, (name, share, told, exact)
        else:
            assert "intervals" not in row
    assert stat["events"] == len(events)
    return stat


NAMED = {
    "guest": {("sched_switch", "prev_state", 1, "S"), ("sched_switch", "prev_state", 0, "R"),
              ("softirq_entry", "vec", 9, "RCU"), ("kmalloc", "gfp_flags", 3520, "GFP_KERNEL|__GFP_ZERO")},
    "xen.raw": {("hypercall", "op", 23, "iret")},
}
for path in sys.argv[2:]:
    named = set()
    text = run("report", path).decode().splitlines()
    items = [json.loads(line) for line in run("report", "-fjson", path).decode().splitlines()]
    table = run("report", "-fcsv", path).decode()
    assert table.count("\n") == table.count("\r\n")
    rows = list(csv.DictReader(io.StringIO(table, newline="")))
    assert len(text) == len(items) == len(rows) > 1000
    for line, item, row in zip(text, items, rows):
        time = str(item["ticks"]) if "ticks" in item else "%d.%09d" % divmod(item["time_ns"], 10**9)
        words = line.split()
        assert words[0] == row["time"] == time
        assert words[1] == ("[%03d]" % item["cpu"] if "cpu" in item else "[---]")
        assert row["cpu"] == str(item.get("cpu", "")) and row["pid"] == str(item.get("pid", ""))
        if "lost" in item:
            assert words[2:5] == ["-", "LOST:", str(item["lost"])] and row["lost"] == words[4]
            continue
        task = str(item["pid"]) if "pid" in item else item.get("vcpu", "-")
        if "comm" in item:
            task = item["comm"] + "-" + task
        assert line.partition("] ")[2].lstrip().startswith(f"{task} {item['event']}:"), (line, item)
        assert line.partition(": ")[2] == row["text"]
        assert json.loads(row["fields"]) == item["fields"] and row["event"] == item["event"]
        # What the text calls a value is there beside the value.
        assert json.loads(row["names"] or "{}") == item.get("names", {})
        for field, name in item.get("names", {}).items():
            assert name and name in row["text"] and isinstance(item["fields"][field], int), (line, item)
            named.add((item["event"], field, item["fields"][field], name))
        assert row["group"] == item.get("group", "") and row["layer"] == item["layer"]

    assert NAMED.get(path, set()) <= named, (path, named)
    events = [item for item in items if "event" in item]
    lost = sum(item["lost"] for item in items if "lost" in item)
    stat = check_stat(path, events, "event", lambda e: e["event"])
    check_stat(path, events, "cpu", lambda e: e.get("cpu"))
    check_stat(path, events, "task", lambda e: e.get("pid", e.get("vcpu")))
    info = json.loads(run("info", "-fjson", path))
    assert info["events"] == len(events) and info["classes"] == len(stat["rows"])
    assert info["lost"]["events"] == stat["lost"]["events"] == lost
    assert info["lost"]["places"] == len(items) - len(events)
END
python3 check.py "$STRATA_BIN/strata" guest boot.log boot.trace xen.raw

# Numbers are exact and strings are whole, whatever a program put into them.
"$STRATA_BIN/strata" report -fjson "$DATA/qemu/made/v4.simpletrace" \
    --trace-events "$DATA/qemu/made/trace-events" >made.json
python3 -c 'import json, sys
for line in open("made.json"): json.loads(line)'
"$STRATA_BIN/strata" report -fcsv "$DATA/qemu/made/v4.simpletrace" \
    --trace-events "$DATA/qemu/made/trace-events" >made.csv
