#!/usr/bin/env python3
"""vcpu_time.py STRATA FAMILIES CONDITION SEED...: what became of the time of vCPUs is one number, whatever shows it: sched,
summary, sql, top, metrics and conditions of --on are compared on made machines whose host and guest are recorded."""
import json
import os
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../simulation"))
import kernel_files
import machine
from recording import BASE, Source

strata, families, condition = sys.argv[1:4]
TRACE = "made"

# Ticks of a vCPU by the states of its thread and of the guest's CPU that it is.
SQL = """SELECT t.vcpu,
    sum(CASE WHEN t.state IN ('woken', 'preempted', 'runnable') AND c.state IN ('running', 'interrupt') THEN 1 ELSE 0 END *
        (min(t.end_ns, c.end_ns) - max(t.begin_ns, c.begin_ns))) AS stolen,
    sum(CASE WHEN t.state IN ('woken', 'preempted', 'runnable') AND c.state = 'idle' THEN 1 ELSE 0 END *
        (min(t.end_ns, c.end_ns) - max(t.begin_ns, c.begin_ns))) AS stolen_idle
    FROM state t JOIN state c ON c.kind = 'cpu' AND c.layer = 'guest' AND c.id = t.vcpu
        AND c.begin_ns < t.end_ns AND c.end_ns > t.begin_ns
    WHERE t.kind = 'thread' AND t.layer = 'host' AND t.vcpu IS NOT NULL GROUP BY 1"""
# Before its first event, it is not known that a thread runs a vCPU.
SQL_THREADS = """SELECT max(vcpu) AS vcpu, sum(duration_ns) FILTER (WHERE state = 'running') AS run,
    sum(duration_ns) FILTER (WHERE state IN ('woken', 'preempted', 'runnable')) AS wait,
    sum(duration_ns) FILTER (WHERE state IN ('sleeping', 'uninterruptible')) AS sleep
    FROM state WHERE kind = 'thread' AND layer = 'host' GROUP BY id HAVING max(vcpu) IS NOT NULL"""
SQL_EARLY = """SELECT max(vcpu) AS vcpu, coalesce(sum(duration_ns) FILTER (WHERE vcpu IS NULL AND
    state IN ('woken', 'preempted', 'runnable')), 0) AS wait
    FROM state WHERE kind = 'thread' AND layer = 'host' GROUP BY id HAVING max(vcpu) IS NOT NULL"""


def output(*words):
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"{' '.join(words)}: exit status {run.returncode}: {run.stderr}")
    return run.stdout


def same(what, number, ours, sched):
    for name in ours:
        if ours[name] != sched[name]:
            sys.exit(f"{what}, {name} of vCPU {number}: {ours[name]}, of sched: {sched[name]}")


def make(seed):
    shutil.rmtree(TRACE, ignore_errors=True)
    os.mkdir(TRACE)
    rng = random.Random(seed)
    # More vCPUs than CPUs, so that they wait for each other.
    made = machine.Machine(rng, 2, 3, 4)
    end = 40 * machine.MILLI
    made.run(end + machine.MILLI)
    sources = [Source(made.host, 0, end), Source(made.guest, 0, end)]
    kernel_files.write_manifest(TRACE, [source.write(TRACE) for source in sources])
    events = [event for source in sources for event in source.events()]
    return BASE + min(event.time for event in events), BASE + max(event.time for event in events)


def read_sched():
    rows = json.loads(output(strata, "sched", "--by", "vcpu", "-f", "json", "--no-causal", TRACE))["rows"]
    return {int(row["key"]["vcpu"]): row for row in rows if row["key"]["layer"] == "host"}


def check_summary(sched):
    result = json.loads(output(strata, "summary", "-f", "json", "--no-causal", TRACE))
    rows = [row for part in result["results"] for row in part["result"]["rows"] if "stolen" in row and "vcpu" in row["key"]]
    assert rows, result
    for row in rows:
        number = int(row["key"]["vcpu"])
        same("summary", number, {name: row[name] for name in NAMES if name in row}, sched[number])
    return len(rows)


def ask(query):
    out = output(strata, "sql", "--no-causal", "--format=json", "-c", query, TRACE)
    rows = [json.loads(line) for line in out.splitlines()]
    return {int(row.pop("vcpu")): row for row in rows}


def check_sql(sched):
    for query in SQL, SQL_THREADS:
        for number, row in ask(query).items():
            same("sql", number, row, sched[number])


def check_metrics(sched, windows):
    found = {}
    for vcpu, state, value in re.findall(r'^strata_vcpu_seconds_total\{.*vcpu="(\d+)",state="(\w+)"\} (\S+)',
                                         output(families, str(windows), TRACE), re.M):
        found[int(vcpu), state] = round(float(value) * 1e9)
    names = {"guest": "guest", "vmm": "vmm", "stolen": "stolen", "stolen_idle": "stolen_idle", "halted": "sleep"}
    for number, row in sched.items():
        for state, name in names.items():
            same(f"metrics of {windows} windows", number, {name: found.get((number, state), 0)}, row)


def check_top(sched, length):
    screen = output(strata, "top", "--batch", "--iterations", "1", "-d", "3", TRACE)
    rows = re.findall(r"^\S+ +(\d+)((?: +[0-9.]+\+?| +-){8})$", screen, re.M)
    assert len(rows) == len(sched), screen
    names = "run", "guest", None, None, "wait", "stolen", "sleep", None
    for number, row in rows:
        for name, value in zip(names, row.split()):
            if name:
                percent = f"{sched[int(number)][name] / length * 100:.1f}"
                same("top", number, {name: value.rstrip("+")}, {name: percent})


def check_on(sched, first, last):
    length = last - first
    early = {number: row["wait"] for number, row in ask(SQL_EARLY).items()}
    most = max(row["stolen"] + row["stolen_unknown"] - early[number] for number, row in sched.items())
    said = output(condition, f"stolen vcpu > 0.1% for {length}ns", TRACE, str(first), str(last))
    percent = re.match(r"([0-9.]+)% of ", said)
    assert percent, said
    if percent[1] != f"{most * 100 / length:.1f}":
        sys.exit(f"--on: {said}, of sched: {most * 100 / length}")


NAMES = "run", "wait", "sleep", "guest", "vmm", "stolen", "stolen_idle", "stolen_unknown"
stolen = 0
for seed in sys.argv[4:]:
    first, last = make(int(seed))
    rows = read_sched()
    stolen += sum(row["stolen"] for row in rows.values())
    try:
        check_summary(rows)
        check_sql(rows)
        for n_windows in 1, 7:
            check_metrics(rows, n_windows)
        check_top(rows, last - first)
        check_on(rows, first, last)
    except SystemExit as error:
        sys.exit(f"seed {seed}: {error}")
assert stolen > 0
