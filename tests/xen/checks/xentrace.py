#!/usr/bin/env python3
"""Streams of Debian's xentrace: Strata, xenalyze and stream.py read the same from them."""
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
    recorded = check.attempt(f"{name}: the stream is valid", stream.Stream, path)
    events, losses = check.strata.report(path)
    check.attempt(f"{name}: strata report prints every record, in order, with its time", strata_report.with_stream, events, losses, recorded)
    classes = recorded.classes()
    wanted = {"sched", "dom0op", "hvm", "mem", "pv", "hw"} | ({"guest"} if name == "all" else set())
    check.equal(f"{name}: records of the expected event classes", {c for c in classes if classes[c]}, wanted)
    check.equal(f"{name}: strata stat counts the records of each class", strata_report.stat_classes(check.strata.stat(path)), classes)
    check.attempt(f"{name}: the output of xentrace_format matches", xentrace_formats.compare, check.bin, path, recorded)
    guest.check(check, events, guest_class=name == "all")

# xenalyze stops at the first record of the guest class, so it reads no-guest alone.
compared = check.attempt(
    "xenalyze: the same records in the same order",
    strata_report.with_peer,
    events,
    recorded,
    peer.run(check.xenalyze, path),
)
for kind in "vcpu", "hypercall", "runstate", "vmexit", "port":
    check.expect(f"xenalyze: the same {kind} records, more than 200", compared and compared[kind] > 200, compared and compared[kind])
check.done()
