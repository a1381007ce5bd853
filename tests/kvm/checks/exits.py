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
NAMES = {"114": "cpuid", "123": "io", "124": "msr", "120": "hlt", "96": "interrupt", "1024": "npf"}


def read(name):
    with open(os.path.join(OUT, name), encoding="utf-8") as file:
        return file.read()


def strata(*args):
    return subprocess.run([os.path.join(BIN, "strata"), *args], check=True, capture_output=True, text=True).stdout


def perf():
    """The rows of perf's report: by reason, how many."""
    rows = {}
    for line in read("perf-report.txt").splitlines():
        match = re.match(r"\s*(\w+)\s+(\d+)\s+[\d.]+%\s+[\d.]+%\s+([\d.]+)us\s+([\d.]+)us\s+([\d.]+)us", line)
        if match:
            rows[match[1]] = int(match[2])
    return rows


def main():
    assert "FAILED" not in read("serial.log"), read("serial.log")
    assert read("record.status").strip() == "0", read("record.log")
    trace = os.path.join(OUT, "trace")

    exits = {}
    for line in strata("report", "-f", "json", "-e", "kvm_exit", trace).splitlines():
        match = re.search(r'"exit_reason":"?(\w+)', line)
        if match:
            name = NAMES.get(match[1], match[1])
            exits[name] = exits.get(name, 0) + 1
    for name, n in KNOWN.items():
        assert exits.get(name) == n, f"{name}: {exits.get(name)} exits, not {n}"
    assert exits["npf"] >= 5, exits

    latency = json.loads(strata("latency", "exit", "--by", "exit_reason", "-f", "json", trace))
    complete = {NAMES[row["key"]["exit_reason"]]: row["n"] for row in latency["rows"] if row["n"] > 0}
    # The last exit ends the guest.
    assert complete == {name: n for name, n in exits.items() if name != "hlt"}, complete
    assert complete == perf(), (complete, perf())
    print(f"{sum(exits.values())} exits, as many as perf counted: {exits}")


main()
