#!/usr/bin/env python3
"""What tests/kvm/scenarios/exits.sh left: the exits of tests/kvm/guest.c are all there, and as many as perf counted.

    exits.py OUT BIN
"""

import json
import os
import re
import subprocess
import sys

OUT, BIN = sys.argv[1:]
# What the guest does. Interrupts come as they like, and each page that it touches, once.
KNOWN = {"io": 1000, "cpuid": 1000, "msr": 7, "hlt": 1}
DETAILS = {("io", "port 0xe9 write"): 1000, ("cpuid", "leaf 0x0"): 1000, ("msr", "msr 0x1b read"): 7,
           ("npf", "mmio 0xc0000 write"): 5}


def read(name):
    with open(os.path.join(OUT, name), encoding="utf-8") as file:
        return file.read()


def strata(*args):
    return subprocess.run([os.path.join(BIN, "strata"), *args], check=True, capture_output=True, text=True).stdout


def perf():
    """The rows of perf's report: by reason, how many, and the sum of their times in microseconds."""
    rows = {}
    for line in read("perf-report.txt").splitlines():
        match = re.match(r"\s*(\w+)\s+(\d+)\s+[\d.]+%\s+[\d.]+%\s+([\d.]+)us\s+([\d.]+)us\s+([\d.]+)us", line)
        if match:
            rows[match[1]] = int(match[2]), int(match[2]) * float(match[5])
    return rows


def exits(trace, *options):
    return json.loads(strata("exits", *options, "-f", "json", os.path.join(OUT, trace)))["rows"]


def main():
    assert "FAILED" not in read("serial.log"), read("serial.log")
    assert read("record.status").strip() == "0", read("record.log")
    begun = strata("report", "-e", "kvm_exit", os.path.join(OUT, "trace"))
    theirs = perf()

    # What the guest does, and what perf counted at the same time.
    rows = {row["key"]["reason"]: row for row in exits("trace")}
    for name, n in KNOWN.items():
        assert len(re.findall(rf" reason {name} ", begun)) == n, f"{name}: not {n} exits"
        # The last exit ends the guest: there is no entry after it.
        assert name == "hlt" or rows[name]["n"] == n, (name, rows)
    assert {name: row["n"] for name, row in rows.items() if row["n"]} == {name: n for name, (n, _) in theirs.items()}, (
        rows, theirs)
    for row in rows.values():
        assert row["run"] + row["wait"] + row["sleep"] + row["unknown"] == row["sum"] and row["run"] > 0, row
        assert row["unknown"] == 0, row
    details = {(row["key"]["reason"], row["key"]["detail"]): row["n"] for row in exits("trace", "--by", "detail")}
    assert DETAILS.items() <= details.items(), details

    # The same of perf's own events, with their times: two that record have two times of each event.
    for row in exits("perf.ctf"):
        n, microseconds = theirs[row["key"]["reason"]]
        assert row["n"] == n and abs(row["sum"] / 1000 - microseconds) <= 0.01 * microseconds, (row, n, microseconds)
        theirs.pop(row["key"]["reason"])
    assert not theirs, theirs
    print(f"{len(begun.splitlines())} exits, as many and as long as perf has them: {read('perf-report.txt').strip()}")


main()
