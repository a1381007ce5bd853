#!/usr/bin/env python3
"""watch_families.py STRATA FAMILIES: in a directory with the captures of tests/lib/analysis_captures.sh.
watch_families.py STRATA --file=METRICS TRACE NAME...: the metrics in a file are those of the trace, and there are some of
what each NAME is about (exits, wakeups, vcpus, io, interrupts)."""
import json, re, subprocess, sys

strata, families = sys.argv[1:3]
tolerance = 1e-9


def count(windows, trace):
    return subprocess.run([families, str(windows), trace], check=True, capture_output=True, text=True).stdout


def read(out):
    """By name: {labels: value}; labels are a sorted tuple of pairs."""
    found = {}
    for line in out.splitlines():
        if line.startswith("#"):
            continue
        match = re.fullmatch(r"([a-z_]+)(?:\{(.*)\})? (\S+)", line)
        labels = tuple(sorted(re.findall(r'([a-z]+)="([^"]*)"', match[2] or "")))
        found.setdefault(match[1], {})[labels] = float(match[3])
    return found


def rows(verb, trace, *options):
    run = subprocess.run([strata, verb, "-f", "json", "--no-causal", *options, trace], capture_output=True, text=True)
    if run.returncode == 1 and re.search("^strata: .*no .* in th(is|e) trace", run.stderr, re.M):
        return []
    if run.returncode != 1 or "strata: none of the " not in run.stderr:
        run.check_returncode()
    return json.loads(run.stdout)["rows"]


def totals(found, name, *labels):
    """Sums of a family by some of its labels."""
    sums = {}
    for key, value in found.get(name, {}).items():
        key = tuple(dict(key)[label] for label in labels)
        sums[key] = sums.get(key, 0) + value
    return {key: value for key, value in sums.items() if value}


def same(what, ours, theirs):
    if ours.keys() != theirs.keys() or any(abs(ours[k] - theirs[k]) > tolerance * max(1, abs(theirs[k])) for k in ours):
        sys.exit(f"{what}:\n  metrics: {sorted(ours.items())}\n  verb:    {sorted(theirs.items())}")
    return len(ours)


def add(sums, key, value):
    if value:
        sums[key] = sums.get(key, 0) + value


def check_exits(trace, found):
    n, seconds = {}, {}
    for row in rows("exits", trace):
        add(n, (row["key"]["reason"],), row["n"])
        add(seconds, (row["key"]["reason"],), row["sum"] / 1e9 if row["n"] else 0)
    return (same("exits", totals(found, "strata_exits_total", "reason"), n) and
            same("time of exits", totals(found, "strata_exit_seconds_total", "reason"), seconds))


def check_wakeups(trace, found):
    n, seconds = 0, 0
    for row in rows("sched", trace, "--latency"):
        n += row["n"]
        seconds += row["n"] and row["sum"] / 1e9
    theirs = {(): n} if n else {}
    return (same("wake-ups", totals(found, "strata_wakeup_latency_seconds_count"), theirs) and
            same("time of wake-ups", totals(found, "strata_wakeup_latency_seconds_sum"), {(): seconds} if n else {}))


def check_io(trace, found):
    n, seconds, size = {}, {}, {}
    for row in rows("io", trace):
        key = row["key"]
        if key["stage"] == "total":
            key = key["layer"], key["device"], key["kind"]
            add(n, key, row["n"])
            add(seconds, key, row["sum"] / 1e9)
            add(size, key, row["bytes"])
    labels = "layer", "device", "kind"
    name = "strata_block_request_duration_seconds"
    return (same("requests", totals(found, name + "_count", *labels), n) and
            same("time of requests", totals(found, name + "_sum", *labels), seconds) and
            same("bytes", totals(found, "strata_block_request_bytes_total", *labels), size))


def check_interrupts(trace, found):
    n, seconds = {}, {}
    for row in rows("irq", trace):
        if row["key"]["kind"] in ("irq", "softirq"):
            add(n, (row["key"]["kind"],), row["n"])
            add(seconds, (row["key"]["kind"],), row["sum"] / 1e9)
    return (same("interrupts", totals(found, "strata_interrupts_total", "kind"), n) and
            same("time of interrupts", totals(found, "strata_interrupt_seconds_total", "kind"), seconds))


def of_no_vcpu(trace):
    """How long the threads of vCPUs ran in states that are not of a vCPU: before the run of their first kvm_entry, and after
    their virtual machine."""
    query = """SELECT e.vcpu_id, sum(s.duration_ns) AS ns FROM state s
        JOIN (SELECT DISTINCT pid, vcpu_id FROM host_kvm_entry) e ON s.id = e.pid
        WHERE s.kind = 'thread' AND s.layer = 'host' AND s.state = 'running' AND s.vcpu IS NULL GROUP BY 1"""
    r = subprocess.run([strata, "sql", "--format=json", "-c", query, trace], capture_output=True, text=True, check=False)
    if r.returncode != 0:
        assert "no such table" in r.stderr, r.stderr
    return [json.loads(line) for line in r.stdout.splitlines()]


def check_vcpus(trace, found):
    """What is known from kvm_entry and kvm_exit. A thread counts while it is known to run a vCPU: what is live cannot look back,
    as the verb does."""
    seconds = {}
    for row in of_no_vcpu(trace):
        add(seconds, (str(row["vcpu_id"]), "vmm"), -row["ns"] / 1e9)
    for row in rows("sched", trace, "--by", "vcpu"):
        for state in "guest", "vmm":
            add(seconds, (row["key"]["vcpu"], state), row.get(state, 0) / 1e9)
    ours = {key: value for key, value in totals(found, "strata_vcpu_seconds_total", "vcpu", "state").items()
            if key[1] in ("guest", "vmm")}
    return same("time of vCPUs", ours, seconds)


def check_buckets(found):
    for name in [name for name in found if name.endswith("_bucket")]:
        last = {}
        for key, value in found[name].items():
            labels = tuple(pair for pair in key if pair[0] != "le")
            assert value >= last.get(labels, 0), (name, key)
            last[labels] = value
        counts = found[name[:-len("bucket")] + "count"]
        assert last == counts, name


checks = {"exits": check_exits, "wakeups": check_wakeups, "vcpus": check_vcpus, "io": check_io,
          "interrupts": check_interrupts}
if families.startswith("--file="):
    found = read(open(families.partition("=")[2]).read())
    check_buckets(found)
    for name, check in checks.items():
        compared = check(sys.argv[3], found)
        if name in sys.argv[4:] and not compared:
            sys.exit(f"nothing to compare: {name}")
    sys.exit()
compared = set()
for trace in "kvm", "lossy", "perf.ctf", "vm", "guest":
    for windows in 1, 9:
        try:
            found = read(count(windows, trace))
            check_buckets(found)
            for name, check in checks.items():
                if check(trace, found):
                    compared.add((name, trace))
        except SystemExit as error:
            sys.exit(f"{trace}, {windows} windows: {error}")
# A verb rounds each row of a clock of 2.4 GHz to nanoseconds.
tolerance = 1e-7
for windows in 1, 9:
    found = read(count(windows, "xen"))
    check_buckets(found)
    assert check_exits("xen", found) and check_wakeups("xen", found)
    assert set(totals(found, "strata_exits_total", "machine", "vcpu")) == {("web", "0")}, found
    states = totals(found, "strata_vcpu_seconds_total", "machine", "vcpu")
    assert set(states) == {("Domain-0", "0"), ("Domain-0", "1"), ("web", "0")}, states
assert {("exits", "kvm"), ("exits", "perf.ctf"), ("wakeups", "kvm"), ("vcpus", "kvm"), ("wakeups", "vm"),
        ("io", "vm"), ("interrupts", "vm"), ("interrupts", "guest")} <= compared, compared
