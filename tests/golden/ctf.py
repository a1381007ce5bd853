#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what strata shows of a trace in CTF with what babeltrace2 does.

    ctf.py STRATA BABELTRACE

STRATA: strata report --format json. BABELTRACE: babeltrace2 --clock-cycles, of the same trace. Each
event's time, processor, thread, name and fields are to be the same, and the order of events. (The
trace has no empty texts: babeltrace2 2.0 shows the one before it instead.)"""

import json
import re
import sys


class Text:
    """A value in babeltrace2's text: { name = VALUE, … }, [ [0] = VALUE, … ], ( "label" : container = N ),
    a string or a number."""

    def __init__(self, text):
        self.text = text
        self.at = 0

    def take(self, pattern):
        match = re.compile(r"\s*" + pattern).match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def need(self, pattern):
        match = self.take(pattern)
        if not match:
            sys.exit(f"expected {pattern} at {self.at} of {self.text!r}")
        return match

    def value(self):
        blob = self.take(r"\{((?: [0-9a-f]{2})+) \}")
        if blob:
            return bytes.fromhex(blob.group(1)).hex()
        if self.take(r"\{"):
            if not re.compile(r"\s*(\w+ = |\})").match(self.text, self.at):
                value = self.value()  # what a variant is
                self.need(r"\}")
                return value
            members = {}
            while not self.take(r"\}"):
                name = self.need(r"(\w+) = ").group(1)
                members[name] = self.value()
                self.take(",")
            return members
        if self.take(r"\["):
            elements = []
            while not self.take(r"\]"):
                self.need(r"\[\d+\] = ")
                elements.append(self.value())
                self.take(",")
            return elements
        if self.take(r"\("):
            self.need(r"(?:\"[^\"]*\"|<unknown>|\{[^}]*\}) : container = ")
            value = self.value()
            self.need(r"\)")
            return value
        string = self.take(r'"((?:[^"\\]|\\.)*)"')
        if string:
            return json.loads(string.group(0))
        word = self.take(r"(true|false|<none>)")
        if word:
            return {"true": True, "false": False, "<none>": None}[word.group(1)]
        number = self.need(r"[-+\w.]+").group(0).strip()
        self.take(r"\{[^}]*\}")  # the names of its bits
        return int(number, 0) if re.fullmatch(r"-?\d+|0x[0-9A-Fa-f]+", number) else float(number)


def babeltrace(line):
    head = re.match(r"\[(\d+)\] \(\S+\) (?:\S+ )?([\w:]+): ", line)
    if not head:
        sys.exit(f"not a line of babeltrace2: {line!r}")
    text = Text(line[head.end() :].rstrip("\n"))
    packet, context, fields = text.value(), text.need(",") and text.value(), text.need(",") and text.value()
    return (int(head.group(1)), packet["cpu_id"], dict(flat(context)), head.group(2), dict(flat(fields)))


def flat(members, prefix=""):
    """The fields that an event has of MEMBERS, a struct: those of structs in it have names with dots."""
    for name, value in members.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        elif value is not None and not name.endswith("_length"):
            yield prefix + name, value


def same(ours, theirs):
    if isinstance(theirs, str) and isinstance(ours, int):
        return str(ours) == theirs  # a variant that reads as a BLOB of one byte
    if isinstance(theirs, list) and isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return list(ours) == list(theirs) and all(same(ours[name], value) for name, value in theirs.items())
    if isinstance(theirs, float) or isinstance(ours, float):
        # babeltrace2 prints six digits.
        return f"{ours:g}" == f"{theirs:g}"
    if isinstance(theirs, list) and isinstance(ours, str):
        return [byte for byte in bytes.fromhex(ours)] == theirs
    return ours == theirs


def main():
    ours_path, theirs_path = sys.argv[1:]
    theirs = [babeltrace(line) for line in open(theirs_path, encoding="utf-8")]
    items = [json.loads(line) for line in open(ours_path, encoding="utf-8")]
    ours = [item for item in items if "event" in item]
    if len(ours) != len(theirs) or not ours:
        sys.exit(f"strata shows {len(ours)} events, babeltrace2 {len(theirs)}")
    for item, (time, cpu, context, name, fields) in zip(ours, theirs):
        found = item["fields"]
        for key, value in context.items():
            if key == "vtid":
                if item["pid"] != value:
                    sys.exit(f"thread {value}: {item}")
            elif key == "procname":
                if item["comm"] != value:
                    sys.exit(f"named {value}: {item}")
            elif not same(found.pop("context." + key), value):
                sys.exit(f"{key} is {value}: {item}")
        if (item["time_ns"], item["cpu"], item["event"]) != (time, cpu, name):
            sys.exit(f"babeltrace2 has {time} {cpu} {name}: {item}")
        if list(found) != list(fields):
            sys.exit(f"the fields are {list(fields)}: {item}")
        for key, value in fields.items():
            if not same(found[key], value):
                sys.exit(f"{key} is {value}: {item}")
    print(f"{len(ours)} events")


if __name__ == "__main__":
    main()
