# SPDX-License-Identifier: MIT
"""What strata says of a part of a recording, and of one that was cut, beside perf, xenalyze and an independent count:
selected_peers.py timehist SCRIPT RUNS PEER SELECTION; kvm SCRIPT ROWS REPORT SELECTION; cut-dat WHOLE ROWS; cut-xen FILE ROWS SUMMARY"""

import json
import re
import struct
import sys

SWITCH = re.compile(r"(\d+)\.(\d+): +sched:sched_switch: .*prev_pid=(\d+) .* next_comm=.* next_pid=(\d+) ")
CPU = re.compile(r" \[(\d+)\] ")


def switches(path):
    """Of perf's script: (time, CPU, from, to)."""
    for line in open(path, encoding="utf-8", errors="replace"):
        found = SWITCH.search(line)
        if found:
            yield int(found[1]) * 10**9 + int(found[2]), int(CPU.search(line)[1]), int(found[3]), int(found[4])


def runs_of(path):
    """Times on a CPU whose begin and end are there: (begin, end, CPU, thread)."""
    since, runs = {}, []
    for time, cpu, before, after in switches(path):
        if cpu in since:
            assert since[cpu][1] == before, (time, cpu)
            runs.append((since[cpu][0], time, cpu, before))
        since[cpu] = time, after
    return runs


def selects(selection, begin, cpu, pid):
    option, _, value = selection.partition("=")
    if option == "--cpu":
        return cpu == int(value)
    if option == "--pid":
        return pid == int(value)
    if option == "--time":
        first, last = (int(float(v) * 10**9) for v in value.split(","))
        return first <= begin < last
    return True


def timehist(script, ours, peer, selection):
    """Runs of threads. strata lists those that begin in the selection, with their whole length."""
    runs = [run for run in runs_of(script) if run[3] != 0]
    wanted = sorted((b, e, cpu, pid) for b, e, cpu, pid in runs if selects(selection, b, cpu, pid))
    told = sorted((row["begin_ns"], row["end_ns"], row["cpu"], row["pid"]) for row in map(json.loads, open(ours, encoding="utf-8"))
                  if row["key"]["state"] == "running")
    assert told == wanted, (selection, len(told), len(wanted), set(told) ^ set(wanted))
    by_end = {(cpu, pid, round(end / 1000)): end - begin for begin, end, cpu, pid in runs}
    same, zero, clipped = 0, 0, 0
    window_end = float(selection.rpartition(",")[2]) * 1e6 if selection.startswith("--time") else 0
    for line in open(peer, encoding="utf-8", errors="replace"):
        found = re.match(r" +(\d+)\.(\d+) \[(\d+)\]  .*\[(\d+)(?:/\d+)?\] +[\d.]+ +[\d.]+ +([\d.]+) ", line)
        if not found:
            continue
        cpu, pid, at, run = int(found[3]), int(found[4]), int(found[1]) * 10**6 + int(found[2]), float(found[5]) * 1e6
        true = next((by_end[cpu, pid, at + d] for d in (0, 1, -1) if (cpu, pid, at + d) in by_end), None)
        if true is None and at == window_end:
            clipped += 1  # perf ends what runs there
        elif true is None:
            assert run == 0, line  # perf's 0 of a run that began before its first event: not known
            zero += 1
        elif abs(run - true) <= 1000:
            same += 1
        else:
            clipped += 1
            assert run < true, (line, true)
    print(selection, len(wanted), "runs;", same, "the same by perf,", zero, "not known,", clipped, "shorter there")
    # Of a time, perf has also what ends in it, as long as it was in it; of all else, each but the first of a thread.
    assert 0 <= len(wanted) - same <= (clipped + 4 if selection else 1), (len(wanted), same)


def kvm(script, ours, report, selection):
    """Exits of a vCPU."""
    since, spans = {}, {}
    for line in open(script, encoding="utf-8", errors="replace"):
        found = re.match(r".* (\d+) +\[(\d+)\] +(\d+)\.(\d+): +kvm:kvm_(exit|entry): (.*)", line)
        if not found:
            continue
        pid, time = int(found[1]), int(found[3]) * 10**9 + int(found[4])
        if found[5] == "exit":
            since[pid] = time, re.search(r"reason (\w+)", found[6])[1]
        elif pid in since:
            begin, reason = since.pop(pid)
            spans.setdefault(reason, []).append(time - begin)
    rows = {row["key"]["reason"]: row for row in json.load(open(ours, encoding="utf-8"))["rows"]}
    assert {k: (len(v), sum(v), min(v), max(v)) for k, v in spans.items()} == {k: (r["n"], r["sum"], r["min"], r["max"]) for k, r in rows.items()}
    n = 0
    for line in open(report, encoding="utf-8"):
        found = re.match(r" +(\w+) +(\d+) +[\d.]+% +[\d.]+% +([\d.]+)us +([\d.]+)us +([\d.]+)us", line)
        if found:
            row = rows[found[1]]
            assert int(found[2]) == row["n"] and abs(float(found[4]) * 1000 - row["max"]) <= 10 and abs(float(found[5]) * 1000 - row["mean"]) <= 10, line
            # perf has no shortest exit of a vCPU that is selected: it prints 0.
            assert abs(float(found[3]) * 1000 - row["min"]) <= 10 or (selection and float(found[3]) == 0), line
            n += 1
    assert n == len(rows), (n, rows)


def cut_dat(whole, ours):
    """Switches of the whole file, as trace-cmd prints them (3.3 with flags, d..2.), hold what is known of the one that was cut."""
    line_of = re.compile(r" \[(\d+)\] +(?:\S+ +)?(\d+)\.(\d+): sched_switch: .*:(\d+) \[\d+\] \S+ ==> .*:(\d+) \[\d+\]")
    told = json.load(open(ours, encoding="utf-8"))
    first, last = told["first_ns"], told["first_ns"] + told["duration_ns"]
    since, run = {}, {}
    for line in open(whole, encoding="utf-8", errors="replace"):
        found = line_of.search(line)
        if not found:
            continue
        cpu, time = int(found[1]), int(found[2]) * 10**9 + int(found[3])
        if cpu in since:
            begin, pid = since[cpu]
            run[pid] = run.get(pid, 0) + max(0, min(time, last) - max(begin, first))
        since[cpu] = time, int(found[5])
    n_known = 0
    for row in told["rows"]:
        true, known = run.get(row["key"]["pid"], 0), row["run"] or 0
        unknown = row["unknown_share"] * row["covered"] * (1 + 1e-5) + 1000
        assert known <= true + 1000, (row, true)
        assert known + unknown >= true, (row, true)
        n_known += known > 0
    assert n_known > 10, n_known
    print(len(told["rows"]), "threads,", n_known, "ran")


def cut_xen(path, ours, peer):
    """Runstates of a cut file of xentrace, by their changes in the order of time."""
    data, at, cpu, changes, spans = open(path, "rb").read(), 0, None, [], {}
    while at + 4 <= len(data):
        (head,) = struct.unpack_from("<I", data, at)
        event, n, has_time = head & 0xfffffff, head >> 28 & 7, head >> 31
        size = 4 + 8 * has_time + 4 * n
        if at + size > len(data):
            break
        if event == 0x1f003:
            (cpu,) = struct.unpack_from("<I", data, at + size - 4 * n)
        elif event & 0xffff00f == 0x21001 and has_time:
            (time,) = struct.unpack_from("<Q", data, at + 4)
            (whose,) = struct.unpack_from("<I", data, at + 12)
            spans[cpu] = spans.get(cpu, (time, 0))[0], time
            changes.append((time, f"d{whose >> 16}v{whose & 0xffff}", event >> 8 & 0xf, event >> 4 & 0xf))
        at += size
    state, sums, sure = {}, {}, {}
    begin, end = max(b for b, _ in spans.values()), min(e for _, e in spans.values())
    for time, vcpu, old, new in sorted(changes):
        if vcpu in state and state[vcpu][1] == old:
            since, _, before = state[vcpu]
            kind = {0: "run", 2: "sleep"}.get(old) or ("preempt" if before == 0 else "wake")
            # What happens while a CPU is not recorded may be in between.
            for counts in (sums, sure) if begin <= since and time <= end else (sums,):
                n, total = counts.get((vcpu, kind), (0, 0))
                counts[vcpu, kind] = n + 1, total + time - since
        state[vcpu] = time, new, old
    theirs, vcpu, n_other = {}, None, 0
    for line in open(peer, encoding="utf-8", errors="replace"):
        if found := re.match(r"\|-- Domain (\d+) --\|", line):
            domain, vcpu = int(found[1]), None
        elif found := re.match(r"-- v(\d+) --", line):
            vcpu = f"d{domain}v{found[1]}"
        elif (found := re.match(r" +(wake|preempt|blocked): +(\d+) +[\d.]+s +(\d+) ", line)) and vcpu:
            theirs[vcpu, {"blocked": "sleep"}.get(found[1], found[1])] = int(found[2]), int(found[2]) * int(found[3])
    rows = json.load(open(ours, encoding="utf-8"))["rows"]
    for row in rows:
        for kind in "wake", "preempt", "sleep":
            key = row["key"]["vcpu"], kind
            low, high = sure.get(key, (0, 0)), sums.get(key, (0, 0))
            n, total = row[f"{kind}_n"], row.get(f"{kind}_sum", 0)
            assert low[0] <= n <= high[0] and low[1] <= total <= high[1], (key, low, n, total, high)
            n_other += theirs.get(key, (0, 0))[1] > high[1] + high[0]
    assert rows
    print(len(rows), "vCPUs;", n_other, "of xenalyze's sums are more than all there is")


if __name__ == "__main__":
    {"timehist": timehist, "kvm": kvm, "cut-dat": cut_dat, "cut-xen": cut_xen}[sys.argv[1]](*sys.argv[2:])
