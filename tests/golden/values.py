#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""See values.sh."""

import csv
import json
import os
import sqlite3
import struct
import subprocess
import sys

STRATA = sys.argv[1]
DOUBLES = [float("inf"), float("-inf"), float("nan"), 0.1 + 0.2, 1e300, 5e-324]
IN_JSON = ["Infinity", "-Infinity", "NaN"] + DOUBLES[3:]

METADATA = """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
typealias integer { size = 64; align = 8; signed = false; } := u64;
stream { event.header := struct { u64 timestamp; };
  packet.context := struct { u64 packet_size; u64 content_size; }; };
event { name = "ev"; fields := struct {
    floating_point { exp_dig = 11; mant_dig = 53; align = 8; } d;
    integer { size = 8; align = 8; signed = true; } small[3];
    integer { size = 32; align = 8; signed = false; } large[2]; }; };
"""


def ctf():
    os.mkdir("ctf")
    with open("ctf/metadata", "w", encoding="ascii") as file:
        file.write(METADATA)
    events = b"".join(struct.pack("<Qd3b2I", 1000 + i, d, -1, 0, 127, 7, 2**32 - 1) for i, d in enumerate(DOUBLES))
    with open("ctf/stream", "wb") as file:
        file.write(struct.pack("<QQ", 8 * (16 + len(events)), 8 * (16 + len(events))) + events)


RAW = b"\x00\x01\xffA\x00B\x1b\x00"
RAW_FORMAT = b"""name: raw_data
ID: 16
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:unsigned int id;\toffset:8;\tsize:4;\tsigned:0;
\tfield:char buf[];\toffset:12;\tsize:0;\tsigned:0;

print fmt: "id:%04x %08x", REC->id, (int)REC->buf[0]
"""


def put(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def ftrace():
    put("ftrace/events/header_page", b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
        b"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
        b"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n")
    put("ftrace/events/ftrace/raw_data/format", RAW_FORMAT)
    put("ftrace/trace_clock", b"[local]\n")
    body = struct.pack("<HBBiI", 16, 0, 0, 42, 0xab) + RAW
    record = struct.pack("<I", 1000 << 5 | len(body) // 4) + body
    put("ftrace/cpu0.raw", (struct.pack("<QQ", 10**9, len(record)) + record).ljust(4096, b"\0"))


def run(*words):
    return subprocess.run([STRATA, *words], capture_output=True, check=True).stdout.decode()


def expect(what, got, wanted):
    # NaN and -0.0 compare as text.
    if repr(got) != repr(wanted):
        sys.exit(f"values: {what}: {got!r}, not {wanted!r}")


ctf()
ftrace()
fields = [json.loads(line)["fields"] for line in run("report", "-f", "json", "ctf").splitlines()]
expect("JSON", fields, [{"d": d, "small": [-1, 0, 127], "large": [7, 2**32 - 1]} for d in IN_JSON])
rows = list(csv.DictReader(run("report", "-f", "csv", "ctf").splitlines()))
expect("CSV", [json.loads(row["fields"]) for row in rows], fields)
run("export", "--to", "sqlite", "-o", "ctf.db", "ctf")
db = sqlite3.connect("ctf.db")
expect("SQLite's events_json", [json.loads(f) for f, in db.execute("SELECT fields FROM events_json ORDER BY id")], fields)
table = db.execute("SELECT name FROM sqlite_schema WHERE name LIKE '%ev' AND type IN ('table', 'view')").fetchone()[0]
expect("SQLite", [(d, json.loads(small), json.loads(large)) for d, small, large in
                  db.execute(f"SELECT d, small, large FROM \"{table}\" ORDER BY id")],
       [("NaN" if d != d else d, [-1, 0, 127], [7, 2**32 - 1]) for d in DOUBLES])

item = json.loads(run("report", "-f", "json", "ftrace"))["fields"]
expect("raw_data in JSON", item, {"id": 0xab, "buf": RAW.hex()})
row = next(csv.DictReader(run("report", "-f", "csv", "ftrace").splitlines()))
expect("raw_data in CSV", json.loads(row["fields"]), item)
run("export", "--to", "sqlite", "-o", "ftrace.db", "ftrace")
db = sqlite3.connect("ftrace.db")
table = db.execute("SELECT name FROM sqlite_schema WHERE name LIKE '%raw_data' AND type IN ('table', 'view')").fetchone()[0]
expect("raw_data in SQLite", db.execute(f'SELECT id, buf, typeof(buf) FROM "{table}"').fetchone()[1:], (RAW, "blob"))
