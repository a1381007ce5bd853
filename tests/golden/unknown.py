#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""unknown.py STRATA whole|lost OPTION... TRACE: the unknown rows of `state` are the unknown share of strata sched.
unknown.py lose FROM TO: takes some windows of a CPU out of a trace of Xen, and says that they are lost."""

import collections
import itertools
import json
import struct
import subprocess
import sys

LOST, CPU_CHANGE = 0x1F001, 0x1F003
Row = collections.namedtuple("Row", "begin end state begin_seen end_seen name")


def first_time(records):
    at = 0
    while not (header := struct.unpack_from("<I", records, at)[0]) >> 31:
        at += 4 + 4 * (header >> 28 & 7)
    return records[at + 4:at + 12]


def lose(source, target):
    data = open(source, "rb").read()
    windows, at = [], 0
    while at < len(data):
        header, cpu, size = struct.unpack_from("<III", data, at)
        assert header & 0xFFFFFFF == CPU_CHANGE
        length = 4 + 8 * (header >> 31) + 4 * (header >> 28 & 7)
        windows.append((cpu, data[at:at + length], data[at + length:at + length + size]))
        at += length + size
    numbers = [i for i, window in enumerate(windows) if window[0] == 1]
    gone = set(numbers[len(numbers) // 3:len(numbers) // 3 + 5] + numbers[len(numbers) // 2:len(numbers) // 2 + 2])
    since = None
    with open(target, "wb") as out:
        for i, (cpu, head, body) in enumerate(windows):
            if i in gone:
                since = since or first_time(body)
                continue
            if since and cpu == 1:
                body = struct.pack("<I", LOST | 4 << 28 | 1 << 31) + first_time(body) + struct.pack("<II", 100, 0) + since + body
                since = None
            out.write(head[:8] + struct.pack("<I", len(body)) + head[12:] + body)


def run(strata, *arguments):
    done = subprocess.run([strata, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def states(strata, *arguments):
    """The rows of each thing, in order."""
    columns = "kind, id, begin_ns, end_ns, state, begin_seen, end_seen, name"
    lines = run(strata, "sql", "--format=json", "-c", f"select {columns} from state order by kind, id, begin_ns, end_ns",
                *arguments).splitlines()
    found = collections.defaultdict(list)
    for line in lines:
        row = json.loads(line)
        found[row["kind"], row["id"]].append(Row(*[row.get(key) for key in (
            "begin_ns", "end_ns", "state", "begin_seen", "end_seen", "name")]))
    return found


def check(strata, is_whole, *arguments):
    found = states(strata, *arguments)
    begin = min(rows[0].begin for rows in found.values())
    end = max(rows[-1].end for rows in found.values())
    is_xen = any(kind == "vcpu" for kind, _ in found)
    most = 0
    for by, kind in ("cpu", "cpu"), ("vcpu", "vcpu") if is_xen else ("task", "thread"):
        told = json.loads(run(strata, "sched", "--by", by, "-f", "json", *arguments))
        names = {rows[0].name: i for (of, i), rows in found.items() if of == kind}
        for row in told["rows"]:
            key = row["key"]
            number = names[key["vcpu"]] if by == "vcpu" else int(key["cpu" if by == "cpu" else "pid"])
            rows = found[kind, number]
            covered = next(row[name] for name in row if name.startswith("covered"))
            unknown = sum(one.end - one.begin for one in rows if one.state == "unknown")
            outside = rows[0].begin - begin + end - rows[-1].end
            gaps = 0
            for one, other in itertools.pairwise(rows):
                assert one.end <= other.begin, (key, one, other)
                gaps += other.begin - one.end
                # Between two vCPUs a CPU of Xen runs neither.
                assert one.end == other.begin or (
                    is_xen and kind == "cpu" and (other.begin_seen or other.state == "unknown")), (key, one, other)
            assert outside == 0 or kind == "thread", (key, rows[0], rows[-1])
            expected = row["unknown_share"] * covered
            assert abs(unknown + outside + gaps - expected) < 2 + covered * 1e-6, (key, unknown, outside, gaps, expected)
            if is_whole and kind != "thread":
                assert all(one.state != "unknown" or begin == one.begin or one.end == end for one in rows), (key, rows)
            if kind != "thread":
                most = max(most, unknown / covered)
    assert is_whole or most > 0.01, f"{most} is unknown"
    print(f"{arguments[-1]}: {most:.2%} of a CPU or vCPU is unknown")


if sys.argv[1] == "lose":
    lose(*sys.argv[2:])
else:
    check(sys.argv[1], sys.argv[2] == "whole", *sys.argv[3:])
