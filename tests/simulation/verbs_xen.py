"""What the verbs print of a made Xen, compared with the truth."""

import json
from bisect import bisect_right

from truth import overlap
from verbs import Case, check_divided
from verbs_row import check_fates, check_row, contains, require
from verbs_summary import check_summary

OPTIONS = ["--cpu-hz=1000000000", "--cpu-vendor=amd", "--xen-version=4.17"]
WAITS = ("woken", "preempted")
NAMES = {"io": "ioio"}


class XenTruth:
    def __init__(self, file):
        self.file = file
        self.visible = file.visible()
        self.first, self.last = self.visible[0].time, self.visible[-1].time
        # Each CPU is recorded from its first record to its last.
        recorded = [records for records in file.cpus if records]
        self.all_since = max(records[0].time for records in recorded)
        self.all_until = min(records[-1].time for records in recorded)
        self.vcpus = {v.name: v for v in file.xen.vcpus}
        self.spans = {s.begin: s for s in file.xen.spans}
        self.n_begins = sum(r.data[0] == 2 and r.data[2] & 0xf == 8 for r in self.visible)
        self.n_ends = sum(r.data[0] == 1 and r.data[2] & 0xf == 8 for r in self.visible)

    def is_near_gap(self, begin, end):
        return any((until is None or until >= begin) and since <= end for _, since, until in self.file.gaps)

    def is_recorded(self, span):
        """Whether no CPU on which SPAN may have ended is without records meanwhile: any, or if its vCPU stays where it is, that one."""
        states = self.vcpus[span.pid].states
        stays = overlap(states, span.begin, span.end, ("running",), self.file.end) == span.end - span.begin
        return stays or (self.all_since <= span.begin and span.end <= self.all_until)


class XenCase(Case):
    def __init__(self, strata, path, truth):
        self.strata, self.path, self.truth = strata, path, truth

    def n_events(self, source):
        return len(self.truth.visible)

    def run(self, *args, is_last=False):
        return super().run(*args, *OPTIONS, is_last=is_last)


def check_exits(case, truth):
    result = case.json("exits")
    if not result:
        require(truth.n_begins == 0, "exits: says nothing")
        return
    listed = {}
    for line in case.lines("exits", "--events"):
        span = truth.spans.get(line["begin_ns"])
        require(span and span.end == line["end_ns"], "exits --events: there is none", line, span and span.end)
        require((NAMES.get(span.key, span.key), span.cpu) == (line["key"]["reason"], line["cpu"]), "exits --events", line)
        listed[span.begin] = span
    for span in truth.spans.values():
        # Which vCPU runs is known from the first change on.
        if (truth.first + 2000000 <= span.begin and span.end and span.end <= truth.last and
                not truth.is_near_gap(span.begin - 2000000, span.end) and truth.is_recorded(span)):
            require(span.begin in listed, f"exits: {span.key} of {span.pid} at {span.begin}..{span.end} is not counted")
    for row in result["rows"]:
        spans = [s for s in listed.values() if NAMES.get(s.key, s.key) == row["key"]["reason"]]
        what = f"exits {row['key']['reason']}"
        check_row(what, row, [(s.begin, s.end) for s in spans])
        if row.get("run") is not None:
            unknown = row["sum"] - sum(row[column] or 0 for column in ("run", "wait", "sleep", "offline"))
            for column, names in (("run", ("running",)), ("wait", WAITS), ("sleep", ("sleeping",)), ("offline", ("offline",))):
                true = sum(overlap(truth.vcpus[s.pid].states, s.begin, s.end, names, truth.file.end) for s in spans)
                contains(f"{what}: {column}", row[column], unknown, true, row)
    check_fates("exits", result, len(listed), truth.n_begins, truth.n_ends)


def check_sched(case, truth):
    result = case.json("sched")
    for row in result["rows"] if result else []:
        vcpu = truth.vcpus[row["key"]["task"]]
        what = f"sched {vcpu.name}"
        unknown = round(row["unknown_share"] * row["covered"]) + 2 + row["covered"] * 1e-5
        for column, names in (("run", ("running",)), ("wait", WAITS), ("sleep", ("sleeping",)), ("offline", ("offline",))):
            contains(f"{what}: {column}", row[column], unknown, overlap(vcpu.states, truth.first, truth.last, names, truth.file.end), row)
        for column, state in (("wake", "woken"), ("preempt", "preempted"), ("sleep", "sleeping"), ("run", "running")):
            times = [s.end - s.begin for s in vcpu.states if s.state == state and s.end and truth.first <= s.begin and s.end <= truth.last]
            require((row.get(f"{column}_n") or 0) <= len(times) + (column == "run") and
                    (column == "run" or (row.get(f"{column}_sum") or 0) <= sum(times)), f"{what}: {column}", row, times)
    for line in case.lines("sched", "--events"):
        states = truth.vcpus[line["key"]["task"]].states
        true = states[bisect_right(states, line["begin_ns"], key=lambda s: s.begin) - 1]
        names = WAITS if line["key"]["state"] == "runnable" else (line["key"]["state"],)
        require((true.begin, true.end) == (line["begin_ns"], line["end_ns"]) and true.state in names, "sched --events", line,
                (true.begin, true.end, true.state))
    for row in case.json("sched", "--by=cpu")["rows"]:
        cpu = row["key"]["cpu"]
        unknown = round(row["unknown_share"] * row["covered"]) + 2 + row["covered"] * 1e-5
        idle = overlap(truth.file.xen.idle[cpu].states, truth.first, truth.last, ("running",), truth.file.end)
        contains(f"sched --by cpu: CPU {cpu}: idle", row["idle"], unknown, idle, row)


def check_vcpus(case, truth):
    result = case.json("sched", "--by=vcpu")
    for row in result["rows"] if result else []:
        vcpu = truth.vcpus[row["key"]["vcpu"]]
        check_divided(f"sched --by vcpu: {vcpu.name}", row, vcpu.states, vcpu.in_guest, truth.first, truth.last, truth.file.end)


def check_sql(case, truth):
    out = case.run("sql", "--format=json", "-c", "SELECT name, state, begin_ns, end_ns, begin_seen, end_seen FROM state WHERE kind = 'vcpu'")
    for line in out.splitlines():
        row = json.loads(line)
        if row["state"] == "unknown":
            continue
        states = truth.vcpus[row["name"]].states
        names = WAITS if row["state"] == "runnable" else (row["state"],)
        true = overlap(states, row["begin_ns"], row["end_ns"], names, truth.file.end)
        require(true == row["end_ns"] - row["begin_ns"], f"sql: state: {true}", row)


def check_all(strata, path, file):
    truth = XenTruth(file)
    case = XenCase(strata, path, truth)
    for check in check_exits, check_sched, check_vcpus, check_sql:
        check(case, truth)
    check_summary(case)
