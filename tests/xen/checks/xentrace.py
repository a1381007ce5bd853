#!/usr/bin/env python3
"""Streams of Debian's own xentrace, as Strata, xenalyze and a reader of this directory see them."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import check  # noqa: E402
import guest  # noqa: E402
import strata_report  # noqa: E402
import peer  # noqa: E402
import xentrace_formats  # noqa: E402
import stream  # noqa: E402

for name in "all", "no-guest":
    path = check.result(f"debian-{name}.raw")
    recorded = check.attempt(f"{name}: a sound stream", stream.Stream, path)
    events, losses = check.strata.report(path)
    check.attempt(f"{name}: every record, in order, with its time", strata_report.with_stream, events, losses, recorded)
    classes = recorded.classes()
    wanted = {"sched", "dom0op", "hvm", "mem", "pv", "hw"} | ({"guest"} if name == "all" else set())
    check.equal(f"{name}: classes", {c for c in classes if classes[c]}, wanted)
    check.equal(f"{name}: counts by class", strata_report.stat_classes(check.strata.stat(path)), classes)
    check.attempt(f"{name}: xentrace_format", xentrace_formats.compare, check.bin, path, recorded)
    guest.check(check, events, guest_class=name == "all")

# xenalyze gives up at the first record of the guest class.
compared = check.attempt(
    "xenalyze: the same records in the same order",
    strata_report.with_peer,
    events,
    recorded,
    peer.run(check.xenalyze, path),
)
for kind in "vcpu", "hypercall", "runstate", "vmexit", "port":
    check.expect(f"xenalyze: the same {kind}", compared and compared[kind] > 200, compared and compared[kind])
check.done()
