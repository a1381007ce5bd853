"""Rows by other keys, counts and rates of events, and states by SQL, compared with the truth."""

import json

from truth import overlap
from verbs_row import check_row, require

KEYS = {"cpu": lambda span: span.cpu, "pid": lambda span: span.pid}


def check_by(verb, case, truth, listed, row_key):
    """The rows of VERB by CPU and by thread. LISTED: its spans; ROW_KEY: what its rows are by otherwise."""
    for by in "cpu", "pid":
        result = case.json(*verb, f"--by={by}", *case.of(truth))
        if not result:
            require(not listed, f"{verb} --by {by}: says nothing")
            continue
        spans = {}
        for span in listed.values():
            spans.setdefault((*row_key(span), KEYS[by](span)), []).append((span.begin, span.end))
        seen = set()
        for row in result["rows"]:
            key = tuple(v for k, v in row["key"].items() if not k.endswith("_value"))
            seen.add(key)
            check_row(f"{verb} --by {by} {key}", row, spans.get(key, []))
        require(seen >= set(spans), f"{verb} --by {by}: rows", set(spans) - seen)


def check_stat(case, truth):
    """Counts, rates and intervals."""
    result = case.json("stat", *case.of(truth))
    times = {}
    for event in truth.visible:
        times.setdefault(truth.source.names.get(event.name, event.name), []).append(event.time)
    rows = {row["event"]: row for row in result["rows"]}
    require({name: row["count"] for name, row in rows.items()} == {name: len(t) for name, t in times.items()}, "stat: counts", rows, times)
    window = truth.last - truth.first
    require(abs(result["duration_ns"] - window) <= 2, "stat: duration", result["duration_ns"], window)
    covered = result["covered_ns"]
    require(0 <= covered <= window + 2, "stat: covered", covered, window)
    states = case.json("sched", *case.of(truth))
    require(not states or abs(states["covered_ns"] - covered) <= 2, "stat: not what sched covers", covered, states and states["covered_ns"])
    for name, row in rows.items():
        require(abs(row["share"] - row["count"] / len(truth.visible)) <= 1e-5, f"stat: {name}: share", row)
        if covered > 0:
            require(abs(row["rate"] - row["count"] * 1e9 / covered) <= 1e-5 * row["rate"], f"stat: {name}: rate", row, covered)
        between = [b - a for a, b in zip(times[name], times[name][1:])]
        intervals = row.get("intervals")
        if intervals and between and intervals.get("max_ns") is not None:
            require(abs(intervals["max_ns"] - max(between)) <= 2, f"stat: {name}: the longest interval", row, max(between))
            begin = truth.time(intervals["max_begin_ns"])
            require(begin in times[name], f"stat: {name}: no event at {begin}", row)


def check_state_sums(case, truth):
    """What SQL says of each thread and CPU has no two states at a time, and its sums are those of the truth."""
    out = case.run("sql", "--format=json", *case.of(truth), "-c",
                   "SELECT kind, id, state, begin_ns, end_ns FROM state ORDER BY kind, id, begin_ns")
    sums, last = {}, {}
    for line in out.splitlines():
        row = json.loads(line)
        whose = row["kind"], row["id"]
        require(row["begin_ns"] >= last.get(whose, 0), "sql: two states at a time", row, last.get(whose))
        last[whose] = row["end_ns"]
        of = sums.setdefault(whose, {})
        of[row["state"]] = of.get(row["state"], 0) + row["end_ns"] - row["begin_ns"]
    for (kind, number), of in sums.items():
        if kind == "cpu":
            states, nested = truth.kernel.cpus[number], truth.begins_in_interrupt(number, truth.first, truth.last)
        elif kind == "thread" and number in truth.threads:
            states, nested = truth.threads[number].states, 0
        else:
            continue
        rest = truth.last - truth.first - sum(time for state, time in of.items() if state != "unknown")
        for state, time in of.items():
            if state != "unknown":
                names = ("woken", "preempted") if state == "runnable" else (state,)
                true = overlap(states, truth.first, truth.last, names, truth.until)
                slack = 2 * nested + 4 + truth.window * 1e-6
                require(time <= true + slack and time + max(0, rest) >= true - slack, f"sql: {kind} {number}: {state} {time}, true {true}", of)
