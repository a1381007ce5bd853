"""The text that perf or ftrace print of a made machine: one file, in the order of time, in which a loss is told after it, where the
next event of its CPU is."""

from machine import EXITED, PREEMPTED, REASONS, SOFTIRQ_NAMES
from perf_stream import PerfStream
from recording import BASE, Gap, Source

STATES = {0: "R", 1: "S", 2: "D", 4: "T", EXITED: "X", PREEMPTED: "R+"}
WAKE = "comm={comm} pid={pid} prio={prio} target_cpu={target_cpu:03d}"
TEXTS = {
    "sched_switch": "prev_comm={prev_comm} prev_pid={prev_pid} prev_prio={prev_prio} prev_state={letter} ==> "
                    "next_comm={next_comm} next_pid={next_pid} next_prio={next_prio}",
    "sched_waking": WAKE,
    "sched_wakeup": WAKE,
    "sched_wakeup_new": WAKE,
    "sched_migrate_task": "comm={comm} pid={pid} prio={prio} orig_cpu={orig_cpu} dest_cpu={dest_cpu}",
    "sched_process_exit": "comm={comm} pid={pid} prio={prio}",
    "irq_handler_entry": "irq={irq} name={name}",
    "irq_handler_exit": "irq={irq} ret=handled",
    "softirq_raise": "vec={vec} [action={action}]",
    "softirq_entry": "vec={vec} [action={action}]",
    "softirq_exit": "vec={vec} [action={action}]",
    "kvm_entry": "vcpu {vcpu_id}, rip 0x{rip:x}",
    "kvm_exit": "vcpu {vcpu_id} reason {reason} rip 0x{guest_rip:x} info1 0x{info1:016x} info2 0x{info2:016x} "
                "intr_info 0x{intr_info:08x} error_code 0x{error_code:08x}",
    "kvm_userspace_exit": "reason KVM_EXIT_IO ({reason})",
    "block_bio_queue": "{device} {rwbs} {sector} + {nr_sector} [{comm}]",
    "block_rq_issue": "{device} {rwbs} {bytes} ({cmd}) {sector} + {nr_sector} none,0,0 [{comm}]",
    "block_rq_complete": "{device} {rwbs} ({cmd}) {sector} + {nr_sector} none,0,0 [{error}]",
}
GROUPS = {"sched": "sched", "irq": "irq", "softirq": "irq", "kvm": "kvm", "block": "block"}


def text_of(event):
    values = dict(event.values)
    if event.name == "sched_switch":
        values["letter"] = STATES[values["prev_state"]]
    if "vec" in values:
        values["action"] = SOFTIRQ_NAMES[values["vec"]]
    if "dev" in values:
        values["device"] = f"{values['dev'] >> 20},{values['dev'] & 0xfffff}"
    if event.name == "kvm_exit":
        values["reason"] = next(name for name, number in REASONS.items() if number == values["exit_reason"])
    return TEXTS[event.name].format(**values)


class Piece:
    """Some events of a CPU; before the first one `missed` were lost, which is None where that is not known."""

    def __init__(self):
        self.events, self.missed, self.is_after_loss = [], 0, False


class TextFile(Source):
    def __init__(self, kernel, begin, end, is_perf, length, lag=0):
        """LAG: as PerfStream's."""
        self.is_perf, self.length, self.lag = is_perf, length, lag if is_perf else 0
        self.comms = {}
        super().__init__(kernel, begin, end)
        self.facts["begins_apart"] = is_perf  # on one CPU after the other
        self.comms = {thread.pid: thread.comm for thread in kernel.threads}

    make_pages, end_of = PerfStream.make_pages, PerfStream.end_of

    def pages_of(self, events):
        pieces = []
        for i, event in enumerate(events):
            if i % self.length == 0:
                pieces.append(Piece())
            pieces[-1].events.append(event)
        return pieces

    def lose(self, cpu, first, n_pages, is_counted):
        pages = self.cpus[cpu]
        if first < 1 or n_pages < 1 or first + n_pages >= len(pages):
            return
        lost = sum(len(piece.events) for piece in pages[first:first + n_pages])
        after = pages[first + n_pages]
        after.is_after_loss = True
        after.missed = lost if is_counted or self.is_perf else None
        del pages[first:first + n_pages]
        self.gaps.append(Gap(cpu, pages[first - 1].events[-1].time, after.events[0].time))

    def line(self, event, name, text):
        seconds, ns = divmod(BASE + event.time, 10**9)
        comm = self.comms.get(event.pid, "swapper" if self.is_perf else "<idle>")
        if self.is_perf:
            return f"{comm:>16} {event.pid:5} [{event.cpu:03d}] {seconds:5}.{ns:09}: {name}: {text}\n"
        return f"{comm:>16}-{event.pid:<7} [{event.cpu:03d}] d.... {seconds}.{ns:09}: {name}: {text}\n"

    def write(self, path):
        lines = []
        for cpu, pieces in enumerate(self.cpus):
            if pieces and self.is_perf:
                self.gaps.append(Gap(cpu, pieces[-1].events[-1].time, None))
            for piece in pieces:
                for event in piece.events:
                    group = GROUPS[event.name.split("_")[0]]
                    lines.append((self.stray.get((cpu, event.time), event.time), self.line(event, f"{group}:{event.name}" if self.is_perf else event.name, text_of(event))))
                if not piece.is_after_loss:
                    continue
                first = piece.events[0]
                number = "" if piece.missed is None else f"{piece.missed} "
                lines.append((first.time - 0.5, self.line(first._replace(time=first.time - 1), "PERF_RECORD_LOST lost", piece.missed)
                              .replace("lost: ", "lost ") if self.is_perf else f"CPU:{first.cpu} [LOST {number}EVENTS]\n"))
        with open(path, "w", encoding="ascii") as file:
            released = self.facts.get("released", {})
            if released:
                file.write(f"# entries-in-buffer/entries-written: {len(lines)}/{len(lines) + sum(released.values())}   #P:{self.kernel.n_cpus}\n")
            file.write("".join(line for _, line in sorted(lines, key=lambda both: both[0])))
