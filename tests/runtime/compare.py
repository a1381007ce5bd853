#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what a traced program says that it emitted with what a reader shows of its trace.

    compare.py KIND EMITTED SHOWN [--lost N] [--at-least]

EMITTED: lines of JSON, as tests/runtime/emit.c prints them. KIND is what SHOWN is: `babeltrace` (text of
babeltrace2), `strata` (JSON of strata report; its losses must be those that were counted), `log` (PID@SEC.USEC: lines, by thread), `text` (lines "EVENT TEXT", in any order).
All that was emitted must be there, thread by thread in its order. --lost N: N of them are missing, in
their places. --at-least: there may be more after them (of a program that was killed before it said so).
"""
import collections
import json
import re
import sys


def emitted(path):
    threads = collections.defaultdict(list)
    for line in open(path, "rb"):
        event = json.loads(line.decode("utf-8"))
        threads[event["tid"]].append(event)
    return threads


def fields(text):
    """{ a = 1, b = "x" } of babeltrace2."""
    found = {}
    pattern = re.compile(r'\s*(\w+) = ("(?:[^"\\]|\\.)*"|[^,}]+?)\s*(?:,|$)')
    at = 0
    while at < len(text):
        match = pattern.match(text, at)
        if not match:
            sys.exit(f"cannot read {text!r} from {at}")
        name, value = match.groups()
        if value.startswith('"'):
            found[name] = json.loads(value)
        else:
            found[name] = int(value, 0)
        at = match.end()
    return found


def babeltrace(path):
    threads = collections.defaultdict(list)
    line_of = re.compile(r"\[[^]]*\] \([^)]*\) (?:\S+ )?(\w+): \{ ([^}]*) \}(?:, \{ (.*) \})?$")
    last = None
    for line in open(path, encoding="utf-8", errors="surrogateescape"):
        match = line_of.match(line.rstrip("\n"))
        if not match:
            sys.exit(f"not a line of babeltrace2: {line!r}")
        time = line[1 : line.index("]")]
        if last is not None and time < last:
            sys.exit(f"goes back in time: {line!r}")
        last = time
        context = fields(match.group(2))
        threads[context["tid"]].append((match.group(1), fields(match.group(3) or "")))
    return threads


def strata(path, lost):
    threads = collections.defaultdict(list)
    told = 0
    last = None
    for line in open(path, "rb"):
        item = json.loads(line.decode("utf-8"))
        if last is not None and item["time_ns"] < last:
            sys.exit(f"goes back in time: {line!r}")
        last = item["time_ns"]
        if "lost" in item:
            told += item["lost"]
        else:
            threads[item["pid"]].append((item["event"], item["fields"]))
    if told != (lost or 0):
        sys.exit(f"strata reports {told} lost events, {lost} were counted")
    return threads


def log(path):
    threads = collections.defaultdict(list)
    for line in open(path, "rb"):
        if re.match(rb"\d+@\d+\.\d{6}:\d+ events were dropped\n$", line):
            continue
        match = re.match(rb"(\d+)@\d+\.\d{6}:(\w+) (.*)\n$", line)
        if not match:
            sys.exit(f"not a line of the log: {line!r}")
        threads[int(match.group(1))].append((match.group(2).decode(), match.group(3)))
    return threads


def compare(want, got, lost, at_least, who):
    """Two lists of which the second is the first, or a part of it in the same order."""
    at = 0
    missing = 0
    for item in want:
        if at < len(got) and got[at] == item:
            at += 1
        elif lost is None:
            sys.exit(f"{who}: emitted {item!r}, shown {got[at] if at < len(got) else None!r}")
        else:
            missing += 1
    if at < len(got) and not at_least:
        sys.exit(f"{who}: shown but not emitted, or not in this place: {got[at]!r}")
    return missing


def main():
    arguments = sys.argv[1:]
    lost = None
    at_least = "--at-least" in arguments
    if at_least:
        arguments.remove("--at-least")
    if "--lost" in arguments:
        i = arguments.index("--lost")
        lost = int(arguments[i + 1])
        del arguments[i : i + 2]
    kind, emitted_path, shown_path = arguments
    want = emitted(emitted_path)
    total = sum(len(events) for events in want.values())
    if total == 0:
        sys.exit("nothing was emitted")
    missing = 0
    if kind == "text":
        left = collections.Counter(
            (event["event"] + " " + event["text"]).encode() for events in want.values() for event in events
        )
        for line in open(shown_path, "rb"):
            line = line.rstrip(b"\n")
            if left[line] == 0 and not at_least:
                sys.exit(f"shown but not emitted: {line!r}")
            left[line] -= 1
        missing = sum(n for n in left.values() if n > 0)
        if missing and lost is None:
            sys.exit(f"emitted but not shown: {[line for line, n in left.items() if n > 0][:3]!r}")
    else:
        if kind == "strata":
            got = strata(shown_path, lost)
        else:
            got = babeltrace(shown_path) if kind == "babeltrace" else log(shown_path)
        if set(got) - set(want) and not at_least:
            sys.exit(f"threads that emitted nothing: {set(got) - set(want)}")
        for tid, events in want.items():
            if kind in ("babeltrace", "strata"):
                items = [(event["event"], event["fields"]) for event in events]
            else:
                items = [(event["event"], event["text"].encode()) for event in events]
            missing += compare(items, got[tid], lost, at_least, f"thread {tid}")
    if missing != (lost or 0):
        sys.exit(f"{missing} of {total} are missing, {lost} were counted")
    print(f"{total} events, {missing} of them lost")


main()
