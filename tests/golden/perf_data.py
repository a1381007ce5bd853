#!/usr/bin/env python3
"""Compares what perf printed of a recording with what strata report prints of it: perf_data.py STRATA DATA SCRIPT

SCRIPT is perf script --ns -F comm,tid,cpu,time,event,trace --show-lost-events (without cpu and trace where the recording
has none), or the lines of perf script -D about samples, whose addresses, periods and call chains are compared then."""

import itertools
import json
import re
import subprocess
import sys

STRATA, DATA, SCRIPT = sys.argv[1:]
EVENT = re.compile(r"\s*(.+?)\s+(-?\d+)\s+(?:\[(\d+)\]\s+)?([\d.]+):\s+(?:(\S+): ?(.*)|PERF_RECORD_LOST lost (\d+))$")
SAMPLE = re.compile(r"(?:(\d+) )?(\d+) 0x[0-9a-f]+ \[0x[0-9a-f]+\]: PERF_RECORD_SAMPLE\(IP, 0x\d+\): "
                    r"(-?\d+)/(-?\d+): (0x[0-9a-f]+) period: (\d+) ")
CHAIN = re.compile(r"\.\.\.\.\. +\d+: ([0-9a-f]+)$")
OURS = re.compile(r"([\d.]+) \[(\d+|---)\] +(.+?) (\S+?):(?: (.*))?$")
LOST = re.compile(r"([\d.]+) \[(\d+|---)\] .*LOST: (\d+) events?")


def strata(*args):
    return subprocess.run([STRATA, "report", *args, DATA], check=True, capture_output=True, text=True).stdout.splitlines()


def one_blank(text):
    return re.sub(r"\s+", " ", text or "").strip()


def of_perf(lines):
    for line in filter(None, lines):
        comm, tid, cpu, time, event, text, lost = EVENT.match(line).groups()
        if lost:
            yield time, cpu, "LOST", lost
            continue
        # A task without a name has its number with a colon.
        task = "<idle>-0" if tid == "0" else tid if comm.startswith(":") else f"{comm}-{tid}"
        yield time, cpu, task, event.split(":")[-1], one_blank(text)


def of_strata():
    for line in strata():
        lost = LOST.match(line)
        if lost:
            time, cpu, n = lost.groups()
            yield time, None if cpu == "---" else cpu, "LOST", n
            continue
        time, cpu, task, event, text = OURS.match(line).groups()
        # Of other samples perf prints no text.
        yield time, None if cpu == "---" else cpu, task, event, "" if re.match("ip=|$", text or "") else one_blank(text)


def samples_of_perf(lines):
    sample = None
    for line in lines:
        begin, link = SAMPLE.match(line), CHAIN.match(line)
        if begin:
            if sample:
                yield sample
            cpu, time, _, tid, ip, period = begin.groups()
            sample = [cpu and int(cpu), int(time), int(tid), int(ip, 16), int(period), []]
        elif link and sample:
            sample[5].append(int(link[1], 16))
    yield sample


def samples_of_strata():
    for line in strata("-f", "json"):
        item = json.loads(line)
        if item.get("group") == "perf" and item["event"] != "switch":
            fields = item["fields"]
            yield [item.get("cpu"), item["time_ns"], item.get("pid", -1), fields["ip"], fields["period"],
                   fields.get("callchain", [])]


def main():
    with open(SCRIPT, encoding="utf-8") as file:
        lines = file.read().splitlines()
    if any(map(SAMPLE.match, lines)):
        theirs, ours = list(samples_of_perf(lines)), list(samples_of_strata())
    else:
        theirs, ours = list(of_perf(lines)), list(of_strata())
        # perf does not show what only the counters of the events report, at the end, and no switches.
        ours = [item for item in ours if item[3] != "switch"]
        while len(ours) > len(theirs) and ours[-1][2] == "LOST":
            ours.pop()
        # It may know the CPU only by the number of the event.
        ours = [b[:1] + (a[1],) + b[2:] if a and a[1] is None else b for a, b in itertools.zip_longest(theirs, ours)]
        # A task that has ended when it is switched away from has no number in perf.
        # Its records of a task may be lost, and the kernel's events have the name.
        theirs = [a[:2] + b[2:3] + a[3:] if b and a[2].isdigit() and b[2].endswith("-" + a[2]) else a
                  for a, b in itertools.zip_longest(theirs, ours)]
        theirs = [a[:2] + b[2:3] + a[3:] if b and a[2] in ("-1", ":-1--1") else a
                  for a, b in itertools.zip_longest(theirs, ours)]
    assert len(theirs) > 30, f"{SCRIPT}: {len(theirs)} lines"
    for a, b in itertools.zip_longest(theirs, ours):
        assert a == b, f"{DATA}:\nperf:   {a}\nstrata: {b}"


if __name__ == "__main__":
    main()
