"""kernel_formats.py TREE: makes made.dat, a trace of all events that the tracefs tree TREE has formats of, a few of each
with random values; the thread id is the number of the event in the trace. Prints how many formats there are."""
import glob
import os
import random
import re
import struct
import sys

EVENTS_EACH = 3
PAGE = 4096
FIELD = re.compile(r"\tfield:(.*?)(\w+)(\[.*\])?;\toffset:(\d+);\tsize:(\d+);\tsigned:(\d);")
# trace-cmd believes lengths that an event holds, and divides by zero.
TRUSTED = re.compile(r"__print_hex|__print_array| / | % |%\.\*s")


def value(small):
    if small:
        return random.randint(1, 3)
    return random.choice([random.getrandbits(4), random.getrandbits(64), -random.getrandbits(5),
                          0xffffffff81000000 + random.getrandbits(24), 1 << random.randrange(64), random.getrandbits(32)])


def string(size):
    return bytes(random.randrange(0x20, 0x7f) for _ in range(size - 1)) + b"\0" if size else b""


def payload(number, pid, text, fields):
    small = TRUSTED.search(text)
    end = max([8] + [offset + size for _, offset, size in fields])
    out = bytearray(end + -end % 8)
    struct.pack_into("<HBBi", out, 0, number, 0, 0, pid)
    for kind, offset, size in fields:
        is_string = re.search(r"char|u8|s8", kind) and "[" in kind
        if kind.startswith(("__data_loc", "__rel_loc")):
            length = 64 if small else 8 * random.randint(1, 4)
            at = len(out) - (offset + size if kind.startswith("__rel_loc") else 0)
            struct.pack_into("<I", out, offset, length << 16 | at)
            out += string(length) if is_string else bytes(value(small) & 255 for _ in range(length))
        elif is_string:
            out[offset:offset + size] = string(size)
        elif size <= 8:
            out[offset:offset + size] = struct.pack("<Q", value(small) & (1 << 64) - 1)[:size]
        else:
            out[offset:offset + size] = bytes(value(small) & 255 for _ in range(size))
    return bytes(out)


def pages(payloads):
    page, time = b"", 10**9
    for body in payloads:
        body += bytes(-len(body) % 4)
        record = struct.pack("<II", 1000 << 5, len(body) + 4) + body
        if 16 + len(page) + len(record) > PAGE:
            yield struct.pack("<QQ", time, len(page)) + page + bytes(PAGE - 16 - len(page))
            page, time = b"", time + 10**6
        page += record
    yield struct.pack("<QQ", time, len(page)) + page + bytes(PAGE - 16 - len(page))


def text(data):
    return struct.pack("<Q", len(data)) + data


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def main(tree):
    random.seed(1)
    systems, payloads, n_formats = {}, [], 0
    for path in sorted(glob.glob(os.path.join(tree, "events/*/*/format"))):
        data = read(path)
        systems.setdefault(path.split("/")[-3], []).append(data)
        n_formats += 1
        decoded = data.decode()
        number = int(re.search(r"ID: (\d+)", decoded)[1])
        fields = [(kind + (array or ""), int(offset), int(size))
                  for kind, _, array, offset, size, _ in FIELD.findall(decoded.split("\n\n")[1] + "\n")]
        for _ in range(EVENTS_EACH):
            made = payload(number, len(payloads) + 1, decoded, fields)
            if len(made) <= PAGE - 32:
                payloads.append(made)
    out = bytearray(b"\x17\x08Dtracing6\0" + bytes([0, 8]) + struct.pack("<I", PAGE))
    out += b"header_page\0" + text(read(tree, "events/header_page"))
    out += b"header_event\0" + text(read(tree, "events/header_event"))
    own = systems.pop("ftrace")
    out += struct.pack("<I", len(own)) + b"".join(map(text, own)) + struct.pack("<I", len(systems))
    for system, formats in systems.items():
        out += system.encode() + b"\0" + struct.pack("<I", len(formats)) + b"".join(map(text, formats))
    for data in read(tree, "proc/kallsyms"), read(tree, "printk_formats"):
        out += struct.pack("<I", len(data)) + data
    out += text(b"99999 nobody\n") + struct.pack("<I", 1) + b"options  \0" + struct.pack("<H", 0) + b"flyrecord\0"
    table = len(out)
    out += bytes(16) + text(b"[mono]\n")
    out += bytes(-len(out) % PAGE)
    start = len(out)
    out += b"".join(pages(payloads))
    out[table:table + 16] = struct.pack("<QQ", start, len(out) - start)
    with open("made.dat", "wb") as file:
        file.write(out)
    print(n_formats)


main(sys.argv[1])
