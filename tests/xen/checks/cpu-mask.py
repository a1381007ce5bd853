#!/usr/bin/env python3
"""A recording after another program has left its mask of CPUs."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import check  # noqa: E402
import stream  # noqa: E402

for name in "left", "left-again", "all", "old-name", "small":
    check.equal(f"{name}: exit status", check.text(f"{name}.status").strip(), "0")
left = check.attempt("left: a sound stream", stream.Stream, check.result("left.raw"))
check.equal("left: one CPU, so the mask was set", {cpu for cpu, records in left.cpus.items() if records}, {0})
recorded = check.attempt("all: a sound stream", stream.Stream, check.result("all/xen/trace.raw"))
check.equal("all: all CPUs", {cpu for cpu, records in recorded.cpus.items() if records}, {0, 1})
with open(check.result("all/trace.json")) as file:
    (source,) = json.load(file)["sources"]
check.equal("all: as its directory says", source["xen"]["cpus"], [0, 1])
# xentrace keeps the mask, as the original does.
old = check.attempt("old-name: a sound stream", stream.Stream, check.result("old-name.raw"))
check.equal("old-name: what was left", {cpu for cpu, records in old.cpus.items() if records}, {0})
# Less memory than a CPU's buffer has.
small = check.attempt("small: a sound stream", stream.Stream, check.result("small.raw"))
check.expect("small: so much at most", 0 < os.path.getsize(small.path) <= 64 << 10, os.path.getsize(small.path))
check.done()
