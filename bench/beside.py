# SPDX-License-Identifier: MIT
"""Analyses beside other tools that say the same of the same events."""

import os
import shutil
import subprocess
import tempfile

import measure
import peers
from aims import at_least
from inputs import Missing

SCHEDULER = ["sched:sched_switch", "sched:sched_wakeup", "sched:sched_wakeup_new", "sched:sched_migrate_task"]
INTERRUPTS = ["irq:irq_handler_entry", "irq:irq_handler_exit", "irq:softirq_raise", "irq:softirq_entry",
              "irq:softirq_exit"]  # fmt: skip

# What a Recording fails with.
RecordingFailed = subprocess.CalledProcessError


def put(table, title, events, costs, ours, rate, times):
    """COSTS of the programs: OURS should take RATE million events a second, and each peer TIMES as long as OURS."""
    table.title(f"{title}, {events:,} events")
    for name, cost in costs.items():
        failed = isinstance(cost, measure.Failed)
        ratio = None
        if name != ours and not failed and not isinstance(costs[ours], measure.Failed):
            ratio = cost.cpu / max(costs[ours].cpu, 1e-6)
        if name == ours:
            measured = None if failed else events / max(cost.cpu, 1e-6) / 1e6
            table.row(name, events, cost, None, at_least(rate, " M events/s"), measured)
        else:
            table.row(name, events, cost, ratio, None if name.startswith("strata") else at_least(times))
        if failed:
            table.note(str(cost))


def add_peer(table, programs, name, peer, words, rounds):
    """PROGRAMS has what runs PEER with WORDS as NAME; TABLE says if it is not installed."""
    try:
        programs[name] = ([peers.find(peer), *words], rounds)
    except Missing as e:
        table.note(str(e))


def add_xenalyze(table, programs, options, path, rounds):
    """The same of xenalyze, which may be elsewhere (--xenalyze)."""
    try:
        xenalyze = options.xenalyze or peers.find("xenalyze")
        programs["xenalyze --summary"] = ([xenalyze, "--svm-mode", "--summary", path], rounds)
    except Missing as e:
        table.note(str(e))


class Recording:
    """EVENTS of this machine's kernel while perf bench sched messaging runs, as Strata (`trace`), perf (`data`) and trace-cmd
    (`dat`) have them."""

    def __init__(self, scratch, strata, perf, events, loops):
        self.trace, self.data, self.dat = (os.path.join(scratch, name) for name in ("trace", "perf.data", "trace.dat"))
        # The same events, recorded by both at the same time.
        subprocess.run(
            [perf, "record", "-q", "-a", "-m", "8192", *(word for event in events for word in ("-e", event)),
             "-o", self.data, "--",
             strata, "record", "-o", self.trace, "--buffer-size=16M", "--event=" + ",".join("host:" + event for event in events), "--",
             perf, "bench", "sched", "messaging", "-g", "4", "-l", str(loops)],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        subprocess.run([strata, "export", "--to=trace.dat", "-o", self.dat, self.trace], check=True,
                       stderr=subprocess.DEVNULL)  # fmt: skip
        self.n = measure.output([strata, "report", "--format=csv", self.trace]).count(b"\n") - 1


def kernel(table, options, strata, events, add):
    """Calls ADD(recording, rounds) with a Recording of EVENTS, if this machine's kernel can be traced."""
    if os.geteuid() != 0 or not os.path.isdir("/sys/kernel/tracing/instances"):
        table.note("the kernel: only root may trace it, where tracefs is mounted")
        return
    perf = shutil.which("perf")
    if not perf:
        table.note("perf is not installed: apt-get install linux-perf")
        return
    with tempfile.TemporaryDirectory() as scratch:
        add(Recording(scratch, strata, perf, events, 20 if options.short else 4000), 2 if options.short else 9)
