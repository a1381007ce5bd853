"""Durations where causes and effects tighten the clocks, which is how all verbs show them unless they are told otherwise: each is true
within the error that is stated of it."""

import json

from verbs_row import require

SLACK = 2  # ticks of a clock are rounded to nanoseconds, at both ends


def tightened(case, *args):
    return case.run(*args, "-f", "json")


def whose(span):
    """QEMU's requests have no CPU."""
    return json.dumps([span["key"], span.get("cpu"), span.get("pid")])


def pairs_of(what, plain, tight):
    """The same spans, once by the clocks as they were recorded and once tightened. Those of a thread keep their order."""
    def ordered(spans):
        return sorted(spans, key=lambda s: (whose(s), s["begin_ns"]))
    require(len(plain) == len(tight), f"{what}: {len(tight)} tightened, of {len(plain)}")
    for a, b in zip(ordered(plain), ordered(tight)):
        require(whose(a) == whose(b), f"{what}: another one", a, b)
        yield a, b


def check_duration(what, span, true, error_ns):
    """ERROR_NS: None where it is not known."""
    if error_ns is None:
        return
    off = span["end_ns"] - span["begin_ns"] - true
    require(abs(off) <= error_ns + SLACK, f"{what}: off by {off}, not {error_ns}", span, true)


def check_spans(case, truth):
    """Of one kernel: interrupts, softirqs and exits."""
    firsts = {"irq": "irq_handler_entry", "softirq": "softirq_entry", "exit": "kvm_exit"}
    names = [name for name, first in firsts.items() if truth.count(first)]
    if not names:
        return
    what = f"latency of {truth.kernel.name}, tightened"
    args = ["latency", *names, "--events", *case.of(truth)]
    for plain, tight in pairs_of(what, case.lines(*args), [json.loads(line) for line in tightened(case, *args).splitlines()]):
        span = truth.spans[plain["key"]["name"], truth.time(plain["begin_ns"])]
        check_duration(what, tight, span.end - span.begin, tight["error_ns"])


def check_states(case, truth):
    """Of one kernel: what its threads did."""
    what = f"sched of {truth.kernel.name}, tightened"
    args = ["sched", "--events", *case.of(truth)]
    plain = case.lines(*args)
    for plain, tight in pairs_of(what, plain, [json.loads(line) for line in tightened(case, *args).splitlines()]):
        begin = truth.time(plain["begin_ns"])
        state = truth.state_at(truth.threads[plain["pid"]].states, begin)
        check_duration(what, tight, state.end - begin, tight["error_ns"])


def check_requests(case, find):
    """Of several layers: requests to disks and their stages. FIND: the true request of a line."""
    args = ["io", "--slowest=5000"]
    plain, out = case.json(*args), tightened(case, *args)
    if not plain:
        return
    spans = [[s for s in result["slowest"] if not s.get("open") and "end_ns" in s] for result in (plain, json.loads(out))]
    for a, b in pairs_of("io, tightened", *spans):
        _, request = find(a)
        check_duration("io, tightened", b, a["end_ns"] - a["begin_ns"], b["error_ns"])
        require(len(a["stages"]) == len(b["stages"]), "io, tightened: stages", a, b)
        for stage, tight in zip(a["stages"], b["stages"]):
            name = stage["name"]
            require(name == tight["name"], "io, tightened: stages", a, b)
            check_duration(f"io, tightened: {name} of {request.at}", tight, stage["end_ns"] - stage["begin_ns"], tight.get("error_ns", b["error_ns"]))
