"""loss_windows.py STRATA TRACE...: windows of time that lie wholly within a loss of a CPU, while other CPUs have events: every verb says so."""

import json
import subprocess
import sys


def run(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, check=False)


def windows(strata, path):
    """Of each loss with enough events of other CPUs beside it, the CPU, and a window between two of these."""
    last, losses, events = {}, [], []
    for line in run(strata, "report", "--format=json", "--keep-going", path).stdout.splitlines():
        item = json.loads(line)
        cpu, time = item.get("cpu"), item["time_ns"]
        if "event" in item:
            events.append((time, cpu))
        elif "lost" in item and cpu in last:
            losses.append((cpu, last[cpu], time))
        last[cpu] = time
    for cpu, since, until in losses:
        beside = [time for time, other in events if since < time < until and other != cpu]
        if len(beside) >= 3 and beside[len(beside) // 3] > since and beside[-1] < until:
            yield cpu, beside[len(beside) // 3], beside[-1]


def seconds(ns):
    return f"{ns // 10**9}.{ns % 10**9:09}"


def check(strata, path):
    n = 0
    for cpu, since, until in windows(strata, path):
        n += 1
        window = ["--keep-going", "--from", seconds(since), "--until", seconds(until)]
        for verb in "stat", "sched":
            result = run(strata, verb, "--format=json", *window, path)
            if verb == "sched" and "no scheduler events" in result.stderr:
                continue
            told = json.loads(result.stdout)
            assert told["lost"]["places"] > 0, (path, verb, cpu, window, told["lost"])
            assert verb == "stat" or told["covered_ns"] < told["duration_ns"], (path, cpu, window, told)
        lines = [json.loads(line) for line in run(strata, "report", "--format=json", *window, path).stdout.splitlines()]
        assert any("lost" in line and line.get("cpu") == cpu for line in lines), (path, cpu, window)
        limited = run(strata, "report", "--format=json", "--keep-going", "--from", seconds(since), "--limit=2", path).stdout
        assert any("lost" in json.loads(line) for line in limited.splitlines()), (path, cpu, window, "--limit")
        assert run(strata, "stat", "--strict", *window, path).returncode == 3, (path, cpu, window)
    assert n >= 5, f"{path}: {n} windows"


for trace in sys.argv[2:]:
    check(sys.argv[1], trace)
