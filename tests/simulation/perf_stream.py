"""What `perf record -o -` writes of a made machine: a stream of records, in rounds."""

import struct

import kernel_files
from recording import BASE, Gap, Source

# What samples hold: PERF_SAMPLE_IP, TID, TIME, CPU, PERIOD, RAW, IDENTIFIER.
SAMPLE = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 7 | 1 << 8 | 1 << 10 | 1 << 16
READ_ID, SAMPLE_ID_ALL, USE_CLOCKID = 1 << 2, 1 << 18, 1 << 25
COMM, LOST, SAMPLE_RECORD, ATTR, TRACING_DATA, ROUND, ID_INDEX, FEATURE = 3, 2, 9, 64, 66, 68, 69, 80
FREQ, WRITE_BACKWARD = 1 << 10, 1 << 27
NRCPUS = 7
NAMES = [path.partition("/")[2] for path in kernel_files.FORMATS]


class Block:
    """What a round has of a CPU; before it `missed` events were lost."""

    def __init__(self, events, number):
        self.events, self.number, self.missed = events, number, 0


def record(kind, body):
    body += bytes(-len(body) % 8)
    return struct.pack("<IHH", kind, 0, 8 + len(body)) + body


def trailer(number, pid, time, cpu):
    return struct.pack("<IIQIIQ", pid, pid, time, cpu, 0, number)


def tracing_data():
    made = b"\x17\x08\x44tracing0.6\0\0\x08" + struct.pack("<I", 4096)
    for name, text in ("header_page", kernel_files.HEADER_PAGE), ("header_event", "# nothing\n"):
        made += name.encode() + b"\0" + struct.pack("<Q", len(text)) + text.encode()
    groups = {}
    for path in kernel_files.FORMATS:
        group, _, name = path.partition("/")
        groups.setdefault(group, []).append(kernel_files.format_text(name).encode())
    made += struct.pack("<II", 0, len(groups))
    for group, texts in groups.items():
        made += group.encode() + b"\0" + struct.pack("<I", len(texts))
        made += b"".join(struct.pack("<Q", len(text)) + text for text in texts)
    return made + struct.pack("<IIQ", 0, 0, 0)


class PerfStream(Source):
    def __init__(self, kernel, begin, end, step, lag=0):
        """LAG: perf switches its events off on one CPU after the other, each so much later."""
        self.step, self.cut_at, self.lag = step, None, lag
        self.period, self.flags, self.tid = 1, 0, -1  # of the events, as perf was asked to record
        super().__init__(kernel, begin, end)
        self.facts["begins_apart"] = True  # on one CPU after the other

    def make_pages(self):
        return [self.pages_of([e for e in self.kernel.events if e.cpu == cpu and self.begin <= e.time < self.end_of(cpu)])
                for cpu in range(self.kernel.n_cpus)]

    def end_of(self, cpu):
        return self.end - (self.kernel.n_cpus - 1 - cpu) * self.lag

    def pages_of(self, events):
        rounds = {}
        for event in events:
            rounds.setdefault((event.time - self.begin) // self.step, []).append(event)
        return [Block(events, number) for number, events in sorted(rounds.items())]

    def lose(self, cpu, first, n_pages, is_counted):
        """Its ring is full from some event of a round on, until perf has read it and the kernel has something to write."""
        pages = self.cpus[cpu]
        if first + 1 >= len(pages) or len(pages[first].events) < 2 or pages[first + 1].missed:
            return
        block, after = pages[first:first + 2]
        kept = max(1, len(block.events) - n_pages * 5)
        late = min(len(after.events) - 1, 2 * n_pages if is_counted else 0)
        after.missed = len(block.events) - kept + late
        del block.events[kept:], after.events[:late]
        self.gaps.append(Gap(cpu, block.events[-1].time, after.events[0].time))

    def cut(self, rng):
        """The stream ends within a record."""
        blocks = self.order()
        if len(blocks) < 3:
            return
        at = rng.randrange(1, len(blocks))
        self.cut_at = rng.randint(1, 60)
        last = {}
        for cpu, block in blocks[:at]:
            last[cpu] = block.events[-1].time
        self.cut_block = blocks[at]
        for cpu in range(self.kernel.n_cpus):
            # Nothing shows that a CPU had no more events.
            self.gaps.append(Gap(cpu, last.get(cpu), None))
            self.cpus[cpu] = [block for of, block in blocks[:at] if of == cpu]

    def order(self):
        return sorted(((cpu, block) for cpu, blocks in enumerate(self.cpus) for block in blocks),
                      key=lambda both: (both[1].number, both[0]))

    def id(self, name, cpu):
        return NAMES.index(name) * self.kernel.n_cpus + cpu + 1

    def sample(self, event):
        raw = kernel_files.payload(event)
        raw += bytes(-(len(raw) + 4) % 8)
        body = struct.pack("<QQIIQIIQI", self.id(event.name, event.cpu), 0, event.pid, event.pid, BASE + event.time, event.cpu, 0,
                           1, len(raw))
        return record(SAMPLE_RECORD, body + raw)

    def bytes_of(self, cpu, block):
        made = b""
        if block.missed:
            first = block.events[0]
            made = record(LOST, struct.pack("<QQ", self.id("sched_switch", cpu), block.missed) +
                          trailer(self.id("sched_switch", cpu), 0, BASE + first.time - 1, cpu))
        return made + b"".join(self.sample(event) for event in block.events)

    def write(self, path):
        n_cpus = self.kernel.n_cpus
        for cpu, blocks in enumerate(self.cpus):
            if blocks and not self.cut_at:
                self.gaps.append(Gap(cpu, blocks[-1].events[-1].time, None))
        made = b"PERFILE2" + struct.pack("<Q", 16)
        for name in NAMES:
            attr = struct.pack("<IIQQQQQII", 2, 128, kernel_files.IDS[name], self.period, SAMPLE, READ_ID,
                               SAMPLE_ID_ALL | USE_CLOCKID | self.flags, 0, 0)
            attr = (attr + bytes(92 - len(attr)) + struct.pack("<i", 1)).ljust(128, b"\0")
            made += record(ATTR, attr + struct.pack(f"<{n_cpus}Q", *(self.id(name, cpu) for cpu in range(n_cpus))))
        made += record(FEATURE, struct.pack("<QII", NRCPUS, n_cpus, n_cpus))
        data = tracing_data()
        made += record(TRACING_DATA, struct.pack("<II", len(data), 0)) + data + bytes(-len(data) % 8)
        if self.tid > 0:
            ids = [self.id(name, cpu) for name in NAMES for cpu in range(n_cpus)]
            made += record(ID_INDEX, struct.pack("<Q", len(ids)) +
                           b"".join(struct.pack("<QQqq", number, 0, (number - 1) % n_cpus, self.tid) for number in ids))
        number = None
        for cpu, block in self.order():
            if number not in (None, block.number):
                made += record(ROUND, b"")
            number = block.number
            made += self.bytes_of(cpu, block)
        if self.cut_at:
            cpu, block = self.cut_block
            if number not in (None, block.number):
                made += record(ROUND, b"")
            made += self.bytes_of(cpu, block)[:self.cut_at]
        else:
            made += record(ROUND, b"")
        with open(path, "wb") as file:
            file.write(made)
