"""A made Xen: its CPUs, domains and their vCPUs, and the records of its trace buffers. As machine.py, it knows what happened."""

import heapq
import struct

from machine import MICRO, Span, State

IDLE = 0x7fff
RUNSTATES = ("running", "runnable", "blocked", "offline")
REASONS = {"hlt": 0x78, "io": 0x7b, "msr": 0x7c, "npf": 0x400, "cpuid": 0x72}
SCHEDULED, WOKEN = "preempted", "woken"
LOST_RECORDS, CPU_CHANGE = 0x1f001, 0x1f003


class VCpu:
    def __init__(self, domain, number):
        self.domain, self.number = domain, number
        self.name = f"d{domain}v{number}"
        self.runstate = "blocked"
        self.cpu = 0
        self.states = [State(0, "sleeping")]
        self.exit = None  # the open one
        self.in_guest = []
        self.paused = False


class Record:
    """A record of a CPU, with what ran there after it."""
    __slots__ = ("time", "cpu", "data", "runs")

    def __init__(self, time, cpu, data, runs):
        self.time, self.cpu, self.data, self.runs = time, cpu, data, runs


class Xen:
    def __init__(self, rng, n_cpus, n_domains):
        self.rng, self.n_cpus, self.now = rng, n_cpus, 0
        self.idle = [VCpu(IDLE, cpu) for cpu in range(n_cpus)]
        self.vcpus = [VCpu(d, v) for d in range(1, n_domains + 1) for v in range(rng.randint(1, 2))]
        self.runs = list(self.idle)
        for vcpu in self.idle:
            vcpu.runstate, vcpu.states = "running", [State(0, "running")]
        for i, vcpu in enumerate(self.vcpus):
            vcpu.cpu = i % n_cpus
        self.queues = [[] for _ in range(n_cpus)]
        self.records, self.spans = [], []
        self.heap = [(rng.randrange(100 * MICRO), cpu) for cpu in range(n_cpus)]
        heapq.heapify(self.heap)
        self.loops = [self.loop(cpu) for cpu in range(n_cpus)]

    def chance(self, share):
        return self.rng.random() < share

    def some(self, low, high):
        return int(low * MICRO * (high / low) ** self.rng.random())

    def emit(self, cpu, event, *words):
        self.now += self.rng.randint(4, 400)
        data = struct.pack(f"<IQ{len(words)}I", event | len(words) << 28 | 1 << 31, self.now, *words)
        self.records.append(Record(self.now, cpu, data, self.runs[cpu]))
        return self.now

    def change(self, cpu, vcpu, to):
        old = vcpu.runstate
        event = 0x21001 | RUNSTATES.index(old) << 8 | RUNSTATES.index(to) << 4
        vcpu.runstate = to
        time = self.emit(cpu, event, vcpu.number | vcpu.domain << 16)
        state = {"running": "running", "blocked": "sleeping", "offline": "offline",
                 "runnable": "preempted" if old == "running" else "woken"}[to]
        vcpu.states[-1].end = time
        vcpu.states.append(State(time, state, vcpu.cpu))
        return time

    def schedule(self, cpu, to):
        old = self.runs[cpu]
        new = self.queues[cpu].pop(0) if self.queues[cpu] else self.idle[cpu]
        self.change(cpu, old, "runnable" if old is self.idle[cpu] else to)
        if to == "runnable" and old is not self.idle[cpu]:
            self.queues[cpu].append(old)
        self.runs[cpu] = new
        new.cpu = cpu
        self.change(cpu, new, "running")
        self.records[-1].runs = new

    def wake_some(self, cpu):
        asleep = [v for v in self.vcpus if v.runstate == "blocked" or (v.runstate == "offline" and self.chance(0.3))]
        if asleep:
            vcpu = self.rng.choice(asleep)
            if self.chance(0.3):
                vcpu.cpu = self.rng.randrange(self.n_cpus)
            self.change(cpu, vcpu, "runnable")
            self.queues[vcpu.cpu].append(vcpu)

    def loop(self, cpu):
        while True:
            vcpu = self.runs[cpu]
            if vcpu is self.idle[cpu]:
                yield self.some(5, 200)
                if self.chance(0.5):
                    self.wake_some(cpu)
                if not self.queues[cpu] and self.chance(0.3):
                    others = [q for q in self.queues if q]
                    if others:
                        moved = self.rng.choice(others).pop()
                        moved.cpu = cpu
                        self.queues[cpu].append(moved)
                if self.queues[cpu]:
                    self.schedule(cpu, "runnable")
                continue
            yield self.some(1, 20)
            entry = self.emit(cpu, 0x81001)
            if vcpu.exit:
                vcpu.exit.end, vcpu.exit.end_cpu = entry, cpu
            vcpu.in_guest.append(State(entry, "guest", cpu))
            yield self.some(3, 150)
            reason = self.rng.choice(list(REASONS))
            time = self.emit(cpu, 0x81102, REASONS[reason], 0, 0)
            vcpu.in_guest[-1].end = time
            vcpu.exit = Span("exit", reason, cpu, vcpu.name, time)
            self.spans.append(vcpu.exit)
            yield self.some(1, 10)
            if self.chance(0.3):
                self.wake_some(cpu)
            if reason == "hlt":
                yield self.some(0.5, 3)
                self.schedule(cpu, "blocked")
            elif self.chance(0.03):
                self.schedule(cpu, "offline")
            elif self.queues[cpu] and self.chance(0.4):
                self.schedule(cpu, "runnable")

    def run(self, until):
        while self.heap[0][0] < until:
            time, cpu = heapq.heappop(self.heap)
            self.now = max(self.now, time)
            heapq.heappush(self.heap, (self.now + next(self.loops[cpu]), cpu))


class XenFile:
    """What xentrace wrote, and what of that is lost: as recording.Source."""

    def __init__(self, xen, begin, end):
        self.xen, self.begin, self.end = xen, begin, end
        self.cpus = [[r for r in xen.records if r.cpu == cpu and begin <= r.time < end] for cpu in range(xen.n_cpus)]
        self.gaps = []  # (cpu, since, until)
        self.cut_at = None

    def lose(self, cpu, first, n):
        records = self.cpus[cpu]
        if first < 1 or n < 1 or first + n >= len(records):
            return
        lost = records[first:first + n]
        after = records[first + n]
        runs = lost[-1].runs
        time = after.time - 1
        words = (n, runs.domain | runs.number << 16, lost[0].time & 0xffffffff, lost[0].time >> 32)
        data = struct.pack("<IQ4I", LOST_RECORDS | 4 << 28 | 1 << 31, time, *words)
        records[first:first + n] = [Record(time, cpu, data, runs)]
        self.gaps.append((cpu, records[first - 1].time, after.time))

    def visible(self):
        return sorted((r for records in self.cpus for r in records if struct.unpack_from("<I", r.data)[0] & 0xfffffff != LOST_RECORDS),
                      key=lambda r: r.time)

    def write(self, path, step, cut=None):
        """In windows of so many nanoseconds; CUT: a share of the file that is left. Each CPU has a record there: nothing names others."""
        at = [0] * len(self.cpus)
        firsts = {}  # by CPU: the end of its first record
        places = []  # (end in the file, record)
        with open(path, "wb") as file:
            for limit in range(self.begin + step, self.end + step + 1, step):
                for cpu, records in enumerate(self.cpus):
                    data, begin = b"", file.tell() + 12
                    while at[cpu] < len(records) and records[at[cpu]].time < limit:
                        data += records[at[cpu]].data
                        places.append((begin + len(data), records[at[cpu]]))
                        firsts.setdefault(cpu, begin + len(data))
                        at[cpu] += 1
                    if data:
                        file.write(struct.pack("<III", CPU_CHANGE | 2 << 28, cpu, len(data)) + data)
            if cut:
                self.cut(file, max([int(file.tell() * cut), *firsts.values()]), places)

    def cut(self, file, size, places):
        file.truncate(size)
        kept = {id(record) for end, record in places if end <= size}
        for cpu, records in enumerate(self.cpus):
            left = [r for r in records if id(r) in kept]
            self.gaps = [g for g in self.gaps if g[0] != cpu or (left and g[2] <= left[-1].time)]
            # Of one that has nothing after that, this is not known.
            self.gaps.append((cpu, left[-1].time if left else self.begin, None))
            self.cpus[cpu] = left
