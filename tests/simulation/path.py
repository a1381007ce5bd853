"""Why a thread of a made machine waited, found naively in what really happened: a second implementation of what `strata path` says,
which shares nothing with it.

A path is a list of Segment, from the begin of an interval to its end."""

from bisect import bisect_left, bisect_right
from collections import namedtuple

from disk import POINTS
from verbs_who import IDLE, INTERRUPT, timelines

# `behind` says for how long what ran while a thread waited for a CPU: {pid, IDLE or INTERRUPT: ns}.
Segment = namedtuple("Segment", "begin end layer who what behind")
SOFTIRQS = {1: "timer", 3: "interrupt NET_RX", 7: "interrupt SCHED", 9: "interrupt RCU"}
UNKNOWN = "?"
SLEEPS = ("sleeping", "uninterruptible")


class Kernel:
    def __init__(self, truth):
        self.kernel = truth.kernel
        self.layer = truth.kernel.name
        self.timelines = timelines(truth)
        self.threads = truth.threads
        events = sorted(truth.kernel.events)
        self.moves, self.wakes, self.completes = {}, {}, {}
        for event in events:
            if event.name == "sched_migrate_task":
                self.moves.setdefault(event.values["pid"], []).append(event)
            elif event.name in ("sched_waking", "sched_wakeup", "sched_wakeup_new"):
                self.wakes[event.time, event.values["pid"]] = event
            elif event.name == "block_rq_complete":
                self.completes.setdefault(event.cpu, []).append(event.time)
        self.interrupts = [sorted((s.begin, s) for s in truth.kernel.spans if s.kind in ("irq", "softirq") and s.cpu == cpu)
                           for cpu in range(truth.kernel.n_cpus)]
        self.names = {}
        for event in events:
            if event.name == "irq_handler_entry":
                self.names[event.cpu, event.time] = "interrupt " + event.values["name"]
            elif event.name == "softirq_entry":
                self.names[event.cpu, event.time] = SOFTIRQS[event.values["vec"]]
        self.exits = {(s.pid, s.begin): s.key for s in truth.kernel.spans if s.kind == "exit"}
        self.requests = {r.at["guest"]: r for r in (truth.kernel.disk.requests if truth.kernel.disk else []) if "guest" in r.at}

    def call_at(self, pid, time):
        """", in futex": what thread PID was in at TIME."""
        calls = [c for c in self.threads[pid].calls if c[0] <= time and (c[1] is None or c[1] > time)]
        return ", " + calls[-1][2] if calls else ""

    def name(self, pid):
        return f"{self.threads[pid].comm}-{pid}"

    def interrupt_at(self, cpu, time):
        """The innermost interrupt of CPU at TIME."""
        spans = self.interrupts[cpu]
        for _, span in reversed(spans[:bisect_right(spans, time, key=lambda s: s[0])]):
            if span.end is None or span.end > time:
                return span
        return None


class Paths:
    def __init__(self, truths):
        self.host = Kernel(truths["host"])
        self.guest = Kernel(truths["guest"]) if "guest" in truths else None
        self.n_calls = 0  # segments that name one, for the user

    def thread(self, kernel, pid, begin, end, runs="runs"):
        """What thread PID did, or what it waited for. RUNS says what it runs for."""
        made, at = [], begin
        states = kernel.threads[pid].states
        for i in range(max(0, bisect_right(states, begin, key=lambda s: s.begin) - 1), len(states)):
            state = states[i]
            since, until = max(begin, state.begin), min(end, end if state.end is None else state.end)
            if since >= end:
                break
            if until <= since:
                continue
            if at < since:
                made.append(Segment(at, since, kernel.layer, kernel.name(pid), UNKNOWN, None))
            at = until
            following = states[i + 1] if i + 1 < len(states) else None
            if state.state == "running":
                made += self.running(kernel, pid, state.cpu, since, until, runs)
            elif state.state in SLEEPS:
                made += self.sleep(kernel, pid, state, following, since, until, end)
            else:
                made += self.wait(kernel, pid, state, since, until)
        if at < end:
            made.append(Segment(at, end, kernel.layer, kernel.name(pid), UNKNOWN, None))
        return made

    def running(self, kernel, pid, cpu, begin, end, runs):
        if kernel is self.host:
            return self.running_on_host(pid, begin, end, runs)
        return self.vcpu(cpu, begin, end, kernel.name(pid), runs)

    def running_on_host(self, pid, begin, end, runs):
        """Inside of its guest, or outside after an exit."""
        made, at, name = [], begin, self.host.name(pid)
        entries = self.host.threads[pid].in_guest
        if not entries:
            return [Segment(begin, end, "host", name, runs, None)]
        for i in range(max(0, bisect_right(entries, begin, key=lambda s: s.begin) - 1), len(entries)):
            inside = entries[i]
            since, until = max(begin, inside.begin), min(end, end if inside.end is None else inside.end)
            if inside.begin >= end:
                break
            if until > since:
                if since > at:
                    made.append(Segment(at, since, "host", name, self.exit_before(pid, entries, i), None))
                made.append(Segment(since, until, "host", name, runs, None))
                at = until
        if at < end:
            made.append(Segment(at, end, "host", name, self.exit_before(pid, entries, bisect_left(entries, end, key=lambda s: s.begin)), None))
        return made

    def exit_before(self, pid, entries, i):
        """What a thread does before entry number I."""
        return "outside its guest  exit " + (self.host.exits[pid, entries[i - 1].end] if i > 0 else "?")

    def vcpu(self, cpu, begin, end, runs_as=None, runs="runs"):
        """What the thread of a vCPU did; where it ran, RUNS_AS of the guest did."""
        runner = self.guest.kernel.vcpus[cpu].pid
        made = self.thread(self.host, runner, begin, end)
        return [s._replace(layer="guest", who=runs_as, what=runs) if runs_as and s.what == "runs" and s.who == self.host.name(runner) else s
                for s in made]

    def behind(self, kernel, cpu, begin, end):
        states, begins = kernel.timelines[cpu]
        for start, stop, by in states[max(0, bisect_right(begins, begin) - 1):bisect_left(begins, end)]:
            if min(stop, end) > max(start, begin):
                yield max(start, begin), min(stop, end), by

    def wait(self, kernel, pid, state, begin, end):
        moves = [e for e in kernel.moves.get(pid, []) if state.begin < e.time < (state.end or 1 << 62)]
        cpu = moves[0].values["orig_cpu"] if len(moves) == 1 else None if moves else state.cpu
        parts = [(begin, end, cpu)]
        if moves:
            middle = min(max(moves[-1].time, begin), end)
            parts = [(begin, middle, cpu), (middle, end, moves[-1].values["dest_cpu"])]
        made = []
        for since, until, cpu in parts:
            if cpu is None:
                made.append(Segment(since, until, kernel.layer, kernel.name(pid), "waits for a CPU", None))
            else:
                made += self.wait_for(kernel, pid, cpu, since, until)
        return made

    def wait_for(self, kernel, pid, cpu, begin, end):
        made, at, behind = [], begin, {}
        for since, until, by in self.behind(kernel, cpu, begin, end):
            if kernel is self.guest and by == IDLE:
                if behind:
                    made.append(Segment(at, since, kernel.layer, kernel.name(pid), f"waits for CPU {cpu}", behind))
                made += self.vcpu(cpu, since, until)
                at, behind = until, {}
            else:
                behind[by] = behind.get(by, 0) + until - since
        if at < end:
            made.append(Segment(at, end, kernel.layer, kernel.name(pid), f"waits for CPU {cpu}", behind))
        return made

    def sleep(self, kernel, pid, state, woken, begin, end, until):
        unknown = [Segment(begin, end, kernel.layer, kernel.name(pid), UNKNOWN, None)]
        if state.end is None or state.end > until or woken is None or woken.state != "woken":
            return unknown
        call = kernel.call_at(pid, state.end)
        if woken.by and woken.by > 0:
            return self.thread(kernel, woken.by, begin, end, f"runs  before it wakes {kernel.name(pid)}{call}" if call else "runs")
        if (state.end, pid) not in kernel.wakes:  # wake-ups were switched on later
            return unknown
        cpu = kernel.wakes[state.end, pid].cpu
        span = kernel.interrupt_at(cpu, state.end) if woken.by == INTERRUPT else None
        name = kernel.names[cpu, span.begin] if span else "interrupt"
        completes = kernel.completes.get(cpu, [])
        i = bisect_right(completes, state.end) - 1
        if span and i >= 0 and completes[i] > span.begin and kernel.interrupt_at(cpu, completes[i]) is span:
            return self.request(kernel, kernel.requests[completes[i]], begin, end)
        return [Segment(begin, end, kernel.layer, kernel.name(pid), f"sleeps  {name}{call}", None)]

    # ---- requests ----

    def request(self, kernel, request, begin, end):
        made, at = [], begin
        points = [p for p in POINTS if p in request.at]
        if request.at[points[0]] > at:
            at = min(request.at[points[0]], end)
            made += self.thread(kernel, request.pid, begin, at)
        disk = f"disk {kernel.kernel.disk.dev >> 20},{kernel.kernel.disk.dev & 0xfffff}"
        for point in points[1:]:
            until = min(request.at[point], end)
            if until <= at:
                continue
            if point == "queue":
                made.append(Segment(at, until, kernel.layer, disk, "queued", None))
            elif kernel is self.host:
                made.append(Segment(at, until, "host", disk if point == "inject" else "interrupt",
                                    "device" if point == "inject" else "handled  interrupt", None))
            elif point in ("inject", "guest"):
                made += self.vcpu(request.end_cpu, at, until)
            else:
                made += self.vmm(point, at, until)
            at = until
        if at < end:
            made += ([Segment(at, end, "host", "interrupt", "handled  interrupt", None)] if kernel is self.host else
                     self.vcpu(request.end_cpu, at, end))
        return made

    def vmm(self, point, begin, end):
        """A stage that QEMU's I/O thread ends."""
        vmm = self.host.kernel.machine.vmm
        made = []
        if point == "backend":
            wakes = [s for s in vmm.io_thread.states if s.state == "woken" and begin < s.begin < end and
                     s.by and s.by > 0 and self.host.threads[s.by].comm == "worker"]
            if wakes:
                made, begin = self.thread(self.host, wakes[-1].by, begin, wakes[-1].begin), wakes[-1].begin
        return made + self.thread(self.host, vmm.io_thread.pid, begin, end)


def joined(segments):
    """Neighbours that say the same are one, unless others ran meanwhile."""
    made = []
    for s in segments:
        if made and made[-1][2:5] == s[2:5] and s.behind is None and made[-1].behind is None:
            made[-1] = made[-1]._replace(end=s.end)
        else:
            made.append(s)
    return made
