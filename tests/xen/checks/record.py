#!/usr/bin/env python3
"""Checks the directories and streams that Strata recorded."""
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
    """Checks the recording NAME. Returns its stream, its events and its source in trace.json."""
    path = check.result(name)
    check.equal(f"{name}: exit status", check.text(f"{name}.status").strip(), "0")
    with open(os.path.join(path, "trace.json")) as file:
        manifest = json.load(file)
    (source,) = manifest["sources"]
    check.equal(f"{name}: trace.json says complete", source["complete"], True)
    recorded = check.attempt(f"{name}: the stream is valid", stream.Stream, os.path.join(path, "xen/trace.raw"))
    events, losses = check.strata.report(path)
    check.attempt(
        f"{name}: strata report prints every record, in order, with its time in nanoseconds",
        strata_report.with_stream,
        events,
        losses,
        recorded,
        source["clock"]["hz"],
    )
    check.equal(f"{name}: the recorder counts the lost records", source["lost"], recorded.lost())
    check.expect(
        f"{name}: the log has the number of events written",
        f"{len(events)} events written to {name} " in check.text(f"{name}.log"),
        check.text(f"{name}.log"),
    )
    return recorded, events, source


# ---- What trace.json says about the host ----

recorded, events, source = folder("all")
console = check.text("serial.log")
xen = source["xen"]
version = xen["version"] + xen.get("extra", "")
check.expect("trace.json: Xen's version", f"Xen version {version} " in console, version)
check.equal("trace.json: the CPU vendor", xen["cpu_vendor"], "amd")
check.equal("trace.json: the scheduler", xen["scheduler"], "credit2")
check.equal("trace.json: the CPUs", (xen["cpus"], xen["offline"]), ([0, 1], []))
check.expect("trace.json: Xen's command line", xen["commandline"].startswith("console=com1 "), xen["commandline"])
domains = {domain["id"]: domain["name"] for domain in xen["domains"]}
check.equal("trace.json: the domains, including the guest that has ended", domains, {0: "Domain-0", 1: "small-pvh"})
mhz = float(console.split("Detected ")[1].split(" MHz")[0])
check.expect("trace.json: the TSC frequency is within 1% of what Xen detected", abs(source["clock"]["hz"] / 1e6 - mhz) < 0.01 * mhz, source["clock"], mhz)
tscs = [r.tsc for records in recorded.cpus.values() for r in records if r.tsc]
slack = source["clock"]["hz"]  # a second
check.expect(
    "trace.json: start and end (TSC) enclose all records",
    source["began"]["tsc"] - slack < min(tscs) and max(tscs) < source["ended"]["tsc"] + slack,
    (source["began"], min(tscs), max(tscs), source["ended"]),
)
for clock in "realtime_ns", "monotonic_ns":
    took = source["ended"][clock] - source["began"][clock]
    ticks = (source["ended"]["tsc"] - source["began"]["tsc"]) / source["clock"]["hz"] * 1e9
    check.expect(f"trace.json: duration in {clock} is within 10% of that in TSC ticks", abs(took - ticks) < 0.1 * ticks, took, ticks)
info = check.strata.run("info", check.result("all"))
for fact in f"Xen {xen['version']}", "credit2", "small-pvh", f"{source['clock']['hz']} ticks a second", "amd":
    check.expect(f"strata info prints '{fact}'", fact in info)
check.equal(
    "all: records of the expected event classes",
    {c for c, n in recorded.classes().items() if n},
    {"sched", "dom0op", "hvm", "mem", "pv", "hw", "guest"},
)
guest.check(check, events)

# ---- The same records as xenalyze prints ----

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
    check.expect(f"xenalyze: the same {kind} records, more than 200", compared and compared[kind] > 200, compared and compared[kind])
check.expect("records of emulated devices", any(r.event >> 12 == 0x84 for rs in recorded.cpus.values() for r in rs))

# ---- Selected events and CPUs ----

recorded, events, source = folder("classes")
check.equal("classes: only sched and dom0op", {e.group for e in events}, {"sched", "dom0op"})
recorded, events, source = folder("subclass")
check.equal("subclass: only vmentry and vmexit", {e.name for e in events}, {"vmentry", "vmexit"})
recorded, events, source = folder("globs")
names = {e.name for e in events}
check.expect(
    "globs: only events that match the patterns",
    {"vmexit", "cpuid", "domain_create", "domain_destroy", "csched2_schedule"} <= names
    and all(n in ("vmexit", "cpuid") or n.startswith(("csched2_", "domain_")) for n in names),
    sorted(names),
)
check.equal("globs: every CPUID of the guest", sum(e.name == "cpuid" and e.fields["leaf"] == 0x40000001 for e in events), guest.ROUNDS)
check.expect("globs: the log says that other events were discarded", "not asked for were discarded" in check.text("globs.log"))
recorded, events, source = folder("own")
# Xen writes no time stamp into records of the guest class. The recorder gets their times, and so their order
# across CPUs, from other records, which it then discards.
rounds = [("my_event", {"magic": 0xDECAFBAD, "one": 1, "round": n}) for n in range(guest.ROUNDS)]
own = [(e.name, e.fields) for e in events]
# The emulator sometimes resets the guest, and xl restarts it.
if "is restart" in check.text("guest-pvh.log") and len(own) > guest.ROUNDS:
    n = len(own) - guest.ROUNDS
    check.equal("own: the events before the guest's reset are in order", own[:n], rounds[:n])
    own = own[n:]
check.equal("own: exactly the guest's events, with their fields, in order", own, rounds)
recorded, events, source = folder("cpu")
check.equal("cpu: only CPU 1", {e.cpu for e in events}, {1})

# ---- Together with dom0's kernel ----

both = check.result("both")
check.equal("both: exit status", check.text("both.status").strip(), "0")
with open(os.path.join(both, "trace.json")) as file:
    sources = {source["layer"]: source for source in json.load(file)["sources"]}
check.equal(
    "both: sources of Xen and of dom0's kernel, both complete",
    {layer: source["complete"] for layer, source in sources.items()},
    {"hypervisor": True, "host": True},
)
check.equal("both: no kernel events are lost", sources["host"]["lost"], 0)
shown = [json.loads(line) for line in check.strata.run("report", "--format", "json", both).splitlines()]
ours = [i for i, row in enumerate(shown) if row.get("layer") == "hypervisor"]
within = [row["fields"]["filename"] for row in shown[ours[0] : ours[-1]] if row.get("event") == "sched_process_exec"]
check.expect("both: dom0's exec of xl is between events of Xen", any(name.endswith("/xl") for name in within), within)

# ---- Snapshots of the last seconds, and of the last bytes ----

for name in "flight", "flight-size":
    check.equal(f"{name}: exit status", check.text(f"{name}.status").strip(), "0")
    for n in "1", "2":
        saved = check.result(f"{name}/snapshots/{n}")
        with open(os.path.join(saved, "trace.json")) as file:
            sources = {source["layer"]: source for source in json.load(file)["sources"]}
        check.equal(f"{saved}: is complete", [sources[layer]["complete"] for layer in ("hypervisor", "host")], [True, True])
        check.expect(f"{saved}: how many events of Xen were lost at the end is not known", "lost" not in sources["hypervisor"])
        recorded = check.attempt(f"{saved}: the stream is valid", stream.Stream, os.path.join(saved, "xen/trace.raw"))
        shown = [json.loads(line) for line in check.strata.run("report", "--format", "json", saved).splitlines()]
        if name == "flight-size":  # the emulated machine may record more than that until the snapshot is taken
            check.expect(f"{saved}: has events of Xen", any(row.get("layer") == "hypervisor" for row in shown))
            continue
        seen = [row["time_ns"] for row in shown if row.get("event") == "sched_process_exec" and row["fields"]["filename"] == f"./seen-{name}-{n}"]
        check.expect(f"{saved}: has what happened just before", 1 <= len(seen) <= int(check.text(f"{name}.{n}.tries")), seen)
        xen = [row["time_ns"] for row in shown if row.get("layer") == "hypervisor" and "event" in row]
        check.expect(f"{saved}: … of Xen, too", xen and seen and xen[-1] > seen[-1], xen[-1:], seen)
kept = int(check.text("flight-size.kept").split()[0])
check.expect("flight-size: not all of it is kept", kept < int(check.text("flight-size.written")) / 1024, kept)

# ---- Limits of duration and size ----

recorded, events, source = folder("seconds")
took = source["ended"]["monotonic_ns"] - source["began"]["monotonic_ns"]
check.expect("seconds: the recording lasts at least 1.9 s", 1.9e9 < took, took)
recorded, events, source = folder("memory")
size = os.path.getsize(recorded.path)
check.expect("memory: at most 1 MiB", 0 < size <= 1 << 20, size)
check.expect("memory: the log says that older events are missing", "older ones" in check.text("memory.log"), check.text("memory.log"))

recorded, events, source = folder("size")
size = os.path.getsize(recorded.path)
check.expect("size: between 30% and 100% of the limit of 256 KiB", (1 << 18) * 0.3 < size <= 1 << 18, size)
check.expect("size: the log says that the limit was reached", "has reached its size limit" in check.text("size.log"), check.text("size.log"))

# ---- Strata under the name xentrace ----

for name in "old-name.raw", "pipe.raw", "old-memory.raw":
    recorded = check.attempt(f"{name}: the stream is valid", stream.Stream, check.result(name))
    events, losses = check.strata.report(check.result(name))
    check.attempt(f"{name}: strata report prints every record", strata_report.with_stream, events, losses, recorded)
    check.equal(f"{name}: exit status", check.text(name.replace(".raw", ".status")).strip(), "0")
    if name == "pipe.raw":
        check.equal(f"{name}: only CPU 0 and one subclass", ({e.cpu for e in events}, {e.event >> 12 for e in recorded.records()}), ({0}, {0x21}))
    if name == "old-memory.raw":
        size = os.path.getsize(recorded.path)
        check.expect(f"{name}: at most 1 MiB", 0 < size <= 1 << 20, size)
        check.equal(f"{name}: only records of class sched", set(recorded.classes()), {"sched"})

# ---- State after the recordings ----

for when in "after-all", "after":
    check.equal(f"the event mask is restored ({when})", check.text(f"mask.{when}"), check.text("mask.before"))
check.equal("no saved event mask remains", check.text("state/xen"), "")
check.done()
