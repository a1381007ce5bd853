#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what strata exported as a timeline with what it reports.

    export_timeline.py DECODED REPORT TEXT     DECODED: protoc --decode of the trace
                                               REPORT, TEXT: strata report of the same, in JSON and plain
    export_timeline.py DECODED                 prints the marks, a line of JSON each

Every event and loss of the report is in the timeline once, in the same order, with its time, fields, CPU, thread and
vCPU; slices nest, on tracks that are declared before; nothing else is there. Prints what it saw, as JSON."""

import json
import re
import sys

OWN = "strata."


class Mark:
    """An event on a track. ARGS have all names."""

    def __init__(self, kind, track, ns, name, args, flow=None):
        self.kind, self.track, self.ns, self.name, self.args, self.flow = kind, track, ns, name, args, flow


ESCAPES = re.compile(rb"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)")
PLAIN = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def unescape(text):
    def one(match):
        what = match.group(1)
        if what[0:1] == b"x":
            return bytes([int(what[1:], 16)])
        if what[0:1].isdigit():
            return bytes([int(what, 8)])
        return PLAIN.get(what, what)

    return ESCAPES.sub(one, text.encode("utf-8", "surrogateescape")).decode("utf-8")


def parse(lines):
    """The messages of protoc's text, one after the other: lists of (name, value)."""
    stack = []
    for line in lines:
        line = line.strip()
        if line.endswith(" {"):
            stack.append((line[:-2], []))
        elif line == "}":
            name, fields = stack.pop()
            if stack:
                stack[-1][1].append((name, fields))
            else:
                yield name, fields
        else:
            name, value = line.split(": ", 1)
            if name.isdigit():
                sys.exit(f"a field that the schema does not know: {line}")
            stack[-1][1].append((name, unescape(value[1:-1]) if value[0] == '"' else value))


def typed(annotation, names):
    """Name and value of an annotation."""
    name = value = None
    for key, v in annotation:
        if key == "name_iid":
            name = names["debug_annotation_names"][int(v)]
        elif key == "bool_value":
            value = v == "true"
        elif key in ("uint_value", "int_value", "pointer_value"):
            value = int(v)
        elif key == "double_value":
            value = float(v)
        elif key == "string_value":
            value = v
        elif key == "string_value_iid":
            value = names["debug_annotation_string_values"][int(v)]
        elif key == "array_values":
            value = (value or []) + [typed(v, names)[1]]
    return name, [] if value is None else value


TYPES = {"1": "B", "2": "E", "3": "i", "4": "C"}


def perfetto(path):
    names = {}
    tracks = {}
    with open(path, encoding="utf-8", errors="surrogateescape") as f:
        for _, packet in parse(f):
            fields = dict(packet)
            assert fields["trusted_packet_sequence_id"] == "1"
            for kind, entry in fields.get("interned_data", []):
                entry = dict(entry)
                known = names.setdefault(kind, {})
                assert int(entry["iid"]) not in known, f"{kind} {entry} twice"
                known[int(entry["iid"])] = entry.get("name", entry.get("str"))
            if "track_descriptor" in fields:
                track = dict(fields["track_descriptor"])
                parent = track.get("parent_uuid")
                assert track["uuid"] not in tracks, f"track {track} twice"
                assert parent is None or parent in tracks, f"track {track} before its parent"
                tracks[track["uuid"]] = [track["name"]] + (tracks[parent] if parent else [])
            if "track_event" not in fields:
                continue
            event = fields["track_event"]
            plain = dict(event)
            kind = TYPES[plain["type"]]
            ns = int(fields["timestamp"])
            if kind == "C":
                yield Mark(kind, tracks[plain["track_uuid"]], ns, None, {"value": int(plain["counter_value"])})
                continue
            args = {}
            for key, value in event:
                if key == "debug_annotations":
                    name, value = typed(value, names)
                    assert name not in args or name.startswith("__") or value == args[name], f"{name} twice"
                    args[name] = value
            name = plain.get("name")
            if "name_iid" in plain:
                name = names["event_names"][int(plain["name_iid"])]
            flow = plain.get("flow_ids", plain.get("terminating_flow_ids"))
            if flow:
                flow = ("f" if "terminating_flow_ids" in plain else "s", flow)
            ns = ns - 2**64 if ns >= 2**63 else ns
            yield Mark(kind, tracks[plain["track_uuid"]], ns, name, args, flow)


def of_track(track, pattern):
    for name in track:
        match = re.fullmatch(pattern, name)
        if match:
            return match.group(1)
    return None


def of_thread(track):
    if track[0].startswith("idle thread of CPU "):
        return 0
    match = re.search(r" (\d+)( exits)?$", track[0])
    return int(match.group(1)) if match else None


def number(text):
    return None if text is None else int(text)


def check_names(mine, text):
    """What values are called is what the report says as text: TEXT has a line for each event, with these names."""
    for field, name in mine.get("names", {}).items():
        if name not in text:
            sys.exit(f"{field} is called {name}, but the report says: {text}")


def is_unknown(mark):
    """What a CPU does is not known from then on: its data end before the others'. No event says so."""
    return mark.kind == "B" and mark.name == "unknown" and not mark.args


def check_slices(marks):
    """Slices nest on their tracks. Yields the marks; counts."""
    open_slices = {}
    seen = {"slices": 0, "cut": {}, "open": 0, "instants": 0, "counters": 0, "flows": {}, "unknown": []}
    last = {}
    kept = []
    for mark in marks:
        key = tuple(mark.track)
        if mark.kind == "C":
            seen["counters"] += 1
            continue
        if mark.flow:
            seen["flows"].setdefault(mark.flow[1], []).append((mark.flow[0], mark.track[-1]))
        if mark.kind == "i":
            seen["instants"] += 1
        else:
            assert mark.ns >= last.get(key, mark.ns), f"{key} steps back to {mark.ns}"
            last[key] = mark.ns
            if mark.kind == "B":
                open_slices[key] = open_slices.get(key, 0) + 1
                seen["slices"] += 1
                if is_unknown(mark):
                    seen["unknown"].append([mark.track[0], mark.ns])
            else:
                assert open_slices.get(key, 0) > 0, f"{key}: an end without a begin at {mark.ns}"
                open_slices[key] -= 1
                why = mark.args.get(OWN + "cut")
                if why:
                    seen["cut"][why] = seen["cut"].get(why, 0) + 1
        kept.append(mark)
    seen["open"] = sum(open_slices.values())
    return kept, seen


def events_of(marks):
    """What the report tells, as far as it is in the timeline."""
    for mark in marks:
        own = {k[len(OWN):]: v for k, v in mark.args.items() if k.startswith(OWN)}
        names = {k[len("name."):]: own.pop(k) for k in list(own) if k.startswith("name.")}
        fields = {k: v for k, v in mark.args.items() if not k.startswith(OWN)}
        if mark.name == "lost" and "cause" in fields:
            since = mark.ns if mark.kind == "B" else None
            yield {"lost": fields.get("lost"), "since_ns": since, "cause": fields["cause"]}
            continue
        if is_unknown(mark):
            continue
        if mark.kind == "i":
            name = mark.name
        elif mark.kind == "B":
            name = own.pop("begin")
        elif "end" in own:
            name = own.pop("end")
        else:
            continue
        yield {
            "time_ns": mark.ns,
            "event": name,
            "fields": fields,
            "cpu": own.get("cpu", number(of_track(mark.track, r"CPU (\d+)( interrupts| events)?"))),
            "pid": own.get("pid", of_thread(mark.track)),
            "comm": own.get("comm"),
            "names": names,
            "error_ns": own.get("error_ns"),
            "vcpu": own.get("vcpu", of_track(mark.track, r"vCPU (\w+)( events)?")),
        }


def same_value(a, b):
    if isinstance(a, str) and isinstance(b, int):
        # Text where a viewer's numbers would not do.
        assert a.startswith("0x") or abs(b) > 2**53, f"{b} is text"
        return int(a, 0) == b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return a == b or abs(a - b) <= 1e-15 * max(abs(a), abs(b))
    return a == b


def compare(mine, theirs):
    if "lost" in theirs or "lost" in mine:
        if mine.get("lost") != theirs.get("lost") or mine.get("cause") != theirs.get("cause"):
            return "the loss"
        return None
    for key in ("time_ns", "event"):
        if mine[key] != theirs.get(key, theirs.get("ticks")):
            return key
    fields = {k: v for k, v in theirs["fields"].items() if v is not None}
    if set(mine["fields"]) != set(fields):
        return "names of fields"
    for key, value in fields.items():
        if not same_value(mine["fields"][key], value):
            return f"field {key}"
    if mine["names"] != theirs.get("names", {}):
        return "names of values"
    if theirs["layer"] == "guest" and theirs.get("vcpu") == theirs.get("cpu"):
        theirs.pop("vcpu", None)
    if not theirs.get("error_ns"):
        theirs.pop("error_ns", None)
    for key in ("cpu", "pid", "vcpu", "error_ns"):
        if theirs.get(key) is not None and mine[key] != theirs[key]:
            return key
    if mine["comm"] is not None and mine["comm"] != theirs.get("comm"):
        return "comm"
    return None


def main():
    if len(sys.argv) == 2:
        for mark in perfetto(sys.argv[1]):
            print(json.dumps({"kind": mark.kind, "track": mark.track, "ns": mark.ns, "name": mark.name or None, "args": mark.args}))
        return
    path, report, text = sys.argv[1:]
    marks, seen = check_slices(perfetto(path))
    n = 0
    mine = events_of(marks)
    with open(report, encoding="utf-8") as f, open(text, encoding="utf-8", errors="replace") as texts:
        for line, text_line in zip(f, texts, strict=True):
            theirs = json.loads(line)
            one = next(mine, None)
            wrong = "it is missing" if one is None else compare(one, theirs)
            if wrong:
                sys.exit(f"event {n}: {wrong}:\n  report:   {theirs}\n  timeline: {one}")
            check_names(one, text_line)
            n += 1
    more = next(mine, None)
    if more:
        sys.exit(f"the timeline has more than the report: {more}")
    seen["events"] = n
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
