"""A made machine: a host's kernel with KVM, the threads and vCPUs that it runs, and the kernels of the guests in them.

It makes the events that such a machine has, and says what really happened: the state of every thread and CPU at any
time, and every exit, interrupt and softirq with its begin and end. Nothing here is taken from how Strata finds these.

A thread is a generator, which yields how long it runs until its next event, or the letter of the state in which it
leaves its CPU. So is a CPU; that of a guest goes on only while its vCPU is in the guest."""

import heapq
from collections import namedtuple

from disk import Disk, Vmm

Event = namedtuple("Event", "time cpu pid name values")

SLEEPS = {"S": ("sleeping", 1), "D": ("uninterruptible", 2), "T": ("sleeping", 4)}
PREEMPTED, EXITED = 0x100, 0x10  # prev_state
REASONS = {"interrupt": 0x60, "cpuid": 0x72, "hlt": 0x78, "io": 0x7b, "msr": 0x7c, "npf": 0x400}  # of SVM
SOFTIRQS = (1, 3, 7, 9)
SOFTIRQ_NAMES = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU")
CALLS = {7: "poll", 202: "futex", 230: "clock_nanosleep"}  # of x86
LOCKS = {0x20: "a mutex", 0x02: "a lock to read", 0x04: "a lock to write", 0: "a lock of the kernel"}  # by flags
MICRO, MILLI = 1000, 1000000


class State:
    """What a thread or a CPU did; `end` is None up to the end of the machine."""
    __slots__ = ("begin", "end", "state", "cpu", "by")

    def __init__(self, begin, state, cpu=None, by=None):
        self.begin, self.end, self.state, self.cpu, self.by = begin, None, state, cpu, by


class Span:
    """Something that began and ended; `end` is None where it had not ended."""
    __slots__ = ("kind", "key", "cpu", "pid", "begin", "end", "raises", "vmm_from", "end_cpu", "inner")

    def __init__(self, kind, key, cpu, pid, begin):
        self.kind, self.key, self.cpu, self.pid, self.begin, self.end = kind, key, cpu, pid, begin, None
        self.vmm_from = self.end_cpu = None
        self.raises = []  # of a softirq, since it ran last
        self.inner = 0  # in interrupts inside of it


class Thread:
    def __init__(self, kernel, pid, comm, cpu, body):
        self.pid, self.comm, self.cpu = pid, comm, cpu
        self.busy = False  # it cannot be preempted now
        self.vcpu = None
        self.states = []
        self.in_guest = []  # States of the times in its guest
        self.moves = []  # [time, CPU] where it waited, and then waits for that CPU
        self.calls = []  # [begin, end, what it is in]; inner ones are later
        self.is_new = self.is_stopped = False
        self.body = body(kernel, self)


class Kernel:
    def __init__(self, machine, name, n_cpus, is_guest=False):
        self.machine, self.name, self.n_cpus, self.is_guest = machine, name, n_cpus, is_guest
        self.rng = machine.rng
        self.events, self.spans, self.threads = [], [], []
        self.runs = [None] * n_cpus
        self.queues = [[] for _ in range(n_cpus)]
        self.cpus = [[State(0, "idle")] for _ in range(n_cpus)]
        self.nested = [[] for _ in range(n_cpus)]  # interrupts
        self.raised = [{} for _ in range(n_cpus)]
        self.kicks = set()  # halted CPUs of a guest that got something to run
        self.last_pid = 100
        self.disk = None
        self.loops = [self.cpu_loop(cpu) for cpu in range(n_cpus)]

    def chance(self, share):
        return self.rng.random() < share

    def some(self, low, high):
        """A duration in microseconds, most of them short."""
        return int(low * MICRO * (high / low) ** self.rng.random())

    def emit(self, cpu, name, /, **values):
        time = self.machine.stamp()
        runs = self.runs[cpu]
        self.events.append(Event(time, cpu, runs.pid if runs else 0, name, values))
        return time

    # ---- states ----

    def add_thread(self, comm, cpu, body, state="sleeping"):
        self.last_pid += 1
        thread = Thread(self, self.last_pid, comm, cpu, body)
        self.threads.append(thread)
        if state:
            thread.states.append(State(0, state, cpu))
        return thread

    def set_state(self, thread, time, state, cpu, by=None):
        if thread.states:
            thread.states[-1].end = time
        if state:
            thread.states.append(State(time, state, cpu, by))

    def set_cpu(self, cpu, time, state):
        states = self.cpus[cpu]
        states[-1].end = time
        states.append(State(time, state))

    def switch(self, cpu, letter=None):
        old, queue = self.runs[cpu], self.queues[cpu]
        new = queue.pop(0) if queue else None
        number = SLEEPS[letter][1] if letter in SLEEPS else {"R": PREEMPTED, "X": EXITED, None: 0}[letter]
        time = self.emit(cpu, "sched_switch", prev_comm=old.comm if old else f"swapper/{cpu}",
                         prev_pid=old.pid if old else 0, prev_prio=120, prev_state=number,
                         next_comm=new.comm if new else f"swapper/{cpu}", next_pid=new.pid if new else 0, next_prio=120)
        if letter == "R":
            self.set_state(old, time, "preempted", cpu)
            queue.append(old)
        elif letter == "X":
            self.set_state(old, time, None, cpu)
        elif letter:
            self.set_state(old, time, SLEEPS[letter][0], cpu)
        self.runs[cpu] = new
        if new:
            new.cpu = cpu
            self.set_state(new, time, "running", cpu)
        self.set_cpu(cpu, time, "running" if new else "idle")

    def wake(self, cpu, thread):
        """By what CPU runs, or the interrupt that is handled there."""
        target = self.rng.randrange(self.n_cpus) if self.chance(0.4) else thread.cpu
        named = {"comm": thread.comm, "pid": thread.pid, "prio": 120}
        if thread.is_new:
            thread.is_new = False
            time = self.emit(cpu, "sched_wakeup_new", **named, target_cpu=target)
        else:
            time = self.emit(cpu, "sched_waking", **named, target_cpu=thread.cpu)
            if target != thread.cpu:
                self.emit(cpu, "sched_migrate_task", **named, orig_cpu=thread.cpu, dest_cpu=target)
            later = self.emit(cpu, "sched_wakeup", **named, target_cpu=target)
            if not self.machine.has_waking:
                time = later
        by = -2 if self.nested[cpu] else self.runs[cpu].pid if self.runs[cpu] else 0
        self.set_state(thread, time, "woken", target, by)
        thread.cpu = target
        self.queues[target].append(thread)
        if self.is_guest:
            self.kicks.add(target)

    def wake_some(self, cpu):
        sleepers = [t for t in self.threads if not t.is_stopped and (t.is_new or t.states[-1].end is None and t.states[-1].state in
                    ("sleeping", "uninterruptible"))]
        if sleepers:
            self.wake(cpu, self.rng.choice(sleepers))

    def go_on(self, cpu):
        """Wakes what the pause of a machine has stopped, when it is over."""
        if self.machine.is_paused():
            return
        for thread in self.threads:
            if thread.is_stopped:
                thread.is_stopped = False
                if thread.states[-1].state == "sleeping":
                    self.wake(cpu, thread)

    # ---- interrupts ----

    def begin_interrupt(self, cpu, kind, key, time):
        runs = self.runs[cpu]
        span = Span(kind, key, cpu, runs.pid if runs else 0, time)
        if not self.nested[cpu]:
            self.set_cpu(cpu, time, "interrupt")
        self.nested[cpu].append(span)
        self.spans.append(span)
        return span

    def end_interrupt(self, cpu, time):
        span = self.nested[cpu].pop()
        span.end, span.end_cpu = time, cpu
        if self.nested[cpu]:
            self.nested[cpu][-1].inner += time - span.begin
        else:
            self.set_cpu(cpu, time, "running" if self.runs[cpu] else "idle")

    def interrupt(self, cpu):
        finished = self.disk.take_finished() if self.disk else []
        irq = self.disk.irq if finished else self.rng.choice([1, 9, 24, 25])
        name = self.disk.name if finished else f"device{irq}"
        time = self.emit(cpu, "irq_handler_entry", irq=irq, name=name)
        self.begin_interrupt(cpu, "irq", name, time)
        yield self.some(1, 15)
        for request in finished:
            self.disk.complete(cpu, request, time)
            yield self.some(0.2, 5)
        if self.chance(0.6):
            self.wake_some(cpu)
        while self.chance(0.4):
            vector = self.rng.choice(SOFTIRQS)
            self.raised[cpu].setdefault(vector, []).append(self.emit(cpu, "softirq_raise", vec=vector))
        yield self.some(0.2, 2)
        self.end_interrupt(cpu, self.emit(cpu, "irq_handler_exit", irq=irq, ret=1))
        if self.nested[cpu]:
            return
        while self.raised[cpu]:
            yield self.some(0.2, 2)
            vector = self.rng.choice(list(self.raised[cpu]))
            raises = self.raised[cpu].pop(vector)
            span = self.begin_interrupt(cpu, "softirq", SOFTIRQ_NAMES[vector], self.emit(cpu, "softirq_entry", vec=vector))
            span.raises = raises
            yield self.some(1, 20)
            if self.chance(0.2):
                yield from self.interrupt(cpu)
            if self.chance(0.3):
                self.wake_some(cpu)
            yield self.some(0.2, 5)
            self.end_interrupt(cpu, self.emit(cpu, "softirq_exit", vec=vector))

    # ---- CPUs and threads ----

    def pull(self, cpu):
        """Takes what waits for another CPU."""
        others = [q for q in self.queues if q]
        if not others:
            return
        thread = self.rng.choice(self.rng.choice(others))
        self.queues[thread.cpu].remove(thread)
        time = self.emit(cpu, "sched_migrate_task", comm=thread.comm, pid=thread.pid, prio=120, orig_cpu=thread.cpu, dest_cpu=cpu)
        thread.moves.append((time, cpu))
        thread.cpu = cpu
        self.queues[cpu].append(thread)

    def cpu_loop(self, cpu):
        while True:
            thread = self.runs[cpu]
            if not self.is_guest:
                self.go_on(cpu)
            if thread:
                step = next(thread.body)
                if not isinstance(step, int):
                    self.switch(cpu, step)
                    continue
                yield step
                if not thread.busy and self.queues[cpu] and self.chance(0.3):
                    self.switch(cpu, "R")
                continue
            if not self.queues[cpu]:
                yield "hlt" if self.is_guest else self.some(5, 300)
            if not self.queues[cpu] and self.chance(0.6):
                yield from self.interrupt(cpu)
            if not self.queues[cpu] and self.chance(0.3):
                self.pull(cpu)
            if self.queues[cpu]:
                yield self.some(0.2, 5)
            if self.queues[cpu]:
                self.switch(cpu)


def sleep_in_call(kernel, thread):
    """Sleeps in a system call, maybe for a lock of the kernel."""
    def enter(begins, phrase, **values):
        thread.calls.append([kernel.emit(thread.cpu, begins, **values), None, phrase])
        return thread.calls[-1]

    number, name = kernel.rng.choice(list(CALLS.items()))
    call = enter("sys_enter", f"in {name}", id=number)
    yield kernel.some(0.2, 5)
    flags, lock = kernel.rng.choice(list(LOCKS.items()))
    inner = kernel.chance(0.3) and enter("contention_begin", f"for {lock}", lock_addr=1 << 40, flags=flags)
    yield kernel.rng.choice("SSSD")
    if inner:
        inner[1] = kernel.emit(thread.cpu, "contention_end", lock_addr=1 << 40, ret=0)
        yield kernel.some(0.2, 5)
    call[1] = kernel.emit(thread.cpu, "sys_exit", id=number, ret=0)


def worker(kernel, thread):
    """The body of a thread that does all that threads do."""
    while True:
        yield kernel.some(3, 300)
        what = kernel.rng.random()
        if what < 0.3:
            kernel.wake_some(thread.cpu)
        elif what < 0.45:
            thread.busy = True
            yield from kernel.interrupt(thread.cpu)
            thread.busy = False
        elif what < 0.6 and kernel.disk:
            yield from kernel.disk.do(thread)
        elif what < 0.8 and kernel.machine.has_calls:
            yield from sleep_in_call(kernel, thread)
        elif what < 0.8:
            yield kernel.rng.choice("SSSD")
        elif what < 0.82 and len(kernel.threads) < 40:
            kernel.add_thread(f"new-{kernel.last_pid}", thread.cpu, worker, None).is_new = True
        elif what < 0.83 and len([t for t in kernel.threads if t.vcpu is None]) > 4:
            kernel.emit(thread.cpu, "sched_process_exit", comm=thread.comm, pid=thread.pid, prio=120)
            yield kernel.some(1, 20)
            yield "X"


def vcpu_of(guest, number):
    """The body of the thread that runs vCPU NUMBER of GUEST."""
    def body(kernel, thread):
        rest, exit_span = 0, None
        thread.vcpu = number
        while True:
            yield kernel.some(1, 20)
            entry = kernel.emit(thread.cpu, "kvm_entry", vcpu_id=number, rip=0, immediate_exit=0)
            if exit_span:
                exit_span.end, exit_span.end_cpu = entry, thread.cpu
            thread.in_guest.append(State(entry, "guest", thread.cpu))
            thread.busy, reason, budget = True, None, kernel.some(5, 200)
            while not reason:
                if rest == 0:
                    rest = next(guest.loops[number])
                    if rest == "hlt":
                        rest, reason = 0, "hlt"
                        break
                step = min(rest, budget)
                yield step
                rest, budget = rest - step, budget - step
                reason = ("interrupt" if kernel.machine.is_paused() else
                          "io" if kernel.machine.vmm and kernel.machine.vmm.is_kicked else
                          "msr" if guest.kicks - {number} else "interrupt" if budget <= 0 else
                          kernel.rng.choice(["io", "cpuid", "npf"]) if kernel.chance(0.1) else None)
            time = kernel.emit(thread.cpu, "kvm_exit", exit_reason=REASONS[reason], guest_rip=0, isa=2, info1=0, info2=0,
                               intr_info=0, error_code=0, vcpu_id=number)
            thread.in_guest[-1].end = time
            exit_span = Span("exit", reason, thread.cpu, thread.pid, time)
            kernel.spans.append(exit_span)
            if reason == "interrupt":
                yield kernel.some(0.2, 2)
                yield from kernel.interrupt(thread.cpu)
            thread.busy = False
            if kernel.machine.vmm:
                kernel.machine.vmm.after_exit(thread.cpu)
            if kernel.machine.is_paused():
                thread.is_stopped = True
                yield "T"
            if reason == "msr":
                for other in sorted(guest.kicks - {number}):
                    runner = guest.vcpus[other]
                    if runner.is_stopped:
                        continue
                    if runner.states[-1].state == "sleeping":
                        yield kernel.some(0.5, 5)
                    if runner.states[-1].state == "sleeping" and not runner.is_stopped:
                        kernel.wake(thread.cpu, runner)
                guest.kicks.clear()
            elif reason == "hlt":
                yield kernel.some(1, 10)
                yield "S"
            elif reason == "io":
                yield kernel.some(1, 10)
                exit_span.vmm_from = kernel.emit(thread.cpu, "kvm_userspace_exit", reason=2, errno=0)
                yield kernel.some(3, 60)
                if kernel.chance(0.3):
                    yield "S"
                    yield kernel.some(1, 30)
            elif reason == "npf" and kernel.chance(0.3):
                yield kernel.some(1, 10)
                yield "D"
    return body


class Machine:
    def __init__(self, rng, n_cpus, n_vcpus, n_threads, has_waking=True, has_disk=False, has_calls=False):
        self.rng, self.now, self.has_waking, self.has_calls = rng, 0, has_waking, has_calls
        self.pause = None  # (begin, end) of the time in which the guest's machine is stopped
        self.host = Kernel(self, "host", n_cpus)
        self.guest = self.vmm = None
        if has_disk:
            self.host.disk = Disk(self.host, 8 << 20, 16, "ahci")
        if n_vcpus:
            self.guest = Kernel(self, "guest", n_vcpus, is_guest=True)
            self.guest.vcpus = [self.host.add_thread(f"CPU {v}/KVM", rng.randrange(n_cpus), vcpu_of(self.guest, v))
                                for v in range(n_vcpus)]
            for i in range(rng.randint(1, 5)):
                self.guest.add_thread(f"app-{i}", rng.randrange(n_vcpus), worker)
            if has_disk:
                self.guest.disk = Disk(self.guest, 254 << 20, 30, "virtio0-req.0")
                self.vmm = Vmm(self.guest, self.host)
        for i in range(n_threads):
            self.host.add_thread(f"task-{i}", rng.randrange(n_cpus), worker)
        self.heap = [(rng.randrange(100 * MICRO), cpu) for cpu in range(n_cpus)]
        heapq.heapify(self.heap)

    def is_paused(self):
        return self.pause is not None and self.pause[0] <= self.now < self.pause[1]

    def stamp(self):
        """No two events have one time."""
        self.now += self.rng.randint(4, 400)
        return self.now

    def run(self, until):
        while self.heap[0][0] < until:
            time, cpu = heapq.heappop(self.heap)
            self.now = max(self.now, time)
            heapq.heappush(self.heap, (self.now + next(self.host.loops[cpu]), cpu))
        self.now = max(self.now, until)
