#!/usr/bin/env python3
"""Folders and streams that Strata recorded, from themselves alone."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import check  # noqa: E402
import guest  # noqa: E402
import strata_report  # noqa: E402
import peer  # noqa: E402
import stream  # noqa: E402


def folder(name):
    """Reads it in all ways; its stream, events and what trace.json says of its source."""
    path = check.result(name)
    check.equal(f"{name}: exit status", check.text(f"{name}.status").strip(), "0")
    with open(os.path.join(path, "trace.json")) as file:
        manifest = json.load(file)
    (source,) = manifest["sources"]
    check.equal(f"{name}: complete", source["complete"], True)
    recorded = check.attempt(f"{name}: a sound stream", stream.Stream, os.path.join(path, "xen/trace.raw"))
    events, losses = check.strata.report(path)
    check.attempt(
        f"{name}: every record, in order, with its time in nanoseconds",
        strata_report.with_stream,
        events,
        losses,
        recorded,
        source["clock"]["hz"],
    )
    check.equal(f"{name}: lost, as the recorder counted", source["lost"], recorded.lost())
    check.expect(
        f"{name}: so many events were told",
        f"{len(events)} events written to {name} " in check.text(f"{name}.log"),
        check.text(f"{name}.log"),
    )
    return recorded, events, source


# ---- What a directory says of where it was recorded ----

recorded, events, source = folder("all")
console = check.text("serial.log")
xen = source["xen"]
version = xen["version"] + xen.get("extra", "")
check.expect("Xen's version", f"Xen version {version} " in console, version)
check.equal("the processor's vendor", xen["cpu_vendor"], "amd")
check.equal("the scheduler", xen["scheduler"], "credit2")
check.equal("the CPUs", (xen["cpus"], xen["offline"]), ([0, 1], []))
check.expect("Xen's command line", xen["commandline"].startswith("console=com1 "), xen["commandline"])
domains = {domain["id"]: domain["name"] for domain in xen["domains"]}
check.equal("the domains, the guest that came and went too", domains, {0: "Domain-0", 1: "small-pvh"})
mhz = float(console.split("Detected ")[1].split(" MHz")[0])
check.expect("the clock's rate", abs(source["clock"]["hz"] / 1e6 - mhz) < 0.01 * mhz, source["clock"], mhz)
tscs = [r.tsc for records in recorded.cpus.values() for r in records if r.tsc]
slack = source["clock"]["hz"]  # a second
check.expect(
    "its beginning and its end in ticks",
    source["began"]["tsc"] - slack < min(tscs) and max(tscs) < source["ended"]["tsc"] + slack,
    (source["began"], min(tscs), max(tscs), source["ended"]),
)
for clock in "realtime_ns", "monotonic_ns":
    took = source["ended"][clock] - source["began"][clock]
    ticks = (source["ended"]["tsc"] - source["began"]["tsc"]) / source["clock"]["hz"] * 1e9
    check.expect(f"as long in {clock} as in ticks", abs(took - ticks) < 0.1 * ticks, took, ticks)
info = check.strata.run("info", check.result("all"))
for fact in f"Xen {xen['version']}", "credit2", "small-pvh", f"{source['clock']['hz']} ticks a second", "amd":
    check.expect(f"info tells of {fact}", fact in info)
check.equal(
    "all: classes",
    {c for c, n in recorded.classes().items() if n},
    {"sched", "dom0op", "hvm", "mem", "pv", "hw", "guest"},
)
guest.check(check, events)

# ---- The same, as xenalyze sees it ----

recorded, events, source = folder("no-guest")
compared = check.attempt(
    "xenalyze: the same records in the same order",
    strata_report.with_peer,
    events,
    recorded,
    peer.run(check.xenalyze, recorded.path),
    named=True,
)
for kind in "vcpu", "hypercall", "runstate", "vmexit", "port":
    check.expect(f"xenalyze: the same {kind}", compared and compared[kind] > 200, compared and compared[kind])
check.expect("emulated devices", any(r.event >> 12 == 0x84 for rs in recorded.cpus.values() for r in rs))

# ---- Which events, which CPUs ----

recorded, events, source = folder("classes")
check.equal("classes: these two", {e.group for e in events}, {"sched", "dom0op"})
recorded, events, source = folder("subclass")
check.equal("subclass: entries and exits", {e.name for e in events}, {"vmentry", "vmexit"})
recorded, events, source = folder("globs")
names = {e.name for e in events}
check.expect(
    "globs: what they match and nothing else",
    {"vmexit", "cpuid", "domain_create", "domain_destroy", "csched2_schedule"} <= names
    and all(n in ("vmexit", "cpuid") or n.startswith(("csched2_", "domain_")) for n in names),
    sorted(names),
)
check.equal("globs: all of the guest's cpuids", sum(e.name == "cpuid" and e.fields["leaf"] == 0x40000001 for e in events), guest.ROUNDS)
check.expect("globs: what was left out is told", "not asked for were discarded" in check.text("globs.log"))
recorded, events, source = folder("own")
# Xen stamps no records of the guest class; what is recorded and left out besides gives them times, and with
# them an order over CPUs.
rounds = [("my_event", {"magic": 0xDECAFBAD, "one": 1, "round": n}) for n in range(guest.ROUNDS)]
own = [(e.name, e.fields) for e in events]
# The emulated processor resets a guest now and then, and xl starts it again.
if "is restart" in check.text("guest-pvh.log") and len(own) > guest.ROUNDS:
    n = len(own) - guest.ROUNDS
    check.equal("own: those before the guest's reset", own[:n], rounds[:n])
    own = own[n:]
check.equal("own: all of them, and nothing else, by name and with their fields, in order", own, rounds)
recorded, events, source = folder("cpu")
check.equal("cpu: that one", {e.cpu for e in events}, {1})

# ---- Together with dom0's kernel ----

both = check.result("both")
check.equal("both: exit status", check.text("both.status").strip(), "0")
with open(os.path.join(both, "trace.json")) as file:
    sources = {source["layer"]: source for source in json.load(file)["sources"]}
check.equal(
    "both: Xen and dom0's kernel",
    {layer: source["complete"] for layer, source in sources.items()},
    {"hypervisor": True, "host": True},
)
check.equal("both: nothing of the kernel is lost", sources["host"]["lost"], 0)
shown = [json.loads(line) for line in check.strata.run("report", "--format", "json", both).splitlines()]
ours = [i for i, row in enumerate(shown) if row.get("layer") == "hypervisor"]
within = [row["fields"]["filename"] for row in shown[ours[0] : ours[-1]] if row.get("event") == "sched_process_exec"]
check.expect("both: what dom0 ran is among what Xen did", any(name.endswith("/xl") for name in within), within)

# ---- How long, and how much ----

recorded, events, source = folder("seconds")
took = source["ended"]["monotonic_ns"] - source["began"]["monotonic_ns"]
check.expect("seconds: two of them", 1.9e9 < took, took)
recorded, events, source = folder("memory")
size = os.path.getsize(recorded.path)
check.expect("memory: the last of it", 0 < size <= 1 << 20, size)
check.expect("memory: what is missing is told", "older ones" in check.text("memory.log"), check.text("memory.log"))

recorded, events, source = folder("size")
size = os.path.getsize(recorded.path)
check.expect("size: so much at most, and nearly as much", (1 << 18) * 0.3 < size <= 1 << 18, size)
check.expect("size: that it ended by that is told", "has reached its size limit" in check.text("size.log"), check.text("size.log"))

# ---- The old name ----

for name in "old-name.raw", "pipe.raw", "old-memory.raw":
    recorded = check.attempt(f"{name}: a sound stream", stream.Stream, check.result(name))
    events, losses = check.strata.report(check.result(name))
    check.attempt(f"{name}: every record", strata_report.with_stream, events, losses, recorded)
    check.equal(f"{name}: exit status", check.text(name.replace(".raw", ".status")).strip(), "0")
    if name == "pipe.raw":
        check.equal(f"{name}: one CPU, one subclass", ({e.cpu for e in events}, {e.event >> 12 for e in recorded.records()}), ({0}, {0x21}))
    if name == "old-memory.raw":
        size = os.path.getsize(recorded.path)
        check.expect(f"{name}: the last of it", 0 < size <= 1 << 20, size)
        check.equal(f"{name}: one class", set(recorded.classes()), {"sched"})

# ---- What is left behind ----

for when in "after-all", "after":
    check.equal(f"the event mask {when}", check.text(f"mask.{when}"), check.text("mask.before"))
check.equal("no masks are noted", check.text("state/xen"), "")
check.done()
