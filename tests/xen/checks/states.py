#!/usr/bin/env python3
"""What recorders said and left in states that are not the plain one."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import check  # noqa: E402
import strata_report  # noqa: E402
import stream  # noqa: E402

BEFORE = check.text("mask.before")


def mask(when, wanted=BEFORE.strip()):
    check.equal(f"the event mask, {when}", check.text(f"mask.{when}").strip(), wanted)


def refused(name, *words, status=1):
    """It said one thing, with these words in it, and left nothing."""
    said = check.text(f"{name}.log").strip()
    check.equal(f"{name}: exit status", check.text(f"{name}.status").strip(), str(status))
    check.expect(f"{name}: says why", all(word in said for word in words), repr(said))
    check.expect(f"{name}: left nothing", not os.path.exists(check.result(name)) and not os.path.exists(check.result(f"{name}.raw")))


def recorded(name, status=0, complete=True):
    """A folder, whole in itself; its stream and its source in trace.json."""
    path = check.result(name)
    base = name.split("/")[0]
    check.equal(f"{base}: exit status", check.text(f"{base}.status").strip(), str(status))
    with open(os.path.join(path, "trace.json")) as file:
        (source,) = json.load(file)["sources"]
    whole = check.attempt(f"{base}: a sound stream", stream.Stream, os.path.join(path, "xen/trace.raw"))
    events, losses = check.strata.report(path)
    check.attempt(f"{base}: every record", strata_report.with_stream, events, losses, whole, source["clock"]["hz"])
    check.equal(f"{base}: complete", source["complete"], complete)
    if complete:
        check.equal(f"{base}: lost", source["lost"], whole.lost())
    return whole, source


# ---- What was lost since the boot is no loss of a recording ----

whole, source = recorded("first")
tsc = source["began"]["tsc"]
slack = source["clock"]["hz"] // 2
check.expect("first: nothing from before it", all(loss.first > tsc - slack for loss in whole.losses), whole.losses)
check.expect("first: records", whole.classes()["sched"] > 100)
mask("first")

# ---- One at a time ----

for name in "after-theirs", "after-theirs-old":
    refused(name, "another program (xentrace or xenbaked) reads", "xentrace")
mask("theirs-before", "0x0002f000")
mask("theirs-after", "0x0002f000")
check.equal("theirs: exit status", check.text("theirs.status").strip(), "0")
theirs = check.attempt("theirs: a sound stream", stream.Stream, check.result("theirs.raw"))
check.equal("theirs: its own class alone", set(theirs.classes()), {"sched"})
for name in "after-ours", "after-ours-old":
    refused(name, "another strata is recording")
mask("ours-before", "0x0002f000")
mask("ours-after", "0x0002f000")
whole, source = recorded("ours")
check.equal("ours: its own class alone", set(whole.classes()), {"sched"})
mask("ours")
whole, source = recorded("changed")
check.expect("changed: says so", "changed the event mask to 0x0020f000" in check.text("changed.log"))
check.expect("changed: in the trace, too", "0x0020f000" in " ".join(source.get("problems", [])), source)
mask("set-again", "0x0002f000")
mask("changed")

# ---- Nobody reads ----

refused("fifo-unread", "fifo", "no program opened it for reading")
mask("fifo-unread")

# ---- What cannot be had ----

refused("other-size", "4 pages (16 KB)", "not 256", "once after each boot")
whole, source = recorded("same-size")
check.equal("old-other-size: exit status", check.text("old-other-size.status").strip(), "0")
check.expect("old-other-size: says so", "4 pages" in check.text("old-other-size.log"))
check.expect("old-other-size: records", stream.Stream(check.result("old-other-size.raw")).classes()["sched"] > 100)
refused("no-event", "no event of Xen matches 'no_such_*'", status=2)
refused("no-cpu", "no CPU 7", "0 to 1")
refused("no-folder", "/no/such/folder", "No such file or directory")
check.equal("exists: exit status", check.text("exists.status").strip(), "1")
check.expect("exists: says so", "directory is not empty" in check.text("exists.log"))
for name in "nobody", "old-nobody":
    refused(name, "only root")
mask("wrong")

# ---- A full disk ----

whole, source = recorded("disk-full/trace", status=1, complete=False)
check.expect("disk-full: says so", "disk is full" in check.text("disk-full.log"), check.text("disk-full.log"))
check.expect("disk-full: in the trace, too", source.get("problems"), source.get("problems"))
mask("disk-full")
whole, source = recorded("reserve/trace", status=1)
check.expect("reserve: says so", "less than 131.1 kB would be free" in check.text("reserve.log"), check.text("reserve.log"))
size = os.path.getsize(whole.path)
check.expect("reserve: as much as there was room for", 256 << 10 < size <= (512 - 128) << 10, size)
mask("reserve")
check.equal("old-disk-full: exit status", check.text("old-disk-full.status").strip(), "1")
check.expect("old-disk-full: says so", "disk is full" in check.text("old-disk-full.log"))
check.attempt("old-disk-full: a sound stream", stream.Stream, check.result("old-disk-full.raw"))
mask("old-disk-full")

# ---- Killed ----

mask("killed", "0x0002f000")
mask("after-killed")
whole, source = recorded("killed", status=137, complete=False)
check.expect(
    "killed: info says so", "is incomplete" in check.strata.run("info", check.result("killed"), errors=True)
)

# ---- Losses ----

whole, source = recorded("losses", status=3)
check.expect("losses: several", len(whole.losses) >= 2, whole.losses)
said = check.text("losses.log")
check.expect("losses: told while it ran", "events are being lost" in said and "--buffer-size helps" in said, said)
check.expect("losses: told at the end", f"{whole.lost()} events were lost" in said)
by_cpu = {cpu: sum(loss.count for loss in whole.losses if loss.cpu == cpu) for cpu in (0, 1)}
check.expect("losses: by CPU", ", ".join(f"CPU {cpu}: {n}" for cpu, n in by_cpu.items() if n) in said, by_cpu)

# ---- Left on; a CPU that goes ----

recorded("leave-on")
mask("leave-on", "0x0002f000")
check.equal("old-leave-on: exit status", check.text("old-leave-on.status").strip(), "0")
mask("old-leave-on", "0x00021000")
whole, source = recorded("offline")
check.equal("offline: told", source["xen"]["offline"], [1])
check.equal("offline: nothing of it", set(whole.cpus), {0})
whole, source = recorded("online")
check.equal("online: told", source["xen"]["offline"], [])
mask("after")
check.equal("no masks are noted", check.text("state/xen"), "")
check.done()
