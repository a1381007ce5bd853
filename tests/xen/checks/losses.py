#!/usr/bin/env python3
"""Streams of Debian's own xentrace in which records are missing, or all but one class."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import check  # noqa: E402
import strata_report  # noqa: E402
import peer  # noqa: E402
import stream  # noqa: E402

path = check.result("losses.raw")
recorded = check.attempt("a sound stream", stream.Stream, path)
check.expect("losses in several places", len(recorded.losses) >= 3, recorded.losses)
events, losses = check.strata.report(path)
names = check.attempt("every record, and every loss", strata_report.with_stream, events, losses, recorded)
check.expect("credit's records", names and any(0x22000 <= event < 0x22200 for event in names))
check.expect("emulated devices", names and any(event >> 12 == 0x84 for event in names), sorted(hex(e) for e in names or []))
stat = check.strata.stat(path)
check.equal("lost, as counted", stat["lost"]["events"], recorded.lost())
check.attempt("--strict tells of losses", check.strata.run, "stat", "--strict", path, status=3)
compared = check.attempt(
    "xenalyze: the same records in the same order", strata_report.with_peer, events, recorded, peer.run(check.xenalyze, path)
)
for kind in "vcpu", "hypercall", "runstate", "vmexit", "port":
    check.expect(f"xenalyze: the same {kind}", compared and compared[kind] > 200, compared and compared[kind])

path = check.result("hvm.raw")
recorded = check.attempt("hvm alone: a sound stream", stream.Stream, path)
check.equal("hvm alone: no other class", set(recorded.classes()), {"hvm"})
events, losses = check.strata.report(path)
check.attempt("hvm alone: every record", strata_report.with_stream, events, losses, recorded)
check.attempt(
    "hvm alone: xenalyze", strata_report.with_peer, events, recorded, peer.run(check.xenalyze, path)
)
check.done()
