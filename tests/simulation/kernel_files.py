"""What a recording of a kernel is on a disk: pages of its ring buffers, a file for each CPU, the formats of its events,
and the manifest of a trace directory."""

import json
import os
import struct

PAGE = 4096
HEADER = 16
COMMON = [("unsigned short common_type", 2), ("unsigned char common_flags", 1),
          ("unsigned char common_preempt_count", 1), ("int common_pid", 4)]
BLOCK = [("dev_t dev", 4), ("sector_t sector", 8), ("unsigned int nr_sector", 4)]
WAKES = [("char comm[16]", 16), ("pid_t pid", 4), ("int prio", 4)]
FORMATS = {
    "sched/sched_switch": [("char prev_comm[16]", 16), ("pid_t prev_pid", 4), ("int prev_prio", 4),
                           ("long prev_state", 8), ("char next_comm[16]", 16), ("pid_t next_pid", 4),
                           ("int next_prio", 4)],
    "sched/sched_waking": WAKES + [("int target_cpu", 4)],
    "sched/sched_wakeup": WAKES + [("int target_cpu", 4)],
    "sched/sched_wakeup_new": WAKES + [("int target_cpu", 4)],
    "sched/sched_migrate_task": WAKES + [("int orig_cpu", 4), ("int dest_cpu", 4)],
    "sched/sched_process_exit": WAKES,
    "irq/irq_handler_entry": [("int irq", 4), ("__data_loc char[] name", 4)],
    "irq/irq_handler_exit": [("int irq", 4), ("int ret", 4)],
    "irq/softirq_raise": [("unsigned int vec", 4)],
    "irq/softirq_entry": [("unsigned int vec", 4)],
    "irq/softirq_exit": [("unsigned int vec", 4)],
    "kvm/kvm_entry": [("unsigned int vcpu_id", 4), ("unsigned long rip", 8), ("bool immediate_exit", 1)],
    "kvm/kvm_exit": [("unsigned int exit_reason", 4), ("unsigned long guest_rip", 8), ("u32 isa", 4), ("u64 info1", 8),
                     ("u64 info2", 8), ("u32 intr_info", 4), ("u32 error_code", 4), ("unsigned int vcpu_id", 4)],
    "block/block_bio_queue": BLOCK + [("char rwbs[8]", 8), ("char comm[16]", 16)],
    "block/block_rq_issue": BLOCK + [("unsigned int bytes", 4), ("char rwbs[8]", 8), ("char comm[16]", 16),
                                     ("__data_loc char[] cmd", 4)],
    "block/block_rq_complete": BLOCK + [("int error", 4), ("char rwbs[8]", 8), ("__data_loc char[] cmd", 4)],
    "kvm/kvm_userspace_exit": [("__u32 reason", 4), ("int errno", 4)],
    "raw_syscalls/sys_enter": [("long id", 8)],
    "raw_syscalls/sys_exit": [("long id", 8), ("long ret", 8)],
    "lock/contention_begin": [("void * lock_addr", 8), ("unsigned int flags", 4)],
    "lock/contention_end": [("void * lock_addr", 8), ("int ret", 4)],
}
IDS = {path.partition("/")[2]: 300 + i for i, path in enumerate(FORMATS)}
HEADER_PAGE = """\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;
"""


def layout(fields):
    """(declaration, name, offset, size) of each, aligned as C does it."""
    at, placed = 0, []
    for declaration, size in COMMON + fields:
        align = 1 if "[" in declaration and "__data_loc" not in declaration else size
        at += -at % align
        placed.append((declaration, declaration.split()[-1].partition("[")[0], at, size))
        at += size
    return placed, at + -at % 4


LAYOUTS = {path.partition("/")[2]: layout(fields) for path, fields in FORMATS.items()}


def payload(event):
    placed, size = LAYOUTS[event.name]
    out = bytearray(size)
    struct.pack_into("<HBBi", out, 0, IDS[event.name], 0, 0, event.pid)
    for declaration, name, offset, length in placed[len(COMMON):]:
        value = event.values[name]
        if declaration.startswith("__data_loc"):
            text = value.encode() + b"\0"
            struct.pack_into("<I", out, offset, len(text) << 16 | len(out))
            out += text
        elif isinstance(value, str):
            out[offset:offset + length] = value.encode()[:length - 1].ljust(length, b"\0")
        else:
            out[offset:offset + length] = (value & (1 << 8 * length) - 1).to_bytes(length, "little")
    return bytes(out + bytes(-len(out) % 4))


class Page:
    """Events that a page holds, in order."""

    def __init__(self):
        self.events, self.data, self.missed, self.late_by = [], b"", None, 0

    def bytes(self, to_ticks):
        commit, stored = len(self.data), b""
        if self.missed is not None:
            commit |= 1 << 31
            if self.missed and len(self.data) + 8 <= PAGE - HEADER:
                commit |= 1 << 30
                stored = struct.pack("<Q", self.missed)
        head = struct.pack("<QQ", to_ticks(self.events[0].time + self.late_by), commit)
        return (head + self.data + stored).ljust(PAGE, b"\0")


def record(delta, body):
    extend = b""
    if delta >> 27:
        extend = struct.pack("<II", 30 | (delta & (1 << 27) - 1) << 5, delta >> 27)
        delta = 0
    if len(body) <= 112:
        return extend + struct.pack("<I", len(body) // 4 | delta << 5) + body
    return extend + struct.pack("<II", delta << 5, len(body) + 4) + body


def pages_of(events, to_ticks):
    """Of one CPU."""
    pages, last = [], 0
    for event in events:
        body, ticks = payload(event), to_ticks(event.time)
        if pages and len(pages[-1].data) + len(body) + 16 <= PAGE - HEADER - 8:
            pages[-1].data += record(ticks - last, body)
        else:
            pages.append(Page())
            pages[-1].data = record(0, body)
        pages[-1].events.append(event)
        last = ticks
    return pages


def is_signed(declaration):
    return not declaration.startswith(("u", "__u", "bool"))


def format_text(name):
    """The file `format` of an event."""
    lines = [f"\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:{int(is_signed(declaration))};\n"
             for declaration, _, offset, size in LAYOUTS[name][0]]
    return (f"name: {name}\nID: {IDS[name]}\nformat:\n" + "".join(lines[:4]) + "\n" + "".join(lines[4:]) +
            '\nprint fmt: "made"\n')


def write_formats(path, clock):
    for name in FORMATS:
        os.makedirs(f"{path}/events/{name}")
        with open(f"{path}/events/{name}/format", "w", encoding="ascii") as file:
            file.write(format_text(name.partition("/")[2]))
    for name, text in (("events/header_page", HEADER_PAGE), ("events/header_event", ""), ("saved_cmdlines", ""),
                       ("trace_clock", f"local [{clock}]\n")):
        with open(f"{path}/{name}", "w", encoding="ascii") as file:
            file.write(text)


def write_manifest(path, sources):
    with open(f"{path}/trace.json", "w", encoding="ascii") as file:
        json.dump({"format": "strata-trace", "version": 1, "sources": sources}, file)
