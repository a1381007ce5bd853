"""What `strata path` says of made machines, compared with a path that is found naively (path.py)."""

import re

from path import Paths, UNKNOWN
from recording import BASE
from verbs_row import require
from verbs_who import IDLE, INTERRUPT

SLACK = 3  # ticks of a clock are rounded to nanoseconds
ALL = "1000000"


def parse(stage):
    """(layer, who, what, {who ran: percent}) as in path.Segment; `what` is "?" for what is unknown."""
    who, what, *cause = stage["name"].split("  ")
    what, *behind = re.split(", (?=behind |idle CPU|\\? what)", what, maxsplit=1)
    if what == UNKNOWN or cause == [UNKNOWN]:
        return stage["layer"], who, UNKNOWN, None
    shares = {}
    for text in behind[0].split("; ") if behind else []:
        name, _, percent = text.rpartition(" ") if text.endswith("%") else (text, "", "100%")
        shares[name.removeprefix("behind ")] = int(percent[:-1])
    if list(shares) == ["? what ran is not known"]:
        what = UNKNOWN
    return stage["layer"], who, "  ".join([what, *cause]), shares or None


def check_behind(what, paths, stage, shares, true, slack):
    """SHARES, in percent, are those of what ran; what is not known may be any of it."""
    total = sum(true.behind.values())
    kernel = paths.host if true.layer == "host" else paths.guest
    unknown = shares.get("? what ran is not known", 0)
    for by, ns in true.behind.items():
        name = {IDLE: "idle CPU", INTERRUPT: "interrupts"}.get(by) or kernel.name(by)
        percent, share = shares.get(name, 0), ns * 100 / total
        # Shares below a tenth are left out, and percentages rounded.
        require(percent <= share + 1 + slack * 100 / total and percent + unknown + 11 >= share - slack * 100 / total, what, stage, true)


def is_what(true, said):
    """Which exit of its guest a thread is after may be unknown, and so may be the call in which a thread sleeps or is woken."""
    return (true.startswith(said[:-1]) if said.endswith(" exit ?") else
            true == said or true.startswith(said + ", ") or (said == "runs" and true.startswith("runs  before it wakes ")))


def check_path(what, paths, slow, true, slack):
    """SLOW is what Strata says of an interval, TRUE its path; SLACK: how wrong times of one of the layers are. Returns how much is
    known."""
    begin, end = slow["begin_ns"] - BASE, slow["end_ns"] - BASE
    at, known = begin, 0
    for stage in slow["stages"]:
        since, until = stage["begin_ns"] - BASE, stage["end_ns"] - BASE
        # PATH-1
        require(since == at and until >= since, f"{what}: a gap", slow)
        at = until
        layer, who, said, shares = parse(stage)
        if not paths.guest:  # the text of ftrace is taken for a guest's
            layer = "host"
        if said == UNKNOWN or until - since <= 2 * slack or (layer, said) == ("guest", "device"):  # QEMU's part is not known
            continue
        known += until - since
        paths.n_calls += ", in " in said or ", for a" in said
        same = [s for s in true if (s.layer, s.who) == (layer, who) and is_what(s.what, said) and s.begin < until and s.end > since]
        covered = sum(min(s.end, until) - max(s.begin, since) for s in same)
        # Of a part of a wait, it may not be known whether a guest's CPU was idle.
        unknown = (until - since) * (shares.get("? what ran is not known", -1) + 1) / 100 if shares else 0
        require(covered >= until - since - unknown - 2 * slack * (1 + len(same)), what, stage,
                [s for s in true if s.begin < until and s.end > since], slow["stages"])
        if shares and len(same) == 1 and same[0].behind and abs(same[0].begin - since) + abs(same[0].end - until) <= 2 * SLACK:
            check_behind(what, paths, stage, shares, same[0], slack)
    require(at == end, f"{what}: a gap at the end", slow)
    return known


def check_blame(what, result):
    """The rows of a kind of intervals add up to all of them."""
    parts = {}
    for row in result["rows"]:
        parts.setdefault(row["key"]["of"], []).append(row)
    for of, rows in parts.items():
        for column in "part", "slow_part", "rest_part":
            total = [row[column] for row in rows if row.get(column) is not None]
            require(not total or abs(sum(total) - 1) < 1e-5 * len(total), f"{what}: {column} of {of}", sum(total))
        intervals = sum(s["end_ns"] - s["begin_ns"] for s in result.get("slowest", []) if s["name"].startswith(of))
        # Each row and each interval is rounded to nanoseconds.
        require(abs(sum(row["sum"] for row in rows) - intervals) <= len(rows) + len(result["slowest"]), f"{what}: sum of {of}", intervals)


def find_wait(truth, slow):
    """The wait that SLOW is about; None: it is of the other kernel, whose threads have the same numbers."""
    thread = truth.threads.get(slow["pid"])
    begin, end = slow["begin_ns"] - BASE, slow["end_ns"] - BASE
    states = thread.states if thread and slow.get("task") == thread.comm else []
    return next((s for s in states if s.end is not None and abs(s.begin - begin) <= SLACK and abs(s.end - end) <= SLACK), None)


def slack_of(case):
    return SLACK + 2 * max(truth.source.error_ns for truth in case.truths.values())


def check_waits(case, truth, paths):
    """Each time that a thread of a kernel slept or waited for a CPU. Returns how much of that is known, and all."""
    kernel = paths.host if truth.kernel.name == "host" else paths.guest
    result = case.json("path", "--waits", "--slowest", ALL, "--pid", ",".join(str(pid) for pid in truth.threads))
    if not result:
        return 0, 0
    check_blame("path --waits", result)
    total = known = 0
    for slow in result["slowest"]:
        wait = find_wait(truth, slow)
        if wait:
            true = paths.thread(kernel, slow["pid"], wait.begin, wait.end)
            known += check_path(f"path --waits of {slow['pid']} of {kernel.layer}", paths, slow, true, slack_of(case))
            total += wait.end - wait.begin
    return known, total


def true_request(paths, slow):
    """The path of the request that SLOW is about; None: it is not looked for."""
    kernel = {"host": paths.host, "guest": paths.guest}.get(slow["name"].split()[0])
    end = slow["end_ns"] - BASE
    request = next((r for at, r in kernel.requests.items() if abs(at - end) <= SLACK), None) if kernel else None
    return request and paths.request(kernel, request, slow["begin_ns"] - BASE, request.at["guest"])


def check_paths(case):
    """Returns how much is known of the waits of all threads, and all, and of how many segments a system call or lock is known."""
    paths = Paths(case.truths)
    known, total = (sum(numbers) for numbers in zip(*(check_waits(case, truth, paths) for truth in case.truths.values())))
    result = case.json("path", "--slowest", ALL)
    if result:
        check_blame("path", result)
    for slow in result["slowest"] if result else []:
        true = true_request(paths, slow)
        if true:
            check_path("path", paths, slow, true, slack_of(case))
    return known, total, paths.n_calls


def check_whole(case, has_calls):
    """Nothing is missing: most of the time is known. What is not is from before the first event of a thread or CPU."""
    known, total, n_calls = check_paths(case)
    require(known >= total * 0.9, "path --waits: what is known", known, total)
    require(not has_calls or n_calls > 10, "path --waits: system calls and locks", n_calls)
