#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the files beside it, by format/perf_data/perf_data.h: make.py DIR

  little, big   the same events, of machines of either byte order
  stream        the same as `perf record -o -` writes it
  packed        the same, compressed, in pieces that end within records
  packed2       the same as perf 6.16 and later write them, and packed2-stream as they write a stream
  old           attributes of 64 bytes, one event, which has no ID; nothing at the end of other records
  guest         samples of the host and of guests, in each CPU mode
  programs      events of EventHeader, one of which is cut off
  read          values of counters in the samples, and what goes wrong
"""

import os
import struct
import subprocess
import sys

IP, TID, TIME, READ, CALLCHAIN, ID, CPU, PERIOD, RAW, IDENTIFIER = (
    1 << bit for bit in (0, 1, 2, 4, 5, 6, 7, 8, 10, 16))
FLAGS = {"sample_id_all": 18, "exclude_host": 19, "exclude_guest": 20, "use_clockid": 25}
FORMAT = """name: numbers
ID: 300
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;
\tfield:u32 b;\toffset:12;\tsize:4;\tsigned:0;

print fmt: "a=%d b=%u", REC->a, REC->b
"""
HEADER_PAGE = ("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
               "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
               "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
               "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n")


class Maker:
    """The bytes of one machine."""

    def __init__(self, order, sample_id_all=True):
        self.order = order
        self.sample_id_all = sample_id_all

    def pack(self, form, *values):
        return struct.pack(self.order + form, *values)

    def attr(self, kind, config, sample_type, read_format=0, size=128, clockid=None, **flags):
        bits = 0
        for flag in [*flags] + (["use_clockid"] if clockid is not None else []) + (
                ["sample_id_all"] if self.sample_id_all else []):
            bits |= 1 << (FLAGS[flag] if self.order == "<" else 63 - FLAGS[flag])
        made = self.pack("IIQQQQQII", kind, size, config, 1, sample_type, read_format, bits, 0, 0)
        made += bytes(92 - len(made))
        made += self.pack("i", clockid or 0)
        return (made + bytes(size))[:size]

    def record(self, kind, body, misc=0):
        body += bytes(-len(body) % 8)
        return self.pack("IHH", kind, misc, 8 + len(body)) + body

    def end(self, id_, pid, tid, time, cpu):
        """What records other than samples end in."""
        return self.pack("IIQIIQ", pid, tid, time, cpu, 0, id_)

    def tracepoint(self, id_, pid, tid, time, cpu, a, b):
        raw = self.pack("HBBiiI", 300, 0, 0, tid, a, b) + bytes(4)
        return self.record(9, self.pack("QQIIQIIQI", id_, 0xffff0000, pid, tid, time, cpu, 0, 1, len(raw)) + raw)

    def clock(self, id_, pid, tid, time, cpu, ip, chain):
        return self.record(9, self.pack("QQIIQIIQQ", id_, ip, pid, tid, time, cpu, 0, 250000, len(chain)) +
                           self.pack(f"{len(chain)}Q", *chain))

    def comm(self, tid, name, time, id_=0):
        text = name.encode() + b"\0"
        text += bytes(-len(text) % 8)
        return self.record(3, self.pack("II", tid, tid) + text + self.end(id_, tid, tid, time, 0))

    def fork(self, tid, parent, time):
        return self.record(7, self.pack("IIIIQ", tid, parent, tid, parent, time) + self.end(3, parent, parent, time, 0))

    def lost(self, id_, n, time, cpu):
        return self.record(2, self.pack("QQ", id_, n) + self.end(id_, 1, 1, time, cpu))

    def round(self):
        return self.record(68, b"")

    def tracing_data(self, format_=FORMAT):
        made = b"\x17\x08\x44tracing0.6\0" + (b"\0" if self.order == "<" else b"\1") + b"\x08" + self.pack("I", 4096)
        for name, text in ("header_page", HEADER_PAGE), ("header_event", "# nothing\n"):
            made += name.encode() + b"\0" + self.pack("Q", len(text)) + text.encode()
        made += self.pack("II", 0, 1) + b"made\0" + self.pack("IQ", 1, len(format_)) + format_.encode()
        cmdlines = b"10 saved\n"
        return made + self.pack("II", 0, 0) + self.pack("Q", len(cmdlines)) + cmdlines

    def text(self, text):
        data = text.encode() + b"\0"
        data += bytes(-len(data) % 8)
        return self.pack("I", len(data)) + data


def events(m):
    """Attributes with their IDs and names, and records: two CPUs, three rounds."""
    tracing = IP | TID | TIME | CPU | PERIOD | RAW | IDENTIFIER
    clock = IP | TID | TIME | CPU | PERIOD | CALLCHAIN | IDENTIFIER
    attrs = [(m.attr(2, 300, tracing, 1 << 2 | 1 << 4, clockid=1), [1, 2], "made:numbers"),
             (m.attr(1, 0, clock, 1 << 2 | 1 << 4, clockid=1), [3, 4], "cpu-clock")]
    index = m.record(69, m.pack("Q", 4) + b"".join(
        m.pack("QQqq", id_, 0, cpu, -1) for id_, cpu in ((1, 0), (2, 1), (3, 0), (4, 1))))
    records = [
        index,
        m.comm(8, "eight", 0), m.comm(9, "nine", 0),
        # The first round: CPU 0 from 100 on, then CPU 1, older.
        m.tracepoint(1, 8, 8, 100, 0, 1, 2), m.tracepoint(1, 8, 8, 130, 0, -1, 3),
        m.tracepoint(2, 9, 9, 90, 1, 4, 5), m.clock(4, 9, 9, 110, 1, 0x1000, []),
        m.round(),
        # The second has one that is older than the youngest of the first, and one of the same time.
        m.fork(12, 8, 115), m.clock(3, 8, 12, 120, 0, 0x2000, [2**64 - 128, 0x2000, 0x2004]),
        m.comm(12, "renamed", 125), m.tracepoint(1, 12, 12, 140, 0, 6, 7),
        m.lost(2, 5, 139, 1), m.tracepoint(2, 9, 9, 140, 1, 8, 9),
        m.round(),
        m.record(5, m.pack("QQQ", 150, 3, 3) + m.end(3, 0, 0, 150, 0)),
        m.record(6, m.pack("QQQ", 160, 3, 3) + m.end(3, 0, 0, 160, 0)),
        m.record(15, m.pack("II", 8, 8) + m.end(4, 9, 9, 170, 1), 1 << 13 | 1 << 14),
        m.record(14, m.end(4, 8, 8, 171, 1)),
        # A thread that the container of perf has another number for. Its name, of saved_cmdlines alone, is not used.
        m.tracepoint(2, 1, 10, 180, 1, 10, 11),
        m.round(),
        # What was lost in all: 2 more than was reported on CPU 1, and 3 on CPU 0.
        m.record(13, m.pack("Q", 3) + m.end(1, 0, 0, 0, 0)),
        m.record(13, m.pack("Q", 6) + m.end(2, 0, 0, 0, 0)),
        m.record(13, m.pack("Q", 1) + m.end(4, 0, 0, 0, 0)),
    ]
    features = {1: m.tracing_data(), 3: m.text("host"), 4: m.text("6.1.0"), 5: m.text("6.1"), 6: m.text("x86_64"),
                7: m.pack("II", 2, 2), 8: m.text("CPU"), 9: m.text("Vendor,1"), 10: m.pack("Q", 2048),
                11: m.pack("I", 2) + m.text("perf") + m.text("record"),
                12: m.pack("II", len(attrs), 128) + b"".join(
                    attr + m.pack("I", len(ids)) + m.text(name) + m.pack(f"{len(ids)}Q", *ids)
                    for attr, ids, name in attrs),
                29: m.pack("IIQQ", 1, 1, 1700000000 * 10**9 + 5, 90)}
    return attrs, records, features


def file(m, attrs, data, features, attr_size=128):
    ids, entries, at = b"", b"", 104
    for _, of_attr, _ in attrs:
        ids += m.pack(f"{len(of_attr)}Q", *of_attr)
    for attr, of_attr, _ in attrs:
        entries += attr + m.pack("QQ", at, 8 * len(of_attr))
        at += 8 * len(of_attr)
    begin = at + len(entries)
    words = [sum(1 << feature % 64 for feature in features if feature // 64 == word) for word in range(4)]
    head = b"PERFILE2" if m.order == "<" else b"2ELIFREP"
    head += m.pack("QQ", 104, attr_size + 16) + m.pack("QQ", at, len(entries)) + m.pack("QQ", begin, len(data))
    head += m.pack("QQ", 0, 0) + m.pack("4Q", *words)
    end = begin + len(data) + 16 * len(features)
    sections, contents = b"", b""
    for feature in sorted(features):
        sections += m.pack("QQ", end + len(contents), len(features[feature]))
        contents += features[feature]
    return head + ids + entries + data + sections + contents


def stream(m, attrs, records, features):
    made = b"PERFILE2" + m.pack("Q", 16)
    for attr, ids, _ in attrs:
        made += m.record(64, attr + m.pack(f"{len(ids)}Q", *ids))
    for feature, data in features.items():
        if feature != 1:
            made += m.record(80, m.pack("Q", feature) + data)
    made += m.record(66, m.pack("II", len(features[1]), 0)) + features[1] + bytes(-len(features[1]) % 8)
    return made + b"".join(records)


def record83(m, data):
    """Compressed bytes as perf 6.16 and later write them: the record holds their number, the bytes and padding."""
    return m.record(83, m.pack("Q", len(data)) + data)


def packed(m, records, record):
    """Rounds and what perf makes itself are not compressed. No piece is empty."""
    plain = b"".join(record for record in records if record[:4] != m.pack("I", 68))
    data = subprocess.run(["zstd", "-c", "-q"], input=plain, capture_output=True, check=True).stdout
    cuts = [0, 100, 217, len(data)]
    return b"".join(record(data[a:b]) for a, b in zip(cuts, cuts[1:]))


def old():
    m = Maker("<", sample_id_all=False)
    attrs = [(m.attr(0, 0, IP | TID | TIME, size=64), [], "")]
    sample = lambda time, ip: m.record(9, m.pack("QIIQ", ip, 7, 7, time))
    records = [m.record(3, m.pack("II", 7, 7) + b"seven\0\0\0"), sample(1000, 0x10), sample(1010, 0x11),
               m.record(2, m.pack("QQ", 0, 4)), sample(1020, 0x12), m.record(13, m.pack("Q", 2))]
    return file(m, attrs, b"".join(records), {}, 64)


def read():
    """Values of a group of counters, AUX data, records that are of nothing known."""
    m = Maker("<")
    kinds = IP | TID | TIME | ID | CPU | READ
    group = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3
    attrs = [(m.attr(0, 1, kinds | CALLCHAIN, group, exclude_host=1), [21], "instructions:G"),
             (m.attr(4, 0x1c2, kinds | RAW, 1 << 0 | 1 << 4, exclude_host=1), [22], "")]
    one = m.record(9, m.pack("QIIQQII", 0x500, 5, 6, 2000, 21, 3, 0) + m.pack("QQQQQQQ", 2, 9, 9, 100, 21, 200, 22) +
                   m.pack("QQ", 1, 0x600))
    two = m.record(9, m.pack("QIIQQII", 0x501, 5, 6, 2010, 22, 3, 0) + m.pack("QQQ", 100, 9, 0) +
                   m.pack("I4B", 4, 1, 2, 3, 4))
    unknown_id = m.record(9, m.pack("QIIQQII", 0x502, 5, 6, 2020, 99, 3, 0) + bytes(8))
    short = m.record(9, m.pack("QIIQQII", 0x503, 5, 6, 2030, 21, 3, 0) + m.pack("Q", 1000))
    aux = m.record(71, m.pack("QQQIIII", 24, 0, 0, 0, 0, 0, 0)) + b"\xff" * 24
    return file(m, attrs, one + aux + m.record(63, bytes(8)) + two + unknown_id + short + m.record(90, b""), {})


def guest():
    """Samples of the host and of guests."""
    m = Maker("<")
    attrs = [(m.attr(0, 0, IP | TID | TIME | CPU), [], "")]
    return file(m, attrs, b"".join(m.record(9, m.pack("QIIQII", 0x700 + i, 5, 5, 3000 + i, 1, 0), mode)
                                   for i, mode in enumerate((1, 2, 4, 5, 3, 7))), {})


def programs():
    """Two events of one tracepoint, with what each holds beside it."""
    m = Maker("<")
    places = ("u8 eventheader_flags", 8, 1), ("u8 version", 9, 1), ("u16 id", 10, 2), ("u16 tag", 12, 2), (
        "u8 opcode", 14, 1), ("u8 level", 15, 1)
    format_ = (FORMAT[:FORMAT.index("\tfield:int a;")].replace("numbers", "My_Shop_L4K0") +
               "".join(f"\tfield:{name};\toffset:{at};\tsize:{size};\tsigned:0;\n" for name, at, size in places) +
               '\nprint fmt: "level=%u", REC->level\n')
    metadata = b"Sale\0count\0\x02name\0\x0a"
    head = m.pack("HBBi", 300, 0, 0, 9) + m.pack("BBHHBB", 7, 0, 0, 0, 0, 4) + m.pack("HH", len(metadata), 1) + metadata
    raws = [head + b"\x07\x03\0tea", head + b"\x08\x06\0coffee", head + b"\x09\x63\0tea"]
    records = [m.record(9, m.pack("QIIQIII", 0, 9, 9, 1000 + i, 0, 0, len(raw) + -(len(raw) + 4) % 8) + raw +
                        bytes(-(len(raw) + 4) % 8)) for i, raw in enumerate(raws)]
    attrs = [(m.attr(2, 300, IP | TID | TIME | CPU | RAW), [1], "made:My_Shop_L4K0")]
    return file(m, attrs, b"".join(records), {1: m.tracing_data(format_)})


def main():
    made = {}
    for name, order in ("little", "<"), ("big", ">"):
        m = Maker(order)
        attrs, records, features = events(m)
        made[name] = file(m, attrs, b"".join(records), features)
    m = Maker("<")
    attrs, records, features = events(m)
    made["stream"] = stream(m, attrs, records, features)
    pieces = packed(m, records[1:], lambda data: m.pack("IHH", 81, 0, 8 + len(data)) + data)
    made["packed"] = file(m, attrs, records[0] + pieces, features)
    pieces = packed(m, records[1:], lambda data: record83(m, data))
    made["packed2"] = file(m, attrs, records[0] + pieces, features)
    made["packed2-stream"] = stream(m, attrs, [records[0], pieces], features)
    made["old"] = old()
    made["read"] = read()
    made["guest"] = guest()
    made["programs"] = programs()
    for name, data in made.items():
        with open(os.path.join(sys.argv[1], name + ".data"), "wb") as out:
            out.write(data)


if __name__ == "__main__":
    main()
