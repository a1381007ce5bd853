"""seek_simpletrace.py VERSION ORDER KIND OUT: makes a large simpletrace file that is hard to find one's way in.

Four threads write in an order that is not that of their times. KIND "late": the name of an event stands before its first
record, as libstrata writes it, and others come in the middle of the file. KIND "forged": the strings hold what looks like
records, chained from string to string. KIND "same": all strings are chained so, and no place is certain."""

import random
import struct
import sys

version, order, kind, out = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
number = random.Random(7)
NAMES = ["visit_free", "object_dynamic_cast_assert", "qmp_enter_query_status"]
EVENTS = 50000 if kind == "forged" else 25000


def pack(layout, *values):
    return struct.pack(order + layout, *values)


def mapping(name, event):
    return pack("QQI", 0, event, len(name)) + name.encode() if version == 4 else b""


def record(event, time, payload):
    if version == 0:
        return pack("QQ", event, time) + payload[:48].ljust(48, b"\0")
    front = pack("Q", 1) if version == 4 else b""
    return front + pack("QQII", event, time, 24 + len(payload), 7) + payload


def text(time, size):
    """Bytes that hold a record at each place where one could begin."""
    forged = record(number.randrange(3), time - 10**12, pack("Q", 1))
    return (b"x" * number.randrange(8) + forged * 20)[:size]


time = 5_000_000_000_000
with open(out, "wb") as file:
    file.write(pack("QQQ", 2**64 - 1, 0xF2B177CB0AA429B4, version))
    if version == 0:
        file.write(bytes(40))
    named = 0
    for n in range(EVENTS):
        if named < (3 if kind != "late" else 1 + 2 * n // EVENTS):
            for name in NAMES[named : 3 if kind != "late" else named + 1]:
                file.write(mapping(name, named))
                named += 1
        time += number.choice([0, 1000, 100000, 2000000])
        stamp = time - number.choice([0, 0, 0, 30000, 90000])
        if kind == "same":
            # Each forged record ends where that of the next string begins.
            forged = pack("QQQII", 1, 0, stamp, 24 + 400, 7)
            payload = pack("I", 380) + (b"z" * 60 + forged).ljust(380, b"z")
            payload = payload.ljust(432 - 32, b"z")
            file.write(record(0, stamp, payload))
        elif n % 5000 == 4999 and version > 0:
            file.write(record(2**64 - 2, stamp, pack("Q", n)))
        elif kind == "forged":
            string = text(stamp, 300)
            file.write(record(number.randrange(named), stamp, pack("I", len(string)) + string))
        else:
            file.write(record(number.randrange(named), stamp, pack("QQ", 1, number.randrange(2**32)) * 12))
