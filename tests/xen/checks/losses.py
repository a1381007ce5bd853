#!/usr/bin/env python3
"""Streams of Debian's xentrace: one with lost records, one with a single event class."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import check  # noqa: E402
import strata_report  # noqa: E402
import peer  # noqa: E402
import stream  # noqa: E402

path = check.result("losses.raw")
recorded = check.attempt("the stream is valid", stream.Stream, path)
check.expect("records are lost in at least 3 places", len(recorded.losses) >= 3, recorded.losses)
events, losses = check.strata.report(path)
names = check.attempt("strata report prints every record and every loss", strata_report.with_stream, events, losses, recorded)
check.expect("records of the credit scheduler", names and any(0x22000 <= event < 0x22200 for event in names))
check.expect("records of emulated devices", names and any(event >> 12 == 0x84 for event in names), sorted(hex(e) for e in names or []))
stat = check.strata.stat(path)
check.equal("strata stat counts the lost records", stat["lost"]["events"], recorded.lost())
check.attempt("strata stat --strict exits with 3", check.strata.run, "stat", "--strict", path, status=3)
compared = check.attempt(
    "xenalyze: the same records in the same order", strata_report.with_peer, events, recorded, peer.run(check.xenalyze, path)
)
for kind in "vcpu", "hypercall", "runstate", "vmexit", "port":
    check.expect(f"xenalyze: the same {kind} records, more than 200", compared and compared[kind] > 200, compared and compared[kind])

path = check.result("hvm.raw")
recorded = check.attempt("hvm alone: the stream is valid", stream.Stream, path)
check.equal("hvm alone: only records of class hvm", set(recorded.classes()), {"hvm"})
events, losses = check.strata.report(path)
check.attempt("hvm alone: strata report prints every record", strata_report.with_stream, events, losses, recorded)
check.attempt(
    "hvm alone: xenalyze prints the same records in the same order", strata_report.with_peer, events, recorded, peer.run(check.xenalyze, path)
)
check.done()
