# SPDX-License-Identifier: MIT
"""Large traces, made of the small real ones in tests/data by bench/repeat.c. What was made is kept
in the cache folder and taken from there the next time."""

import functools
import glob
import lzma
import os
import re
import shutil
import struct
import subprocess
import tarfile

QEMU_EVENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "qemu-events")
TIMELINE = """{"format": "strata-trace", "version": 1, "sources": [
 {"name": "qemu", "kind": "simpletrace", "layer": "vmm", "path": "vmm/trace",
  "clock": {"name": "monotonic", "hz": 1000000000, "host": true}, "host": {"boot_id": "b"}, "complete": true},
 {"name": "guest", "kind": "ftrace", "layer": "guest", "path": "guest",
  "clock": {"name": "local", "hz": 1000000000, "pairs": "guest/clock-pairs"}, "host": {"boot_id": "b"},
  "complete": true}]}
"""


def repeat_perf_data(file, times, path):
    """Writes FILE, a perf.data of a little-endian machine whose samples begin with an identifier, address, thread and
    time, with its records TIMES times, one after the other in time. Returns how many samples there are then."""
    begin, size = struct.unpack_from("<QQ", file, 40)
    records = bytearray(file[begin:begin + size])
    places = []
    at = samples = 0
    while at < size:
        kind, _, length = struct.unpack_from("<IHH", records, at)
        # The time in a sample, and in what other records of the kernel end in: thread, time, CPU, identifier.
        if kind < 64:
            places.append(at + 32 if kind == 9 else at + length - 24)
            samples += kind == 9
        at += length
    stamps = [time for time in (struct.unpack_from("<Q", records, place)[0] for place in places) if time]
    span = max(stamps) - min(stamps) + 1000
    sections = 16 * sum(bin(byte).count("1") for byte in file[72:104])
    moved = size * (times - 1)
    table = bytearray(file[begin + size:begin + size + sections])
    for i in range(0, sections, 16):
        struct.pack_into("<Q", table, i, struct.unpack_from("<Q", table, i)[0] + moved)
    with open(path, "wb") as out:
        out.write(file[:48] + struct.pack("<Q", size * times) + file[56:begin])
        for _ in range(times):
            out.write(records)
            for place in places:
                time = struct.unpack_from("<Q", records, place)[0]
                struct.pack_into("<Q", records, place, time + span if time else 0)
        out.write(table + file[begin + size + sections:])
    return samples * times


class Missing(Exception):
    """Something that a row needs is not there; the text says what and what to do."""


class Inputs:
    def __init__(self, sources, data, cache):
        self.data = data
        self.cache = cache
        os.makedirs(cache, exist_ok=True)
        self.repeat = self._build(os.path.join(sources, "repeat.c"))
        self.cost = self._build(os.path.join(sources, "cost.c"))

    def path(self, name):
        return os.path.join(self.cache, name)

    def _build(self, source):
        program = self.path(os.path.basename(source).removesuffix(".c"))
        if os.path.exists(program) and os.path.getmtime(program) > os.path.getmtime(source):
            return program
        compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
        if not compiler:
            raise Missing("there is no C compiler: apt-get install gcc libc6-dev")
        argv = [*compiler.split(), "-std=gnu11", "-O2", "-o", program, source]
        subprocess.run(argv, check=True)
        return program

    def _source(self, pattern):
        found = sorted(glob.glob(os.path.join(self.data, pattern), recursive=True))
        if not found:
            raise Missing(f"there is no {os.path.join(self.data, pattern)}")
        return found[0]

    def unpacked(self, pattern):
        """A trace from tests/data, without its compression."""
        source = self._source(pattern)
        name = self.path(os.path.basename(source).removesuffix(".xz"))
        if not source.endswith(".xz"):
            return source
        if not os.path.exists(name):
            with lzma.open(source) as packed, open(name + ".new", "wb") as out:
                shutil.copyfileobj(packed, out)
            os.rename(name + ".new", name)
        return name

    def made(self, name, *args):
        """NAME made by `repeat ARGS`, whose last words are the outputs: (path, events). The number
        of events is kept beside it."""
        count = self.path(name + ".count")
        if not os.path.exists(count):
            done = subprocess.run(
                [self.repeat, *map(str, args)], check=True, capture_output=True, text=True
            )
            with open(count, "w", encoding="ascii") as f:
                f.write(done.stdout)
        with open(count, encoding="ascii") as f:
            return int(f.read())

    @functools.cached_property
    def declared(self):
        """The path of declarations of all events of QEMU's traces."""
        path = self.path("declared")
        made = subprocess.run([QEMU_EVENTS, path], stderr=subprocess.PIPE, text=True)
        if made.returncode == 77:
            raise Missing(made.stderr.strip().removeprefix("SKIPPED: "))
        made.check_returncode()
        return path

    def simpletrace(self, times):
        path = self.path(f"boot-{times}.simpletrace")
        source = self.unpacked("qemu/trace.simpletrace.xz")
        return path, self.made(os.path.basename(path), "simpletrace", times, source, path)

    def log(self, times):
        path = self.path(f"boot-{times}.log")
        source = self.unpacked("qemu/stock-qemu.log.xz")
        return path, self.made(os.path.basename(path), "log", times, source, path)

    def xentrace(self, times):
        path = self.path(f"xen-{times}.raw")
        source = self.unpacked("xen/**/*no-guest-class*.raw.xz")
        return path, self.made(os.path.basename(path), "xentrace", times, source, path)

    def ftrace(self, times):
        """A folder with cpuN.raw and the tracefs tree `guest`."""
        folder = self.path(f"guest-{times}")
        source = os.path.dirname(self._source("**/cpu0.raw*"))
        pairs = []
        os.makedirs(folder, exist_ok=True)
        for packed in sorted(glob.glob(os.path.join(source, "cpu[0-9]*.raw*"))):
            name = os.path.basename(packed).removesuffix(".xz")
            raw = self.unpacked(os.path.relpath(packed, self.data))
            pairs += [raw, os.path.join(folder, name)]
        if not os.path.isdir(os.path.join(folder, "guest")):
            with tarfile.open(self._source(os.path.relpath(source, self.data) + "/*.tar.xz")) as tar:
                careful = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
                tar.extractall(folder, **careful)
        return folder, self.made(os.path.basename(folder), "ftrace", times, 4096, *pairs)

    def timeline(self, times):
        """A recorded directory with the events of simpletrace(times), whose clock is the host's, and of
        ftrace(times), whose pages are spread over the same time by pairs of clocks: (folder, events of
        the one, of the other)."""
        folder = self.path(f"timeline-{times}")
        qemu, qemu_events = self.simpletrace(times)
        pages, guest_events = self.ftrace(times)
        if not os.path.exists(os.path.join(folder, "trace.json")):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(os.path.join(folder, "vmm"))
            os.link(qemu, os.path.join(folder, "vmm", "trace"))
            shutil.copytree(pages, os.path.join(folder, "guest"), copy_function=os.link)
            with open(os.path.join(folder, "guest", "clock-pairs"), "w", encoding="ascii") as f:
                # From the first event of the one trace to its last round, and so for the other.
                for i in range(times + 1):
                    f.write(f"{5572000000000 + i * 24900000000} {4600000000 + i * 75000000} 40000\n")
            with open(os.path.join(folder, "trace.json"), "w", encoding="ascii") as f:
                f.write(TIMELINE)
        return folder, qemu_events, guest_events

    def trace_dat(self, folder, trace_cmd):
        """The same pages as a trace.dat, by trace-cmd itself."""
        path = folder + ".dat"
        if not os.path.exists(path):
            tree = os.path.join(folder, "guest")
            head = folder + ".head"
            raw = sorted(glob.glob(os.path.join(folder, "cpu[0-9]*.raw")))
            symbols = os.path.join(tree, "proc", "kallsyms")
            symbols = ["-k", symbols] if os.path.exists(symbols) else []
            for argv in (
                [trace_cmd, "restore", "-c", "-t", tree, *symbols, "-o", head],
                [trace_cmd, "restore", "-i", head, "-o", path + ".new", *raw],
            ):
                subprocess.run(argv, check=True, capture_output=True)
            os.rename(path + ".new", path)
            os.remove(head)
        return path

    def perf_data(self, times):
        """A recording of perf, its rounds repeated: (path, events)."""
        path = self.path(f"perf-{times}.data")
        count = path + ".count"
        if not os.path.exists(count):
            with open(self.unpacked("perf/kvm.data.xz"), "rb") as f:
                events = repeat_perf_data(f.read(), times, path)
            with open(count, "w", encoding="ascii") as f:
                f.write(str(events))
        with open(count, encoding="ascii") as f:
            return path, int(f.read())

    def ctf(self, times, layout="plain"):
        """The events of simpletrace(times) as a CTF 1.8 trace in a layout of repeat.c's: a directory."""
        folder = self.path(f"boot-{times}.{layout}.ctf")
        source = self.unpacked("qemu/trace.simpletrace.xz")
        declared = declared_arguments(self.declared, source)
        table = self.path("boot.kinds")
        os.makedirs(folder, exist_ok=True)
        with open(table, "w", encoding="ascii") as f:
            for number, (name, arguments) in enumerate(declared.items()):
                f.write(f"{name} {number} {''.join(kind for kind, _ in arguments)}\n")
        with open(os.path.join(folder, "metadata"), "w", encoding="ascii") as f:
            f.write(ctf_metadata(declared, layout))
        stream = os.path.join(folder, "stream")
        return folder, self.made(os.path.basename(folder), "ctf", times, layout, table, source, stream)

    def native(self, emit, count):
        """What tests/runtime/emit.c writes with two threads: a directory, and how many events it holds."""
        folder = self.path(f"native-{count}.ctf")
        if not os.access(emit, os.X_OK):
            raise Missing(f"there is no {emit}: ./setup build")
        if os.path.exists(folder + ".count"):
            with open(folder + ".count", encoding="ascii") as f:
                return folder, int(f.read())
        # Room for all of it, so that nothing is dropped while the disk is slow.
        done = subprocess.run(
            [emit, "-q", "-t", "ring=128M", "-t", f"*,ctf={folder}", str(count), "2"],
            check=True, stderr=subprocess.PIPE, encoding="ascii",
        )
        counts = re.search(r"dropped (\d+) unwritten (\d+)", done.stderr)
        events = 2 * count - int(counts[1]) - int(counts[2])
        with open(folder + ".count", "w", encoding="ascii") as f:
            f.write(str(events))
        return folder, events


def declared_arguments(declared, capture):
    """name -> [(kind, argument)] for the events of the file DECLARED whose names the trace holds."""
    with open(capture, "rb") as f:
        names = set(re.findall(rb"[a-z]\w{3,}", f.read()))
    found = {}
    with open(declared, encoding="utf-8") as f:
        for line in f:
            match = re.match(r"(?:disable |vcpu )*(\w+)\((.*?)\)", line)
            if not match or match[1].encode() not in names:
                continue
            found[match[1]] = arguments = []
            for argument in match[2].split(","):
                if argument.strip() in ("", "void"):
                    continue
                c_type, name = re.match(r"\s*(.*?)(\w+)\s*$", argument).groups()
                string = re.sub(r"\s", "", c_type) in ("constchar*", "char*")
                arguments.append(("s" if string else "u", name))
    return found


LTTNG_HEADER = """struct {
        enum : integer { size = 5; align = 1; } { compact = 0 ... 30, extended = 31 } id;
        variant <id> {
            struct { integer { size = 27; align = 1; map = clock.monotonic.value; } timestamp; } compact;
            struct { u32 id; stamp timestamp; } extended;
        } v;
    } align(8);"""


def ctf_metadata(declared, layout):
    text = """/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
trace {
    major = 1; minor = 8; byte_order = le;
    packet.header := struct { u32 magic; };
};
clock { name = monotonic; freq = 1000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := stamp;
stream {
    packet.context := struct {
        u64 content_size; u64 packet_size; stamp timestamp_begin; stamp timestamp_end;
    };
    event.header := struct { u32 id; stamp timestamp; };
};
"""
    if layout == "big-endian":
        text = text.replace("byte_order = le", "byte_order = be")
    if layout == "lttng":
        text = text.replace("struct { u32 id; stamp timestamp; };", LTTNG_HEADER)
    for number, (name, arguments) in enumerate(declared.items()):
        fields = "".join(f" {'string' if kind == 's' else 'u64'} _{field};" for kind, field in arguments)
        text += f'event {{ name = "{name}"; id = {number}; fields := struct {{{fields} }}; }};\n'
    return text
