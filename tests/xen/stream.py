#!/usr/bin/env python3
"""Reads a stream of xentrace as strictly as it can be read, to check what Strata makes of it. Shares
nothing with Strata's reader; written from the format alone (docs/man/strata-xentrace.5).

    stream.py FILE...     counts, by class
"""
import collections
import struct
import sys

LOST, WRAP, CPU_CHANGE = 0x1F001, 0x1F002, 0x1F003
CLASSES = {
    0x001: "gen",
    0x002: "sched",
    0x004: "dom0op",
    0x008: "hvm",
    0x010: "mem",
    0x020: "pv",
    0x040: "shadow",
    0x080: "hw",
    0x800: "guest",
}

# tsc: None where the record has none; time: then that of the record before on its cpu.
Record = collections.namedtuple("Record", "cpu event tsc time words")
Loss = collections.namedtuple("Loss", "cpu count first tsc")


class Stream:
    """windows: how many; cpus: records of each, in order; losses; backwards: steps of a cpu's TSC."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.path = path
        self.windows = 0
        self.cpus = collections.defaultdict(list)
        self.losses = []
        self.wraps = 0
        self.backwards = 0
        times = {}
        cpu = end = None
        at = 0
        while at < len(data):
            if at + 4 > len(data):
                raise ValueError(f"{path}: {len(data) - at} bytes after the last record")
            (head,) = struct.unpack_from("<I", data, at)
            event, n, has_tsc = head & 0xFFFFFFF, head >> 28 & 7, head >> 31
            size = 4 + 8 * has_tsc + 4 * n
            if at + size > len(data):
                raise ValueError(f"{path}: the record at {at:#x} is cut")
            tsc = struct.unpack_from("<Q", data, at + 4)[0] if has_tsc else None
            words = struct.unpack_from(f"<{n}I", data, at + size - 4 * n)
            if event == CPU_CHANGE:
                if end is not None and at != end:
                    raise ValueError(f"{path}: a window should end at {end:#x}, not {at:#x}")
                cpu = words[0]
                end = at + size + words[1]
                self.windows += 1
                self.cpus[cpu]
            else:
                if end is None or at + size > end:
                    raise ValueError(f"{path}: the record at {at:#x} is outside of its window")
                if not event & 0xFFF0000:
                    raise ValueError(f"{path}: the record at {at:#x} has no class: {head:#010x}")
                if tsc is not None:
                    self.backwards += tsc < times.get(cpu, 0)
                    times[cpu] = tsc
                if event == WRAP:
                    self.wraps += 1
                elif event == LOST:
                    self.losses.append(Loss(cpu, words[0], words[2] | words[3] << 32, tsc))
                else:
                    self.cpus[cpu].append(Record(cpu, event, tsc, times.get(cpu), words))
            at += size
        if end is not None and at != end:
            raise ValueError(f"{path}: the last window should end at {end:#x}, not {at:#x}")

    def records(self):
        """Of all cpus in the order of time; each cpu's in its own order."""
        every = []
        for records in self.cpus.values():
            time = 0
            for i, record in enumerate(records):
                time = max(time, record.time or 0)
                every.append((time, record.cpu, i, record))
        every.sort(key=lambda entry: entry[:3])
        return [entry[3] for entry in every]

    def of_event(self, event):
        return [r for records in self.cpus.values() for r in records if r.event == event]

    def classes(self):
        counts = collections.Counter()
        for records in self.cpus.values():
            counts.update(CLASSES.get(r.event >> 16, hex(r.event >> 16)) for r in records)
        return counts

    def lost(self):
        return sum(loss.count for loss in self.losses)


if __name__ == "__main__":
    for path in sys.argv[1:]:
        stream = Stream(path)
        print(
            f"{path}: {sum(stream.classes().values())} records in {stream.windows} windows of "
            f"{len(stream.cpus)} cpus, {stream.lost()} lost in {len(stream.losses)} places, "
            f"{stream.wraps} wraps, {stream.backwards} steps backwards"
        )
        for name, count in sorted(stream.classes().items()):
            print(f"    {name:7} {count}")
