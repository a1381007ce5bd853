"""What LTTng writes of a made machine: a trace in CTF 1.8, with a stream for each CPU; and what `perf data convert` makes of perf's."""

import os
import struct

import kernel_files
from perf_stream import PerfStream
from recording import BASE, Gap, Source

UUID = bytes(range(1, 17))
PACKET = 4096
HEADER = 24 + 52  # of a packet, with its context
RENAMED = {"kvm_exit": "kvm_x86_exit", "kvm_entry": "kvm_x86_entry", "softirq_raise": "irq_softirq_raise",
           "softirq_entry": "irq_softirq_entry", "softirq_exit": "irq_softirq_exit"}
METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
trace {
	major = 1; minor = 8; uuid = "01020304-0506-0708-090a-0b0c0d0e0f10"; byte_order = le;
	packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; };
};
env { hostname = "made"; domain = "kernel"; sysname = "Linux"; kernel_release = "6.1.0"; tracer_name = "lttng-modules"; };
clock { name = "monotonic"; freq = 1000000000; offset = 0; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := time_t;
stream {
	id = 0;
	event.header := struct { uint32_t id; time_t timestamp; };
	event.context := struct { integer { size = 32; align = 8; signed = true; } _tid; };
	packet.context := struct { time_t timestamp_begin; time_t timestamp_end; uint64_t content_size; uint64_t packet_size;
		uint64_t packet_seq_num; uint64_t events_discarded; uint32_t cpu_id; };
};
"""


def fields_of(path):
    return [(declaration, name, size) for declaration, name, _, size in
            kernel_files.LAYOUTS[path.partition("/")[2]][0][len(kernel_files.COMMON):]]


def metadata(is_perf):
    made = METADATA
    if is_perf:
        made = made.replace("lttng-modules", "perf").replace("\tevent.context := struct { integer { size = 32; align = 8; signed = true; } _tid; };\n", "")
    for number, path in enumerate(kernel_files.FORMATS):
        name = path.partition("/")[2]
        fields = "integer { size = 32; align = 8; signed = true; } perf_tid; " if is_perf else ""
        for declaration, field, size in fields_of(path):
            field = field.replace("pid", "tid") if "pid" in field and not is_perf else field
            signed = str(kernel_files.is_signed(declaration)).lower()
            if declaration.startswith("__data_loc"):
                fields += f"string _{field}; "
            elif declaration.startswith("char"):
                fields += f"integer {{ size = 8; align = 8; signed = false; encoding = UTF8; }} _{field}[{size}]; "
            else:
                fields += f"integer {{ size = {8 * size}; align = 8; signed = {signed}; }} _{field}; "
        made += f'event {{ id = {number}; stream_id = 0; name = "{path.replace("/", ":") if is_perf else RENAMED.get(name, name)}"; fields := struct {{ {fields}}}; }};\n'
    return made


NUMBERS = {path.partition("/")[2]: (number, fields_of(path)) for number, path in enumerate(kernel_files.FORMATS)}


def record(event):
    number, fields = NUMBERS[event.name]
    made = struct.pack("<IQi", number, BASE + event.time, event.pid)
    for declaration, name, size in fields:
        value = event.values[name]
        if declaration.startswith("__data_loc"):
            made += value.encode() + b"\0"
        elif isinstance(value, str):
            made += value.encode()[:size - 1].ljust(size, b"\0")
        else:
            made += (value & (1 << 8 * size) - 1).to_bytes(size, "little")
    return made


class Packet:
    def __init__(self, number):
        self.events, self.data, self.number, self.discarded, self.end = [], b"", number, 0, None
        self.is_partial = False  # the stream ends within it

    def bytes(self, cpu, discarded):
        """DISCARDED: on this CPU so far."""
        end = self.end if self.end is not None else self.events[-1].time
        size = HEADER + len(self.data)
        return (struct.pack("<I", 0xc1fc1fc1) + UUID +
                struct.pack("<IQQQQQQI", 0, BASE + self.events[0].time, BASE + end, 8 * size, 8 * PACKET, self.number, discarded, cpu) +
                self.data).ljust(PACKET, b"\0")


class LttngTrace(Source):
    names, is_perf = RENAMED, False

    def __init__(self, kernel, begin, end):
        self.partial = {}
        super().__init__(kernel, begin, end)

    def pages_of(self, events):
        packets = []
        for event in events:
            made = record(event)
            if not packets or HEADER + len(packets[-1].data) + len(made) > PACKET:
                packets.append(Packet(len(packets)))
            packets[-1].events.append(event)
            packets[-1].data += made
        return packets

    def lose(self, cpu, first, n_pages, is_counted):
        """No packet is free; where that is not counted, packets were overwritten."""
        pages = self.cpus[cpu]
        if first < 1 or n_pages < 1 or first + n_pages >= len(pages):
            return
        lost = sum(len(page.events) for page in pages[first:first + n_pages])
        del pages[first:first + n_pages]
        if is_counted:
            pages[first - 1].discarded = lost
            pages[first - 1].end = pages[first].events[0].time - 1
            for page in pages[first:]:
                page.number -= n_pages
        self.gaps.append(Gap(cpu, pages[first - 1].events[-1].time, pages[first].events[0].time))

    def damage_event(self, rng):
        packet = super().damage_event(rng)
        if packet:
            packet.data = b"".join(record(event) for event in packet.events)

    def snapshot(self, rng):
        """Of each CPU, what its ring has is copied while others go on: it begins and ends at a time of its own."""
        released = [rng.randint(0, len(pages) // 2) for pages in self.cpus]
        if not any(released):
            return
        self.facts["begins_apart"] = True
        for cpu, pages in enumerate(self.cpus):
            del pages[:released[cpu]]
            if not pages:
                continue
            end = rng.randint(pages[0].events[0].time + 1, self.end)
            while len(pages) > 1 and pages[-1].events[0].time >= end:
                del pages[-1]
            last = pages[-1]
            last.events = [event for event in last.events if event.time < end] or last.events[:1]
            last.data, last.end = b"".join(record(event) for event in last.events), max(end, last.events[0].time)
            self.gaps.append(Gap(cpu, last.events[-1].time, None))

    def stop(self):
        """The session ends the packets of all CPUs."""
        for pages in self.cpus:
            if pages:
                pages[-1].end = self.end

    def cut_packets(self, rng):
        """Whole packets at the end of a CPU are missing: a fiftieth of the time or more."""
        cpu = rng.randrange(self.kernel.n_cpus)
        pages, n_pages = self.cpus[cpu], rng.randint(1, max(1, len(self.cpus[cpu]) - 1))
        begin = min(pages[0].events[0].time for pages in self.cpus if pages)
        if 0 < n_pages < len(pages) and self.end - pages[-n_pages - 1].events[-1].time > max((self.end - begin) // 50 + 1, 10**6):
            del pages[-n_pages:]
            self.gaps += [Gap(cpu, pages[-1].events[-1].time, None) for cpu, pages in enumerate(self.cpus) if pages]

    def cut(self, rng):
        cpu = rng.randrange(self.kernel.n_cpus)
        self.cut_cpu(cpu, rng.randint(1, max(1, len(self.cpus[cpu]) - 1)))

    def cut_cpu(self, cpu, n_pages):
        pages = self.cpus[cpu]
        if 0 < n_pages < len(pages):
            cut, size, at = pages[-n_pages], 40 + 13 * n_pages, HEADER
            self.partial[cpu] = cut.bytes(cpu, 0)[:size]
            whole = []
            for event in cut.events:
                at += len(record(event))
                if at > size:
                    break
                whole.append(event)
            del pages[-n_pages:]
            if whole:
                cut.events = whole
                cut.is_partial = True
                pages.append(cut)
            self.gaps.append(Gap(cpu, pages[-1].events[-1].time, None))

    def write(self, path):
        os.makedirs(path, exist_ok=True)
        with open(f"{path}/metadata", "w", encoding="ascii") as file:
            file.write(metadata(self.is_perf))
        for cpu, packets in enumerate(self.cpus):
            discarded = 0
            with open(f"{path}/channel0_{cpu}", "wb") as file:
                for packet in packets:
                    if packet.is_partial:
                        continue
                    discarded += packet.discarded
                    file.write(packet.bytes(cpu, discarded))
                file.write(self.partial.get(cpu, b""))


class PerfCtf(LttngTrace):
    names, is_perf = {}, True

    def __init__(self, kernel, begin, end, lag):
        """LAG: as PerfStream's."""
        self.lag = lag
        super().__init__(kernel, begin, end)
        self.facts["begins_apart"] = True  # on one CPU after the other

    make_pages, end_of = PerfStream.make_pages, PerfStream.end_of

    def write(self, path):
        for cpu, packets in enumerate(self.cpus):
            if packets:
                self.gaps.append(Gap(cpu, packets[-1].events[-1].time, None))
        super().write(path)
