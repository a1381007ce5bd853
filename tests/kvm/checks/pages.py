"""Reads the pages of a kernel's ring buffer, of a little-endian 64-bit kernel, as Linux's Documentation/trace and
include/linux/ring_buffer.h describe them. Shares no code with Strata."""

import glob
import os
import re
import struct

PAGE = 4096
FIELD = re.compile(r"field:(.*?);\s*offset:(\d+);\s*size:(\d+);\s*signed:(\d);")


class Format:
    """An event's format file."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.name = re.search(r"^name: (\S+)$", text, re.M)[1]
        self.number = int(re.search(r"^ID: (\d+)$", text, re.M)[1])
        self.fields = {}
        for declaration, offset, size, signed in FIELD.findall(text):
            name = re.search(r"(\w+)(\[.*\])?$", declaration)[1]
            self.fields[name] = int(offset), int(size), signed == "1"

    def values(self, payload):
        return {name: int.from_bytes(payload[offset:offset + size], "little", signed=signed)
                for name, (offset, size, signed) in self.fields.items() if size in (1, 2, 4, 8)}


class Event:
    def __init__(self, time, cpu, form, payload):
        self.time, self.cpu, self.name, self.payload = time, cpu, form.name, payload
        self.fields = form.values(payload)


def formats(directory):
    found = [Format(path) for path in glob.glob(f"{directory}/events/*/*/format")]
    return {form.number: form for form in found}


def events_of_page(page, cpu, known):
    time, commit = struct.unpack_from("<QQ", page)
    assert commit >> 31 & 1 == 0, f"events were missed before the page of {time} on CPU {cpu}"
    at, end = 16, 16 + (commit & 0xfffff)
    while at < end:
        head, = struct.unpack_from("<I", page, at)
        kind, delta = head & 31, head >> 5
        if kind == 29:
            if delta == 0:
                return
            at += 4 + struct.unpack_from("<I", page, at + 4)[0]
            time += delta
            continue
        if kind in (30, 31):
            value = delta | struct.unpack_from("<I", page, at + 4)[0] << 27
            # An absolute time has 59 bits.
            time = time + value if kind == 30 else time & ~((1 << 59) - 1) | value
            at += 8
            continue
        time += delta
        if kind == 0:
            size = struct.unpack_from("<I", page, at + 4)[0]
            payload = page[at + 8:at + 4 + size]
            at += 4 + size
        else:
            payload = page[at + 4:at + 4 + 4 * kind]
            at += 4 + 4 * kind
        yield Event(time, cpu, known[struct.unpack_from("<H", payload)[0]], payload)


def events(directory):
    """All events of the kernel whose trace is in DIRECTORY, in the order of their times."""
    known = formats(directory)
    found = []
    for path in glob.glob(f"{directory}/cpu*.raw"):
        cpu = int(re.search(r"cpu(\d+)\.raw$", path)[1])
        with open(path, "rb") as file:
            while page := file.read(PAGE):
                found += events_of_page(page.ljust(PAGE, b"\0"), cpu, known)
    return sorted(found, key=lambda event: event.time)


def text_at(event, offset):
    """The string at the end of the event, as `print` has it."""
    return event.payload[offset:].split(b"\0")[0].decode().rstrip("\n")
