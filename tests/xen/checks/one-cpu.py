#!/usr/bin/env python3
"""Recordings on a machine where one CPU was never online."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import check  # noqa: E402
import strata_report  # noqa: E402
import stream  # noqa: E402

check.equal("old-size: exit status", check.text("old-size.status").strip(), "0")
old = check.attempt("old-size: the stream is valid", stream.Stream, check.result("old-size.raw"))
check.equal("old-size: only CPU 0", set(old.cpus), {0})
check.equal("all: exit status", check.text("all.status").strip(), "0")
with open(check.result("all/trace.json")) as file:
    (source,) = json.load(file)["sources"]
check.equal("all: trace.json lists CPU 0 and no offline CPU", (source["xen"]["cpus"], source["xen"]["offline"]), ([0], []))
# xenstored does not run, and the recorder does not wait for it.
check.equal("all: trace.json lists no domains", source["xen"].get("domains", []), [])
whole = check.attempt("all: the stream is valid", stream.Stream, check.result("all/xen/trace.raw"))
events, losses = check.strata.report(check.result("all"))
check.attempt("all: strata report prints every record", strata_report.with_stream, events, losses, whole, source["clock"]["hz"])
check.equal("all: only CPU 0", set(whole.cpus), {0})
check.expect("other: CPU 1 is refused", "no CPU 1" in check.text("other.log"), check.text("other.log"))
check.expect("none: the log has the present buffer size", "64 pages (256 KB)" in check.text("none.log"), check.text("none.log"))
check.done()
