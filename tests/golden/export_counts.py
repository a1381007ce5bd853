#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the slices of exported timelines with what strata's verbs count and measure.

    export_counts.py STRATA DECODED TRACE [OPTION...]

DECODED: strata export --to perfetto of TRACE with OPTIONs, as protoc prints it. The verbs are run on the same. Each rule that strata latency has built in and a timeline draws has as many slices that an event ends,
from the event that begins them; strata exits and strata irq count as many by name; what is not complete is cut, by the
same causes. Prints how many slices were compared, as JSON."""

import collections
import json
import subprocess
import sys

sys.dont_write_bytecode = True

import export_timeline  # noqa: E402

# Rules that are drawn, by the event that begins their spans; True: its slices begin and end with these events alone.
RULES = {
    "irq_handler_entry": ("irq", True),
    "softirq_entry": ("softirq", True),
    "tasklet_entry": ("tasklet", True),
    "hrtimer_expire_entry": ("hrtimer", True),
    "timer_expire_entry": ("timer", True),
    # Two tracers tell of the same calls, and each ends what the other began.
    "sys_enter": ("syscall", False),
    "workqueue_execute_start": ("workqueue", True),
    "block_rq_issue": ("block", True),
    "virtio_blk_handle_read": ("virtio-blk", True),
    "virtio_blk_handle_write": ("virtio-blk", True),
    "thread_pool_submit": ("thread-pool", True),
    "thread_pool_submit_aio": ("thread-pool", True),
    "dma_blk_io": ("dma-blk", True),
    "nvme_submit_command": ("nvme", True),
    "vmexit": ("exit", True),
    "kvm_exit": ("exit", True),
}
# What a timeline draws beside them.
GUEST = "guest: kvm:kvm_entry -> kvm:kvm_exit by thread"
CAUSES = {"no end was seen": "again", "events were lost": "lost or gone", "the thread ends": "lost or gone",
          "not all CPUs were kept yet": "lost or gone", "what came then is not in the trace": "open"}


class Slices:
    """Of one kind: how many are complete, how long they are together, and how many are not, by why."""

    def __init__(self):
        self.n = self.ns = 0
        self.unpaired = collections.Counter()


def rule_of(begin):
    if begin.startswith("sys_enter_"):
        return "syscall-" + begin[len("sys_enter_"):], False
    return RULES.get(begin, (None, None))


def read(marks):
    """Slices by rule, and by their name."""
    stacks = collections.defaultdict(list)
    by_rule = collections.defaultdict(Slices)
    by_name = collections.defaultdict(Slices)
    for mark in marks:
        stack = stacks[tuple(mark.track)]
        if mark.kind == "B":
            stack.append(mark)
        if mark.kind != "E":
            continue
        begin = stack.pop()
        why = mark.args.get("strata.cut")
        for kind in by_rule[rule_of(begin.args.get("strata.begin", ""))[0]], by_name[begin.name]:
            if why:
                kind.unpaired[CAUSES.get(why, why)] += 1
            else:
                kind.n += 1
                kind.ns += mark.ns - begin.ns
    for stack in stacks.values():
        for begin in stack:
            by_rule[rule_of(begin.args.get("strata.begin", ""))[0]].unpaired["open"] += 1
    return by_rule, by_name


def run(strata, verb, *args):
    """None: the trace has nothing for this verb. Times are those of the export."""
    done = subprocess.run([strata, verb, "-f", "json", *args], capture_output=True, check=False)
    return json.loads(done.stdout) if done.stdout else None


def same(what, mine, theirs):
    if mine != theirs:
        sys.exit(f"{what}: the timeline has {mine}, the verb {theirs}")


def compare_rules(by_rule, told, strata, args):
    rows = {row["key"]["name"]: row for row in told["rows"]} if told else {}
    exact = dict(RULES.values())
    names = {name for name in rows if name in exact or name.startswith("syscall-")}
    names |= {name for name in by_rule if name}
    unpaired = collections.defaultdict(collections.Counter)
    for name in sorted(names):
        slices, row = by_rule[name], rows.get(name, {"n": 0, "sum": 0})
        same(f"slices of {name}", slices.n, row["n"])
        if exact.get(name):
            same(f"their time, of {name}", slices.ns, row["sum"])
        unpaired["syscall-*" if name.startswith("syscall-") else name] += slices.unpaired
    for name, mine in unpaired.items():
        theirs = run(strata, "latency", name, *args)["unpaired"]
        theirs = {"again": theirs["again"], "lost or gone": sum(theirs[why] for why in ("lost", "gone", "early")),
                  "open": theirs["open"]}
        # A verb knows of some that are open at the end of a timeline that they may have ended: after the last record of their CPU.
        late = mine["open"] - theirs["open"]
        if 0 < late <= theirs["lost or gone"]:
            theirs["open"] += late
            theirs["lost or gone"] -= late
        same(f"unpaired, of {name}", {why: mine[why] for why in theirs}, theirs)
    return sum(by_rule[name].n for name in names)


def compare_names(by_name, rows, name_of):
    """Rows with the name of their slices: several may have one."""
    n, time = collections.Counter(), collections.Counter()
    for row in rows:
        n[name_of(row)] += row["n"]
        time[name_of(row)] += row["sum"]
    for name in n:
        same(f"slices called {name}", by_name[name].n, n[name])
        same(f"their time, of {name}", by_name[name].ns, time[name])
    return sum(n.values())


def irq_name(row):
    kind, name = row["key"]["kind"], row["key"]["name"]
    return name if kind == "vector" else f"{kind} {name}" if kind in ("irq", "softirq") else kind


def main():
    strata, decoded, *args = sys.argv[1:]
    by_rule, by_name = read(export_timeline.perfetto(decoded))
    seen = {"rules": compare_rules(by_rule, run(strata, "latency", *args), strata, args)}
    if by_name["in the guest"].n:
        rows = run(strata, "latency", "--pair", GUEST, *args)["rows"]
        seen["guest"] = compare_names(by_name, rows, lambda row: "in the guest")
    irq = run(strata, "irq", *args)
    if irq:
        seen["irq"] = compare_names(by_name, irq["rows"], irq_name)
    exits = run(strata, "exits", *args) if by_rule["exit"].n else None
    if exits:
        prefix = "exit: " if by_name["in the guest"].n else "hypervisor: "
        seen["exits"] = compare_names(by_name, exits["rows"], lambda row: prefix + row["key"]["reason"])
        same("all exits", by_rule["exit"].n, seen["exits"])
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
