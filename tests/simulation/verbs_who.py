"""Who ran while others waited, and who woke them, as `strata sched` prints it, compared with the truth."""

from bisect import bisect_left, bisect_right

from verbs_row import require

WAITS = ("woken", "preempted")
IDLE, INTERRUPT = -1, -2
NAMES = {"<idle>": IDLE, "<interrupt>": INTERRUPT}
# A thread waits from its sched_waking on, and for another CPU from the event that says so, some hundred nanoseconds later.
MOVING = 1300


def timelines(truth):
    """What each CPU did: [begin, end, pid or IDLE or INTERRUPT]."""
    kernel, made = truth.kernel, []
    for cpu in range(kernel.n_cpus):
        runs = sorted((s.begin, t.pid) for t in kernel.threads for s in t.states if s.state == "running" and s.cpu == cpu)
        begins = [begin for begin, _ in runs]
        timeline = []
        for state in kernel.cpus[cpu]:
            by = {"idle": IDLE, "interrupt": INTERRUPT}.get(state.state) or runs[bisect_right(begins, state.begin) - 1][1]
            timeline.append((state.begin, truth.until if state.end is None else state.end, by))
        made.append((timeline, [begin for begin, _, _ in timeline]))
    return made


def parts_of_wait(thread, wait):
    """The CPUs for which THREAD waits: [begin, end, CPU]."""
    i = bisect_right(thread.moves, (wait.begin, 1 << 30))
    begin, cpu = wait.begin, wait.cpu
    for time, to in thread.moves[i:]:
        if time >= wait.end:
            break
        yield begin, time, cpu
        begin, cpu = time, to
    yield begin, wait.end, cpu


def ran_meanwhile(timeline, begin, end):
    states, begins = timeline
    for start, stop, by in states[max(0, bisect_right(begins, begin) - 1):bisect_left(begins, end)]:
        if min(end, stop) > max(begin, start):
            yield by, min(end, stop) - max(begin, start)


def waits_of(truth, thread):
    """Those that lie within the trace."""
    return [s for s in thread.states if s.state in WAITS and s.end is not None and truth.first <= s.begin and s.end <= truth.last]


def check_who(case, truth):
    result = case.json("sched", "--who", *case.of(truth))
    rows = {}
    for row in result["rows"] if result else []:
        by = row["key"]["by"]
        by = NAMES.get(by, by) if by.startswith("<") else int(by.rsplit("-", 1)[1])
        require((row["key"]["pid"], by) not in rows, "sched --who: twice", row)
        rows[row["key"]["pid"], by] = row
    cpus, whole = timelines(truth), not truth.is_near_gap(truth.first, truth.last)
    nested = sum(truth.begins_in_interrupt(cpu, truth.first, truth.last) for cpu in range(truth.kernel.n_cpus))
    true, all_waits = {}, {}
    for thread in truth.kernel.threads:
        waits = all_waits[thread.pid] = waits_of(truth, thread)
        for wait in waits:
            in_wait = {}
            for begin, end, cpu in parts_of_wait(thread, wait):
                for by, time in ran_meanwhile(cpus[cpu], begin, end):
                    in_wait[by] = in_wait.get(by, 0) + time
            for by, time in in_wait.items():
                true.setdefault((thread.pid, by), []).append(time)
    for (pid, by), row in rows.items():
        if by == "<unknown>":
            continue
        times, slack = true.get((pid, by), []), MOVING * len(all_waits[pid]) + nested
        what = f"sched --who: {pid} behind {by}"
        require(row["sum"] <= sum(times) + slack and row["max"] <= max(times, default=0) + MOVING + nested and
                row["n"] <= len(all_waits[pid]), what, row, times)
    if not whole or not result:
        return
    for pid, waits in all_waits.items():
        unknown = rows[pid, "<unknown>"]["sum"] if (pid, "<unknown>") in rows else 0
        slack = MOVING * len(waits) + nested
        of_thread = [row["sum"] for (p, _), row in rows.items() if p == pid]
        # Ticks are rounded to nanoseconds in each row.
        require(abs(sum(of_thread) - sum(s.end - s.begin for s in waits)) <= 2 * len(waits) + len(of_thread),
                f"sched --who: {pid}: all", of_thread)
        for (p, by), times in true.items():
            if p == pid:
                known = rows[pid, by]["sum"] if (pid, by) in rows else 0
                require(known + unknown >= sum(times) - slack, f"sched --who: {pid} behind {by}: {known} and {unknown} unknown", times)


def check_wakers(case, truth):
    result = case.json("sched", "--wakers", *case.of(truth))
    true = {}
    for thread in truth.kernel.threads:
        for wait in waits_of(truth, thread):
            if wait.state == "woken":
                by = "<interrupt>" if wait.by == -2 else f"{truth.threads[wait.by].comm}-{wait.by}" if wait.by else "<idle>"
                true.setdefault((thread.pid, by), []).append(wait.end - wait.begin)
    whole, seen = not truth.is_near_gap(truth.first, truth.last), {}
    for row in result["rows"] if result else []:
        key = row["key"]["pid"], row["key"]["waker"]
        seen[key] = row
        if key[1] == "<unknown>":
            continue
        times = true.get(key, [])
        require(row["n"] <= len(times) and row["sum"] <= sum(times) + 2 * len(times) and row["max"] <= max(times, default=0) + 2,
                "sched --wakers", row, times)
    if whole and result:
        for pid in {pid for pid, _ in true}:
            n = sum(row["n"] for (p, _), row in seen.items() if p == pid)
            require(n == sum(len(times) for (p, _), times in true.items() if p == pid), f"sched --wakers: {pid}: {n} wakes", true)
