"""What each verb prints, compared with the truth."""

import functools
import json
import subprocess

from disk import VmmFile
from truth import Difference, Truth, overlap
from verbs_io import check_io
from verbs_parts import check_by, check_stat, check_state_sums
from verbs_path import check_paths
from verbs_row import check_fates, check_row, contains, require
from verbs_summary import check_summary
from verbs_tight import check_spans, check_states
from verbs_who import check_wakers, check_who

WAITS = ("woken", "preempted")
SLEEPS = ("sleeping", "uninterruptible")


class Case:
    """A trace and what is true of it."""

    def __init__(self, strata, path, sources, is_directory=True):
        self.strata, self.path = strata, path
        self.vmm = next((source for source in sources if isinstance(source, VmmFile)), None)
        self.truths = {source.kernel.name: Truth(source) for source in sources if source != self.vmm}
        self.is_directory = is_directory
        host = self.truths["host"]
        # All that the host had was recorded, also while others have events before its first and after its last.
        firsts, lasts = zip(*((t.first - t.source.error_ns, t.last + t.source.error_ns) for t in self.truths.values()))
        if self.vmm:
            firsts, lasts = firsts + (self.vmm.records[0][0],), lasts + (self.vmm.records[-1][0],)
        host.window = min(max(lasts), host.source.end) - max(min(firsts), host.source.begin)

    def n_events(self, source):
        """Of the source of this name, or of the only one."""
        if source in self.truths or not self.vmm:
            return len(self.truths.get(source, self.truths["host"]).visible)
        return len(self.vmm.records)

    def of(self, truth):
        """Options that select a kernel."""
        return [f"--source={truth.kernel.name}"] if self.is_directory else []

    def run(self, *args, is_last=False):
        """IS_LAST: the paths are in ARGS."""
        command = [self.strata, *args, "--keep-going"] if is_last else [self.strata, *args, "--keep-going", self.path]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode not in (0, 1):
            raise Difference(f"{' '.join(command)}: exit status {result.returncode}: {result.stderr}")
        return result.stdout

    def json(self, *args):
        out = self.run(*args, "-f", "json", "--no-causal")
        return json.loads(out) if out else None

    @functools.cache
    def json_once(self, *args):
        return self.json(*args)

    def lines(self, *args):
        return [json.loads(line) for line in self.run(*args, "-f", "json", "--no-causal").splitlines()]


def check_listed(verb, case, truth, kinds, name_of):
    """Each span that is listed is a true one; those far from what is missing are. Returns the true ones by (kind, begin)."""
    listed = {}
    for line in case.lines(*verb, "--events", *case.of(truth)):
        kind, key = name_of(line["key"])
        begin, end = truth.time(line["begin_ns"]), truth.time(line["end_ns"])
        span = truth.spans.get((kind, begin))
        what = f"{' '.join(verb)} --events"
        require(span and span.end == end, f"{what}: there is none", line, span and span.end)
        require((span.key, span.cpu, span.pid) == (key or span.key, line["cpu"], line["pid"]), what, line)
        require((kind, begin) not in listed, f"{what}: twice", line)
        listed[kind, begin] = span
    for span in truth.kernel.spans:
        if (span.kind in kinds and span.end is not None and truth.first <= span.begin and span.end <= truth.last and
                not truth.is_near_gap(span.begin, span.end, None if span.kind == "exit" else span.cpu)):
            require((span.kind, span.begin) in listed, f"{verb}: {span.kind} {span.key} at {span.begin} is not counted")
    return listed


def check_rows(verb, truth, rows, listed):
    """The rows, by (kind, key), are those of what is listed."""
    spans = {}
    for span in listed.values():
        spans.setdefault((span.kind, span.key), []).append(span)
    require(set(rows) >= set(spans) and all(not rows[key]["n"] for key in set(rows) - set(spans)), f"{verb}: rows", set(rows) ^ set(spans))
    for key, row in rows.items():
        check_row(f"{verb} {key}", row, [(s.begin, s.end) for s in spans.get(key, [])])
        require(row["covered"] <= truth.last - truth.first + 2, f"{verb} {key}: covered", row["covered"], truth.last - truth.first)
    return spans


def check_exits(case):
    truth = case.truths["host"]
    result = case.json("exits", *case.of(truth))
    n_begins = truth.count("kvm_exit")
    if not result:
        require(n_begins == 0, f"exits: says nothing of {n_begins} exits")
        return
    listed = check_listed(["exits"], case, truth, ["exit"], lambda key: ("exit", key["reason"]))
    rows = {("exit", row["key"]["reason"]): row for row in result["rows"]}
    for (_, reason), spans in check_rows("exits", truth, rows, listed).items():
        what, row = f"exits {reason}", rows["exit", reason]
        if row["run"] is not None:
            unknown = row["sum"] - sum(row[column] or 0 for column in ("run", "wait", "sleep"))
            require(unknown == row["unknown"], f"{what}: unknown", row)
            for column, names in (("run", ("running",)), ("wait", WAITS), ("sleep", SLEEPS)):
                true = sum(overlap(truth.threads[s.pid].states, s.begin, s.end, names, truth.until) for s in spans)
                contains(f"{what}: {column}", row[column], unknown, true)
        vmm = [s.end - s.vmm_from for s in spans if s.vmm_from]
        if row.get("vmm_n") is not None:
            require((row["vmm_n"], row["vmm"]) == (len(vmm), sum(vmm)), f"{what}: VMM", row, vmm)
    check_fates("exits", result, len(listed), n_begins, truth.count("kvm_entry"))
    check_by(["exits"], case, truth, listed, lambda span: (span.key,))
    require(result["events"] == len(truth.visible), "exits: events", result["events"])
    for row in case.json("exits")["rows"]:
        require(row["covered"] <= truth.window + 100, "exits: covered", row["covered"], truth.window)


def check_irq(case, truth):
    result = case.json("irq", *case.of(truth))
    n_begins = truth.count("irq_handler_entry", "softirq_entry")
    if not result:
        require(n_begins == 0, f"irq: says nothing of {n_begins} interrupts")
        return
    listed = check_listed(["irq"], case, truth, ["irq", "softirq"], lambda key: (key["kind"], key["name"]))
    rows = {(row["key"]["kind"], row["key"]["name"]): row for row in result["rows"]}
    for key, spans in check_rows("irq", truth, rows, listed).items():
        row = rows[key]
        self_time = sum(s.end - s.begin - s.inner for s in spans)
        require(abs(row["self"] - self_time) <= 4 * len(spans), f"irq {key}: self {row['self']}, true {self_time}")
        # That of one that did not end counts, too; from the first raise that the trace has.
        delays = [s.begin - raises[0] for s in truth.kernel.spans if (s.kind, s.key) == key and s.begin <= truth.last and
                  (raises := [r for r in s.raises if r in truth.raises])]
        require(row["delay_n"] <= len(delays) and (row.get("delay_max") or 0) <= max(delays, default=0) + 2, f"irq {key}: delays", row, delays)
        if not truth.is_near_gap(truth.first, truth.last):
            require(row["delay_n"] == len(delays), f"irq {key}: delays", row, delays)
    check_by(["irq"], case, truth, listed, lambda span: (span.kind, span.key))
    check_fates("irq", result, len(listed), n_begins, truth.count("irq_handler_exit", "softirq_exit"))


def check_latency(case, truth):
    names = [name for name in ("irq", "softirq", "exit") if truth.count({"irq": "irq_handler_entry", "softirq": "softirq_entry", "exit": "kvm_exit"}[name])]
    if not names:
        return
    result = case.json("latency", *names, *case.of(truth))
    listed = check_listed(["latency", *names], case, truth, names, lambda key: (key["name"], None))
    for row in result["rows"]:
        name = row["key"]["name"]
        check_row(f"latency {name}", row, [(s.begin, s.end) for s in listed.values() if s.kind == name])
    check_by(["latency", *names], case, truth, listed, lambda span: (span.kind,))


def check_sql(case, truth):
    """The tables of states and of spans."""
    out = case.run("sql", "--format=json", *case.of(truth), "-c",
                   "SELECT kind, id, state, begin_ns, end_ns, cpu, begin_seen, end_seen FROM state", "-c",
                   "SELECT name, begin_ns, end_ns, cpu, pid, cut FROM span WHERE cut IS NULL")
    for line in out.splitlines():
        row = json.loads(line)
        begin, end = truth.time(row["begin_ns"]), truth.time(row["end_ns"])
        if "name" in row:
            if row["name"] in ("irq", "softirq", "exit"):
                span = truth.spans.get((row["name"], begin))
                require(span and (span.end, span.cpu, span.pid) == (end, row["cpu"], row["pid"]), "sql: span", row)
        elif row["state"] != "unknown":
            states = truth.kernel.cpus[row["id"]] if row["kind"] == "cpu" else truth.threads[row["id"]].states
            if row["kind"] == "cpu" and truth.begins_in_interrupt(row["id"], begin, end):
                continue
            names = WAITS if row["state"] == "runnable" else (row["state"],)
            true = overlap(states, begin, end, names, truth.until)
            require(abs(true - (end - begin)) <= 2, f"sql: state: {true} of {end - begin}", row)
            true = truth.state_at(states, begin)
            if row["begin_seen"]:
                require(true.begin == begin, "sql: state: begin_seen", row, true.begin)
            if row["end_seen"]:
                require(true.end == end, "sql: state: end_seen", row, true.end)


def states_of(truth, line, by):
    if by == "cpu":
        return truth.kernel.cpus[line["key"]["cpu"]]
    return truth.threads[line["pid"]].states


def check_state_events(case, truth, by):
    """Times in a state whose begin and end the trace has."""
    for line in case.lines("sched", "--by", by, "--events", *case.of(truth)):
        begin, end = truth.time(line["begin_ns"]), truth.time(line["end_ns"])
        states = states_of(truth, line, by)
        true = truth.state_at(states, begin)
        if by == "cpu" and truth.begins_in_interrupt(line["cpu"], begin, end):
            continue  # what is nested in one that began earlier
        require(true and (true.begin, true.end, true.state) == (begin, end, line["key"]["state"]),
                f"sched --by {by} --events", line, true and (true.begin, true.end, true.state))


def check_shares(what, row, truth, states):
    """RUN, WAIT and SLEEP, and what is unknown, of the time in which the source was recorded."""
    unknown = round(row["unknown_share"] * row["covered"]) + 2
    for column, names in (("run", ("running",)), ("wait", WAITS), ("sleep", SLEEPS)):
        true = overlap(states, truth.first, truth.last, names, truth.until)
        contains(f"{what}: {column}", row[column], unknown + row["covered"] * 1e-5, true, row)
    require(row["covered"] <= truth.last - truth.first + 1, f"{what}: covered", row["covered"], truth.last - truth.first)
    require(sum(row[c] or 0 for c in ("run", "wait", "sleep")) <= row["covered"] + 1, f"{what}: more than all", row)
    runs = [s for s in states if s.state == "running" and truth.first <= s.begin <= truth.last]
    require(row["runs"] <= len(runs), f"{what}: runs {row['runs']}, true {len(runs)}")
    for column in ("wake", "preempt"):
        waits = [s.end - s.begin for s in states if s.state == WAITS[column == "preempt"] and s.end is not None and
                 truth.first <= s.begin and s.end <= truth.last]
        require((row.get(f"{column}_n") or 0) <= len(waits) and (row.get(f"{column}_max") or 0) <= max(waits, default=0) + 2 and
                (row.get(f"{column}_sum") or 0) <= sum(waits) + 2 * len(waits), f"{what}: {column}", row, waits)


def check_sched(case, truth):
    result = case.json("sched", *case.of(truth))
    if not result:
        require(truth.count("sched_switch") == 0, "sched: says nothing")
        return
    for row in result["rows"]:
        thread = truth.threads[row["key"]["pid"]]
        names = truth.names.get(thread.pid, {"-"})  # of one that no event names, only that it runs is known
        require(row["key"]["task"] in names, "sched: task", row["key"], names)
        check_shares(f"sched {thread.comm}", row, truth, thread.states)
    for row in case.json("sched", "--by=cpu", *case.of(truth))["rows"]:
        cpu = row["key"]["cpu"]
        what, states = f"sched --by cpu: CPU {cpu}", truth.kernel.cpus[cpu]
        unknown = round(row["unknown_share"] * row["covered"]) + 2 + row["covered"] * 1e-5
        # An interrupt that began before what is known of a CPU counts as what it interrupted, if others are nested in it.
        nested = truth.begins_in_interrupt(cpu, truth.first, truth.last)
        for column, state in (("run", "running"), ("interrupt", "interrupt"), ("idle", "idle")):
            if row[column] is not None:
                true = overlap(states, truth.first, truth.last, (state,), truth.until)
                contains(f"{what}: {column}", max(0, row[column] - nested), unknown + 2 * nested, true, row)
    for by in "task", "cpu":
        check_state_events(case, truth, by)


def check_divided(what, row, running, in_guest, first, last, until):
    """What a vCPU ran is inside of its guest, outside, or not known to be either; RUNNING and IN_GUEST: its true times."""
    if row.get("run_unknown") is None:
        return
    parts = row["guest"] + row["vmm"] + row["run_unknown"]
    require(abs(parts - row["run"]) <= 2 + row["run"] * 1e-6, f"{what}: the parts of run are {parts}", row)
    unknown = row["run_unknown"] + round(row["unknown_share"] * row["covered"]) + 2 + row["covered"] * 1e-5
    ran = overlap(running, first, last, ("running",), until)
    inside = overlap(in_guest, first, last, ("guest",), until)
    contains(f"{what}: guest", row["guest"], unknown, inside, row)
    contains(f"{what}: vmm", row["vmm"], unknown, ran - inside, row)


def check_vcpus(case):
    """What became of the time of the host's threads that run vCPUs."""
    truth = case.truths["host"]
    guest = truth.kernel.machine.guest
    result = case.json("sched", "--by=vcpu", *case.of(truth)) if guest else None
    for row in result["rows"] if result else []:
        thread = guest.vcpus[int(row["key"]["vcpu"])]
        if row["key"]["layer"] == "host":
            check_divided(f"sched --by vcpu: {thread.comm}", row, thread.states, thread.in_guest, truth.first, truth.last, truth.until)


def check_all(strata, path, sources, is_directory=True):
    case = Case(strata, path, sources, is_directory)
    check_exits(case)
    check_io(case)
    check_vcpus(case)
    for truth in case.truths.values():
        for check in check_sched, check_who, check_wakers, check_irq, check_latency, check_stat, check_sql, check_state_sums:
            check(case, truth)
        for check in (check_spans, check_states) if len(case.truths) > 1 else ():
            check(case, truth)
    check_summary(case)
    check_paths(case)
    return case


def check_clock(strata, path, sources):
    """A clock of which causes and effects say that its stated error is false is said to be wrong where errors are printed."""
    case, lie = Case(strata, path, sources), sources[1].lie
    for verb in ["summary"], ["info"], ["exits"], ["latency"]:
        says = "contradict the stated error" in case.run(*verb)
        require(says == (lie != 0), f"{verb[0]}: the clock is wrong by {lie} ns, and this is {'' if says else 'not '}said")
    if not lie:
        for truth in case.truths.values():
            for check in check_sched, check_irq, check_latency:
                check(case, truth)


def check_rate(strata, path, sources):
    """Durations within a layer are true within the error that is stated of them."""
    case = Case(strata, path, sources)
    truth = case.truths["guest"]
    spans = {kind: sorted((s for s in truth.kernel.spans if s.kind == kind and s.end is not None and
                           truth.first <= s.begin and s.end <= truth.last), key=lambda s: s.begin) for kind in ("irq", "softirq")}
    kinds = [kind for kind in spans if spans[kind]]
    for options in ["--layer=guest"], ["--source=guest"], ["--layer=guest", "--causal"]:
        causal = options[-1] == "--causal"
        run = ["latency", *kinds, options[0], "-f", "json", *([] if causal else ["--no-causal"])]
        lines = [json.loads(line) for line in case.run(*run, "--events").splitlines()] if kinds else []
        for kind in kinds:
            listed = sorted((line for line in lines if line["key"]["name"] == kind), key=lambda line: line["begin_ns"])
            require(len(listed) == len(spans[kind]), f"{run}: {len(listed)} spans, not {len(spans[kind])}")
            for line, span in zip(listed, spans[kind]):
                off = line["end_ns"] - line["begin_ns"] - (span.end - span.begin)
                # The clock's ticks, and what is printed, are rounded.
                require(abs(off) <= line["error_ns"] + 2, f"{run}: off by {off}, not {line['error_ns']}", line, span.end - span.begin)
        for row in json.loads(case.run(*run))["rows"] if kinds else ():
            durations = [s.end - s.begin for s in spans[row["key"]["name"]]]
            for name, true in ("min", min(durations)), ("max", max(durations)), ("mean", sum(durations) / len(durations)):
                require(abs(row[name] - true) <= row["error"] + 2, f"{run}: {name} {row[name]}, not {true}", row)
