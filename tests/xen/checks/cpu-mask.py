#!/usr/bin/env python3
"""Recordings after another program left its CPU mask set."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import check  # noqa: E402
import stream  # noqa: E402

for name in "left", "left-again", "all", "old-name", "small":
    check.equal(f"{name}: exit status", check.text(f"{name}.status").strip(), "0")
left = check.attempt("left: the stream is valid", stream.Stream, check.result("left.raw"))
check.equal("left: only CPU 0 has records, so the CPU mask is set", {cpu for cpu, records in left.cpus.items() if records}, {0})
recorded = check.attempt("all: the stream is valid", stream.Stream, check.result("all/xen/trace.raw"))
check.equal("all: both CPUs have records", {cpu for cpu, records in recorded.cpus.items() if records}, {0, 1})
with open(check.result("all/trace.json")) as file:
    (source,) = json.load(file)["sources"]
check.equal("all: trace.json lists both CPUs", source["xen"]["cpus"], [0, 1])
# Strata's xentrace keeps the mask, as Xen's xentrace does.
old = check.attempt("old-name: the stream is valid", stream.Stream, check.result("old-name.raw"))
check.equal("old-name: only CPU 0, by the mask left set", {cpu for cpu, records in old.cpus.items() if records}, {0})
# A memory limit smaller than the buffer of one CPU.
small = check.attempt("small: the stream is valid", stream.Stream, check.result("small.raw"))
check.expect("small: at most 64 KiB", 0 < os.path.getsize(small.path) <= 64 << 10, os.path.getsize(small.path))
check.done()
