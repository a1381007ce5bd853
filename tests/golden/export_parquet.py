#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads exported Parquet with a reader of its own and compares it with `strata report -f json`."""

import ctypes
import ctypes.util
import glob
import hashlib
import json
import os
import stat
import struct
import subprocess
import sys
import urllib.parse

SAMPLE = 64 * 1024

libzstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
libzstd.ZSTD_decompress.restype = ctypes.c_size_t


def unzstd(data, size):
    out = ctypes.create_string_buffer(size + 1)
    got = libzstd.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    assert got == size, (got, size)
    return out.raw[:size]


class Bytes:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, n):
        assert self.at + n <= len(self.data)
        self.at += n
        return self.data[self.at - n:self.at]

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        v = shift = 0
        while True:
            b = self.byte()
            v |= (b & 127) << shift
            shift += 7
            if b < 128:
                return v

    def zigzag(self):
        v = self.varint()
        return v >> 1 ^ -(v & 1)

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self.byte()
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind == 8:
            return self.take(self.varint())
        if kind == 9:
            head = self.byte()
            n = self.varint() if head >> 4 == 15 else head >> 4
            return [self.value(head & 15) for _ in range(n)]
        assert kind == 12, kind
        fields, number = {}, 0
        while True:
            head = self.byte()
            if head == 0:
                return fields
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            fields[number] = self.value(head & 15)


def unpack(data, width, n):
    word = int.from_bytes(data, "little")
    return [word >> (i * width) & ((1 << width) - 1) for i in range(n)]


def rle(b, width, n):
    out = []
    while len(out) < n:
        head = b.varint()
        if head & 1:
            out += unpack(b.take((head >> 1) * width), width, (head >> 1) * 8)
        else:
            out += [int.from_bytes(b.take((width + 7) // 8), "little")] * (head >> 1)
    return out[:n]


def delta(b):
    block, parts, n, value = b.varint(), b.varint(), b.varint(), b.zigzag()
    out = [value] if n else []
    while len(out) < n:
        least = b.zigzag()
        for width in b.take(parts):
            if len(out) >= n:
                break
            for v in unpack(b.take(block // parts * width // 8), width, block // parts):
                if len(out) < n:
                    value = (value + least + v + (1 << 63)) % (1 << 64) - (1 << 63)
                    out.append(value)
    return out


def plain(b, kind, n):
    if kind == 6:
        return [b.take(struct.unpack("<I", b.take(4))[0]) for _ in range(n)]
    return list(struct.unpack(f"<{n}{'q' if kind == 2 else 'd'}", b.take(8 * n)))


def chunk(data, meta, optional, rows):
    at, out, dictionary = meta.get(11, meta[9]), [], None
    while len(out) < rows:
        b = Bytes(data, at)
        head = b.value(12)
        page = Bytes(unzstd(b.take(head[3]), head[2]))
        at = b.at
        if head[1] == 2:
            dictionary = plain(page, meta[1], head[7][1])
            continue
        n = head[5][1]
        levels = [1] * n
        if optional:
            levels = rle(Bytes(page.take(struct.unpack("<I", page.take(4))[0])), 1, n)
        values = {8: lambda k: [dictionary[i] for i in rle(page, page.byte(), k)],
                  5: lambda k: delta(page), 0: lambda k: plain(page, meta[1], k)}[head[5][2]](sum(levels))
        assert len(values) == sum(levels)
        values = iter(values)
        out += [next(values) if level else None for level in levels]
    present = [v for v in out if v is not None]
    statistics = meta[12]
    assert statistics[3] == len(out) - len(present)
    if meta[1] == 2 and 6 in statistics and min(present) >= 0:
        assert struct.unpack("<q", statistics[6])[0] == min(present)
        assert struct.unpack("<q", statistics[5])[0] == max(present)
    assert len(out) == rows
    return out


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:4] == data[-4:] == b"PAR1"
    meta = Bytes(data, len(data) - 8 - struct.unpack("<I", data[-8:-4])[0]).value(12)
    columns = meta[2][1:]
    rows = {c[4].decode(): [] for c in columns}
    for group in meta[4]:
        for column, part in zip(columns, group[1]):
            values = chunk(data, part[3], column[3] == 1, group[3])
            if column.get(6) == 0:
                values = [v.decode() if v is not None else None for v in values]
            elif column.get(6) == 14:
                values = [v & (1 << 64) - 1 if v is not None else None for v in values]
            rows[column[4].decode()] += values
    assert all(len(v) == meta[3] for v in rows.values())
    facts = [(pair[1].decode(), pair[2].decode()) for pair in meta[5]]
    assert len(dict(facts)) == len(facts)
    return rows, dict(facts), meta[6].decode()


def trace_id(path):
    """What strata-export(1) says of strata.trace."""
    sha = hashlib.sha256()

    def put(path):
        if os.path.isdir(path):
            for name in sorted(os.listdir(path), key=os.fsencode):
                sha.update(os.fsencode(name) + b"\0")
                put(os.path.join(path, name))
        else:
            with open(path, "rb") as file:
                data = file.read()
            sha.update(struct.pack("<Q", len(data)) + data[:SAMPLE] + data[max(SAMPLE, len(data) - SAMPLE):])

    put(path)
    return sha.hexdigest()[:16]


def expected_facts(strata, trace, lines):
    losses = [line for line in lines if "cause" in line]
    facts = {
        "strata.version": version(strata), "strata.host": "a/b", "strata.losses": str(len(losses)),
        "strata.lost": str(sum(line.get("lost") or 0 for line in losses)),
        "strata.lost_unknown": "true" if any(line.get("lost") is None for line in losses) else "false",
    }
    errors = [line["error_ns"] for line in lines if "error_ns" in line]
    if errors:
        facts["strata.error_ns"] = str(max(errors))
    if stat.S_ISREG(os.stat(trace).st_mode) or os.path.isdir(trace):
        facts["strata.trace"] = trace_id(trace)
    return facts


def version(strata):
    return subprocess.run([strata, "--version"], stdout=subprocess.PIPE, check=True).stdout.decode().split()[1]


def main():
    strata, scratch, traces = sys.argv[1], sys.argv[2], sys.argv[3:]
    for number, trace in enumerate(traces):
        out = os.path.join(scratch, f"parquet{number}")
        export = [strata, "export", "--to", "parquet", "--host-name", "a/b", "--cpu-hz", "1G", "-n", "20000", "-o"]
        for directory in (out, out + ".again"):
            r = subprocess.run(export + [directory, trace], stdout=subprocess.PIPE)
            assert r.returncode in (0, 3), r.returncode
        lines = subprocess.run([strata, "report", "-f", "json", "--cpu-hz", "1G", "-n", "20000", trace], stdout=subprocess.PIPE).stdout
        lines = [json.loads(line) for line in lines.splitlines()]
        expected = expected_facts(strata, trace, lines)
        found = {}
        files = sorted(glob.glob(glob.escape(out) + "/**/*.parquet", recursive=True))
        for path in files:
            relative = os.path.relpath(path, out)
            with open(path, "rb") as a, open(os.path.join(out + ".again", relative), "rb") as b:
                assert a.read() == b.read(), f"{relative} differs"
            rows, facts, created_by = read(path)
            assert facts.pop("strata.day_is_known") in ("true", "false")
            assert facts == expected, (facts, expected)
            assert created_by == "strata version " + expected["strata.version"], created_by
            keys = dict(p.split("=", 1) for p in relative.split("/")[1:-1])
            assert urllib.parse.unquote(keys["host"]) == "a/b"
            if not relative.startswith("event/"):
                continue
            for i, event_id in enumerate(rows["id"]):
                assert event_id not in found
                found[event_id] = (urllib.parse.unquote(keys["event"]), {k: v[i] for k, v in rows.items()})
        expected = [line for line in lines if "event" in line]
        assert len(expected) == len(found) > 0, (len(expected), len(found))
        compared = 0
        for (_, (name, row)), event in zip(sorted(found.items()), expected):
            assert name == event["event"], (name, event)
            for field, value in event.get("fields", {}).items():
                field = "field_" + field if "field_" + field in row else field
                if field in row and isinstance(value, (int, str)) and type(row[field]) is type(value):
                    assert row[field] == value, (field, row, event)
                    compared += 1
        print(f"{os.path.basename(trace)}: {len(found)} events, {compared} values, {len(files)} files")


main()
