#!/usr/bin/env python3
"""Makes a trace of a Xen on an AMD processor readable for xenalyze: without records that it does not know and stops at, and
exits with the number that this xenalyze expects: from Xen 4.19 on it says the processor's vendor.

    for_xenalyze.py TRACE OUT [--vendors]    --vendors: for a xenalyze of 4.19 or later
"""
import struct
import sys

CPU_CHANGE = 0x1F003
EXITS = {0x81002, 0x81102}  # of any processor before Xen 4.19, of Intel's since
AMD_EXITS = {0x81003, 0x81103}  # since Xen 4.19
EVENT = 0x0FFFFFFF


def records(data):
    at = 0
    while at + 4 <= len(data):
        (header,) = struct.unpack_from("<I", data, at)
        size = 4 + 8 * (header >> 31) + 4 * (header >> 28 & 7)
        yield header, data[at : at + size]
        at += size


def chunk(head, body):
    """A record of the CPU whose buffer follows, with the bytes that are left of it."""
    return head[:8] + struct.pack("<I", len(body)) + head[12:] + body


def main():
    knows_vendors = "--vendors" in sys.argv[3:]
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    head, body = b"", []
    with open(sys.argv[2], "wb") as out:
        for header, record in records(data):
            event = header & EVENT
            if event == CPU_CHANGE:
                if head:
                    out.write(chunk(head, b"".join(body)))
                head, body = record, []
            elif event in AMD_EXITS and not knows_vendors:
                body.append(struct.pack("<I", header - 1) + record[4:])
            elif event in EXITS and knows_vendors:
                body.append(struct.pack("<I", header + 1) + record[4:])
            elif not 0x84001 <= event <= 0x84011 and event != 0x800F123:
                body.append(record)
        out.write(chunk(head, b"".join(body)))


main()
