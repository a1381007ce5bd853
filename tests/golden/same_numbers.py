#!/usr/bin/env python3
"""same_numbers.py STRATA FAMILIES CONDITION SEED...: a number is the same whatever shows it. On made machines whose host and
guest are recorded, these are compared: what became of the time of vCPUs, by sched, summary, sql, top, metrics, conditions of
--on and the page; exits and interrupts, by their verbs, summary, sql, metrics, top, --on and the page; lost events, by all
that show them; what CPUs did whose data end before the trace, by sched, sql and the page."""
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
import page
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


def make(seed, loses=False, host_part=1):
    shutil.rmtree(TRACE, ignore_errors=True)
    os.mkdir(TRACE)
    rng = random.Random(seed)
    # More vCPUs than CPUs, so that they wait for each other.
    made = machine.Machine(rng, 2, 3, 4)
    end = 40 * machine.MILLI
    made.run(end + machine.MILLI)
    sources = [Source(made.host, 0, int(end * host_part)), Source(made.guest, 0, end)]
    if loses:
        pages = len(sources[0].cpus[1])
        sources[0].lose(1, pages // 5, pages * 2 // 5, True)
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


def read_metrics(windows):
    """Values by name and labels."""
    found = {}
    for name, labels, value in re.findall(r'^(strata_\w+)\{(.*)\} (\S+)$', output(families, str(windows), TRACE), re.M):
        found[name, tuple(sorted(re.findall(r'(\w+)="([^"]*)"', labels)))] = float(value)
    return found


def total(found, name, label):
    """Sums of a metric by the values of one label."""
    sums = {}
    for (key, labels), value in found.items():
        if key == name:
            sums[dict(labels)[label]] = sums.get(dict(labels)[label], 0) + round(value)
    return sums


def check_metrics(sched, windows):
    found = {}
    for (name, labels), value in read_metrics(windows).items():
        if name == "strata_vcpu_seconds_total":
            found[int(dict(labels)["vcpu"]), dict(labels)["state"]] = round(value * 1e9)
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


# ---- Exits and interrupts: those that have ended ----

def read_counts(verb, *labels):
    rows = json.loads(output(strata, verb, "-f", "json", "--no-causal", TRACE))["rows"]
    counts = {}
    for row in rows:
        if row["n"] and all(label in row["key"] for label in labels):
            key = tuple(row["key"][label] for label in labels)
            counts[key] = counts.get(key, 0) + row["n"]
    return counts


def equal(what, ours, theirs):
    if ours != theirs:
        sys.exit(f"{what}: {sorted(ours.items())}, of the verb: {sorted(theirs.items())}")


def summary_counts(analysis, *labels):
    result = json.loads(output(strata, "summary", "-f", "json", "--no-causal", TRACE))
    (part,) = [part["result"] for part in result["results"] if part["result"]["analysis"] == analysis]
    return {tuple(row["key"][label] for label in labels): row["n"] for row in part["rows"]}


def sql_counts(query):
    out = output(strata, "sql", "--no-causal", "--format=json", "-c", query, TRACE)
    return {(row["name"],): row["n"] for row in map(json.loads, out.splitlines())}


def by_first(counts):
    sums = {}
    for key, n in counts.items():
        sums[key[:1]] = sums.get(key[:1], 0) + n
    return sums


def check_counts(metrics, shown):
    exits = read_counts("exits", "reason")
    interrupts = {key: n for key, n in read_counts("irq", "kind", "name").items() if key[0] in ("irq", "softirq")}
    assert exits and len(by_first(interrupts)) == 2, interrupts
    equal("exits of summary", summary_counts("exits", "reason"),
          {key: exits[key] for key in summary_counts("exits", "reason")})
    equal("interrupts of summary", summary_counts("irq", "kind", "name"),
          {key: interrupts.get(key) for key in summary_counts("irq", "kind", "name")})
    equal("exits of sql", sql_counts("SELECT name, count(*) AS n FROM span WHERE name = 'exit' AND cut IS NULL GROUP BY 1"),
          {("exit",): sum(exits.values())})
    equal("interrupts of sql", sql_counts("SELECT name, count(*) AS n FROM span WHERE name IN ('irq', 'softirq') "
                                          "AND cut IS NULL GROUP BY 1"), by_first(interrupts))
    equal("exits of metrics", total(metrics, "strata_exits_total", "reason"), {key[0]: n for key, n in exits.items()})
    equal("interrupts of metrics", total(metrics, "strata_interrupts_total", "kind"),
          {key[0]: n for key, n in by_first(interrupts).items()})
    equal("exits of the page", shown.count(r"exit: (.*)"), {key[0]: n for key, n in exits.items()})
    equal("interrupts of the page", shown.count(r"((?:soft)?irq .*)"),
          {f"{kind} {name}": n for (kind, name), n in interrupts.items()})
    return exits


def check_exits_of_top(exits, length):
    screen = output(strata, "top", "--batch", "--iterations", "1", "-d", "3", TRACE)
    rows = dict(re.findall(r"^(\S+) +(\d+)\+?(?: +\S+){3}$", screen.partition("EXITS BY REASON")[2], re.M))
    equal("exits of top", rows, {reason: f"{n * 1e9 / length:.0f}" for (reason,), n in exits.items()})


def check_begun(first, last):
    """Exits that have begun, ended or not: of stat, sql and --on."""
    rows = json.loads(output(strata, "stat", "-f", "json", "--no-causal", TRACE))["rows"]
    (n,) = [row["count"] for row in rows if row["event"] == "kvm_exit"]
    equal("events of sql", sql_counts("SELECT 'n' AS name, count(*) AS n FROM host_kvm_exit"), {("n",): n})
    said = output(condition, "exits > 1/s", TRACE, str(first - 1), str(last))
    equal("exits of --on", {"rate": said.split()[0]}, {"rate": f"{n * 1e9 / (last - first + 1):.0f}"})


# ---- The page ----

def check_page(sched, shown):
    for number, row in sched.items():
        states = shown.states(number)
        waits = sum(states.get(name, 0) for name in ("woken", "preempted", "runnable"))
        sleeps = sum(states.get(name, 0) for name in ("sleeping", "uninterruptible"))
        same("the page", number, {"run": states.get("running", 0), "wait": waits, "sleep": sleeps}, row)


def check_end(seed):
    """Where the host's events end before the guest's: what each CPU of the host did up to then, by sched, sql and the page. From
    then on to the end of the trace, the page draws it as unknown."""
    make(seed, host_part=0.7)
    query = ("SELECT id, state, sum(duration_ns) AS n, max(end_ns) AS until FROM state WHERE kind = 'cpu' AND layer = 'host' "
             "GROUP BY 1, 2")
    rows = list(map(json.loads, output(strata, "sql", "--no-causal", "--format=json", "-c", query, TRACE).splitlines()))
    result = json.loads(output(strata, "sched", "--by", "cpu", "-f", "json", "--no-causal", TRACE))["rows"]
    cpus = {row["key"]["cpu"]: row for row in result if row["key"]["layer"] == "host"}
    assert len(cpus) == 2, result
    with page.Page(strata, TRACE) as shown:
        end = max(row["until"] for row in rows) - int(shown.trace["begin_ns"])
        duration = shown.trace["duration"]
        assert duration - end > 5 * machine.MILLI, (end, duration)
        for number, cpu in cpus.items():
            of_sql = {row["state"]: row["n"] for row in rows if row["id"] == number}
            equal(f"CPU {number} in sql", {name: n for name, n in of_sql.items() if name != "unknown"},
                  {state: cpu[name] for state, name in (("running", "run"), ("interrupt", "interrupt"), ("idle", "idle"))
                   if cpu[name]})
            tracks = [track for track in shown.trace["tracks"] if track.get("layer") == "host" and track.get("cpu") == number]
            (states,) = [track for track in tracks if track["kind"] == "states"]
            (threads,) = [track for track in tracks if track["id"] == states["parent"]]
            with_end = of_sql | {"unknown": of_sql.get("unknown", 0) + duration - end}
            equal(f"CPU {number} on the page", {name: row["total"] for name, row in shown.statistics([states])}, with_end)
            equal(f"the end of CPU {number} on the page",
                  {name: row["total"] for name, row in shown.statistics([threads], begin=end) if row["total"]},
                  {"unknown": duration - end})


# ---- Losses ----

def check_lost(first, last):
    lost = {}
    for verb in "exits", "irq", "sched", "summary", "stat", "latency":
        lost[verb] = json.loads(output(strata, verb, "-f", "json", "--no-causal", TRACE))["lost"]["events"]
    out = output(strata, "report", "-f", "json", "--no-causal", TRACE)
    lost["report"] = sum(item["lost"] for item in map(json.loads, out.splitlines()) if "lost" in item)
    (row,) = sql_counts("SELECT 'lost' AS name, sum(lost) AS n FROM loss").values()
    lost["sql"] = row
    sources = map(json.loads, output(strata, "info", "-f", "json", TRACE).splitlines())
    lost["info"] = sum(source["lost"]["events"] for source in sources if "lost" in source)
    lost["top"] = int(re.search(r"^host +host +\S+ +\S+ +(\d+) ", output(strata, "top", "--batch", "--iterations", "1", "-d",
                                                                     "3", TRACE), re.M)[1])
    lost["--on"] = int(output(condition, "lost > 1", TRACE, str(first - 1), str(last)).split()[0])
    with page.Page(strata, TRACE) as shown:
        lost["the page"] = shown.trace["lost"]
    if set(lost.values()) != {lost["exits"]} or not lost["exits"]:
        sys.exit(f"lost events: {lost}")


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
        with page.Page(strata, TRACE) as shown_page:
            check_page(rows, shown_page)
            counts = check_counts(read_metrics(3), shown_page)
        check_exits_of_top(counts, last - first)
        check_begun(first, last)
        check_end(int(seed))
        check_lost(*make(int(seed), True))
        # A loss makes time unknown, in all of them.
        rows = read_sched()
        check_summary(rows)
        check_sql(rows)
        check_metrics(rows, 3)
        check_top(rows, last - first)
        with page.Page(strata, TRACE) as shown_page:
            check_page(rows, shown_page)
    except SystemExit as error:
        sys.exit(f"seed {seed}: {error}")
assert stolen > 0
