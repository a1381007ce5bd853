#!/usr/bin/env python3
"""Recordings where a CPU was never online."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import check  # noqa: E402
import strata_report  # noqa: E402
import stream  # noqa: E402

check.equal("old-size: exit status", check.text("old-size.status").strip(), "0")
old = check.attempt("old-size: a sound stream", stream.Stream, check.result("old-size.raw"))
check.equal("old-size: one CPU", set(old.cpus), {0})
check.equal("all: exit status", check.text("all.status").strip(), "0")
with open(check.result("all/trace.json")) as file:
    (source,) = json.load(file)["sources"]
check.equal("all: its CPUs", (source["xen"]["cpus"], source["xen"]["offline"]), ([0], []))
# There is no xenstored, and none is waited for.
check.equal("all: its domains", source["xen"].get("domains", []), [])
whole = check.attempt("all: a sound stream", stream.Stream, check.result("all/xen/trace.raw"))
events, losses = check.strata.report(check.result("all"))
check.attempt("all: every record", strata_report.with_stream, events, losses, whole, source["clock"]["hz"])
check.equal("all: one CPU", set(whole.cpus), {0})
check.expect("other: there is no other CPU", "no CPU 1" in check.text("other.log"), check.text("other.log"))
check.expect("none: the size that they have", "64 pages (256 KB)" in check.text("none.log"), check.text("none.log"))
check.done()
