#!/usr/bin/env python3
"""selection.py STRATA TRACE [OPTION...]: the rows of parts of the trace, by CPU, thread, vCPU, task and time, are those of all of it."""

import json
import random
import subprocess
import sys

STRATA, TRACE, *OPTIONS = sys.argv[1:]
SEED = random.randrange(1 << 32)
IS_IN_TICKS = "xen" in TRACE  # the rate of its clock is unknown
DURATIONS = ["n", "sum", "negative"]
OF_EXITS = ["run", "wait", "sleep", "unknown", "vmm", "vmm_run", "vmm_n"]
OF_IRQ = ["self", "delay_n"]
SCHED = ["run", "wait", "sleep", "runs", "wake_n", "wake_sum", "preempt_n", "preempt_sum", "run_n", "run_sum",
         "sleep_n", "sleep_sum", "migrations"]
SCHED_BY_CPU = ["run", "idle", "interrupt", "runs"]
MAXIMA = {"max", "wake_max", "preempt_max"}


def strata(*args):
    command = [STRATA, *args, *OPTIONS]
    if IS_IN_TICKS:
        command += ["--cpu-vendor=amd"]
    r = subprocess.run([*command, "-f", "json", TRACE], capture_output=True, text=True, check=False)
    is_left_out = r.returncode == 1 and ("strata: none of the " in r.stderr or "strata: nothing in the trace is " in r.stderr)
    if r.returncode != (1 if "--keep-going" in OPTIONS and r.returncode == 1 else 0) and not is_left_out or not r.stdout:
        assert "no event matches the selection" in r.stderr or " in this trace" in r.stderr, (command, r.stderr)
        return {"rows": [], "unpaired": {}}
    return json.loads(r.stdout)


def rows(result, leave_out=()):
    """By their keys."""
    found = {}
    for row in result["rows"]:
        if row.get("n", 1) == 0 and "delay_n" not in row:
            continue
        found[tuple(str(v) for k, v in sorted(row["key"].items()) if k not in leave_out)] = row
    return found


def add(parts, columns):
    """The sum of the columns over all parts, by the keys of rows."""
    sums = {}
    for part in parts:
        for key, row in part.items():
            numbers = sums.setdefault(key, dict.fromkeys(columns, 0))
            for column in columns:
                value = row.get(column) or 0
                numbers[column] = max(numbers[column], value) if column in MAXIMA else numbers[column] + value
    return {key: numbers for key, numbers in sums.items() if any(numbers.values())}


def compare(what, parts, whole, columns):
    parts, whole = add(parts, columns), add([whole], columns)
    if parts != whole:
        for key in sorted(set(parts) | set(whole)):
            if parts.get(key) != whole.get(key):
                print(f"{TRACE}: {what}: {key}:\n  parts {parts.get(key)}\n  whole {whole.get(key)}", file=sys.stderr)
        sys.exit(f"{TRACE}: {what}: parts are not the whole (seed {SEED})")


def unpaired(results):
    sums = {}
    for result in results:
        for fate, n in result["unpaired"].items():
            sums[fate] = sums.get(fate, 0) + n
    return {fate: n for fate, n in sums.items() if n}


def check_places(verb, columns):
    """The rows of each value are those that it has by the key."""
    for key in "cpu", "pid", "vcpu", "task":
        whole = strata(*verb, "--by", key)
        values = sorted({row["key"].get(key, "") for row in whole["rows"]} - {"", "?", "-"}, key=str)
        random.shuffle(values)
        for value in values[:12]:
            wanted = {k: r for k, r in rows(whole).items() if r["key"].get(key) == value}
            number = str(value).rpartition("v")[2] if key == "vcpu" else str(value)
            # Where names are not known, tasks are shown by their numbers, which --task does not take.
            if (key != "task") != number.isdigit():
                continue
            if key == "vcpu" and IS_IN_TICKS:  # vCPUs of all domains match
                wanted = {k: r for k, r in rows(whole).items() if str(r["key"].get(key)).rpartition("v")[2] == number}
            part = strata(*verb, "--by", key, f"--{key}={number}")
            compare(f"{' '.join(verb)} --{key} {value}", [rows(part)], wanted, columns + ["min", "max", "p50", "p99"])


def limit(time):
    return str(time) if IS_IN_TICKS else f"{time // 10**9}.{time % 10**9:09}"


def cuts(n, begin, end):
    """Options of N + 1 windows, which follow one another."""
    times = sorted(random.sample(range(begin + 1, end), n))
    limits = [None, *times, None]
    return [([f"--from={limit(first)}"] if first else []) + ([f"--until={limit(after - 1)}"] if after else [])
            for first, after in zip(limits, limits[1:])]


def check_times(verb, columns, begin, end, has_fates=True):
    whole = strata(*verb)
    for n in 1, 4, 19:
        parts = [strata(*verb, *option) for option in cuts(n, begin, end)]
        compare(f"{' '.join(verb)} in {n + 1} windows", [rows(part) for part in parts], rows(whole), columns)
        if has_fates and unpaired(parts) != unpaired([whole]):
            sys.exit(f"{TRACE}: {verb}: unpaired {unpaired(parts)}, not {unpaired([whole])} (seed {SEED})")


def check_sched_cpus():
    """What runs, runs on a CPU. Which one a vCPU of Xen waits for before it runs first is not known."""
    columns = ["run", "runs", "run_n", "run_sum", "migrations"]
    if not IS_IN_TICKS:
        columns += ["wake_n", "wake_sum", "preempt_n", "preempt_sum"]
    whole = strata("sched")
    cpus = sorted({row["key"]["cpu"] for row in strata("sched", "--by=cpu")["rows"]})
    compare("sched by CPUs", [rows(strata("sched", f"--cpu={cpu}")) for cpu in cpus], rows(whole), columns)
    pids = [row["key"]["pid"] for row in whole["rows"] if row["key"].get("pid")]
    for pid in random.sample(pids, min(8, len(pids))):
        wanted = {k: r for k, r in rows(whole).items() if r["key"]["pid"] == pid}
        compare(f"sched --pid {pid}", [rows(strata("sched", f"--pid={pid}"))], wanted, SCHED + ["wake_p50"])


def main():
    random.seed(SEED)
    report = subprocess.run([STRATA, "report", "-f", "json", *OPTIONS, TRACE], capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in report.stdout.splitlines()]
    times = [line.get("time_ns", line.get("ticks")) for line in lines if "event" in line]
    begin, end = min(times), max(times)
    n = 0
    for verb, columns in ((["exits"], OF_EXITS), (["latency"], []), (["irq"], OF_IRQ), (["io"], ["bytes"])):
        whole = strata(*verb)
        if not rows(whole):
            continue
        n += 1
        check_places(verb, DURATIONS + columns)
        check_times(verb, DURATIONS + columns + ["max"], begin, end)
    if rows(strata("sched")):
        n += 1
        check_sched_cpus()
        check_times(["sched"], SCHED + ["wake_max", "preempt_max"], begin, end)
        check_times(["sched", "--by=cpu"], SCHED_BY_CPU, begin, end)
        check_times(["sched", "--states"], DURATIONS + ["max"], begin, end)
        check_times(["sched", "--who"], DURATIONS + ["max"], begin, end)
        check_times(["sched", "--wakers"], DURATIONS + ["max"], begin, end)
    assert n > 1


main()
