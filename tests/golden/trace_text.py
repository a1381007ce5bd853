#!/usr/bin/env python3
"""Compares events that strata reads of a text with those that it reads of the file from which another tool made the text.

    trace_text.py TEXT.json FILE.json N

Times agree to the digits of the text, and so do CPU, thread, name and those fields of the text's that are numbers, of which there are N at
least."""
import json
import sys


def events(path):
    with open(path) as lines:
        return [event for event in map(json.loads, lines) if "event" in event]


def main():
    texts, files = events(sys.argv[1]), events(sys.argv[2])
    # A file also has events that are no line of the text.
    files = [event for event in files if event["event"] not in ("comm", "fork", "exit", "switch", "mmap")]
    compared = 0
    assert len(texts) == len(files), f"{len(texts)} events instead of {len(files)}"
    for text, file in zip(texts, files):
        assert abs(text["time_ns"] - file["time_ns"]) <= 1000, (text, file)
        assert text["event"] == file["event"] and text.get("pid") in (None, file.get("pid")), (text, file)
        assert text.get("cpu") in (None, file.get("cpu")), (text, file)
        for name, value in text["fields"].items():
            if name in file["fields"] and isinstance(value, int) and isinstance(file["fields"][name], int):
                # The other bits of a state have no letters that every version has; trace-cmd has letters of its own for idle and dead threads.
                mask = (0x0F if "guest" in (text["layer"], file["layer"]) else 0xFF) if name == "prev_state" else -1
                assert value & mask == file["fields"][name] & mask, (name, text, file)
                compared += 1
    assert compared >= int(sys.argv[3]), compared


main()
