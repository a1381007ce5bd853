#!/usr/bin/env python3
"""Messages and recordings of recorders that another reader, a limit, a full disk or a signal stops."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import check  # noqa: E402
import strata_report  # noqa: E402
import stream  # noqa: E402

BEFORE = check.text("mask.before")


def mask(when, wanted=BEFORE.strip()):
    check.equal(f"{when}: the event mask is {wanted}", check.text(f"mask.{when}").strip(), wanted)


def refused(name, *words, status=1):
    """The recorder failed with STATUS, printed a message with WORDS, and left no file."""
    said = check.text(f"{name}.log").strip()
    check.equal(f"{name}: exit status", check.text(f"{name}.status").strip(), str(status))
    check.expect(f"{name}: the message says why", all(word in said for word in words), repr(said))
    check.expect(f"{name}: no file remains", not os.path.exists(check.result(name)) and not os.path.exists(check.result(f"{name}.raw")))


def recorded(name, status=0, complete=True):
    """Checks the recording NAME. Returns its stream and its source in trace.json."""
    path = check.result(name)
    base = name.split("/")[0]
    check.equal(f"{base}: exit status", check.text(f"{base}.status").strip(), str(status))
    with open(os.path.join(path, "trace.json")) as file:
        (source,) = json.load(file)["sources"]
    whole = check.attempt(f"{base}: the stream is valid", stream.Stream, os.path.join(path, "xen/trace.raw"))
    events, losses = check.strata.report(path)
    check.attempt(f"{base}: strata report prints every record", strata_report.with_stream, events, losses, whole, source["clock"]["hz"])
    check.equal(f"{base}: trace.json says complete={complete}", source["complete"], complete)
    if complete:
        check.equal(f"{base}: trace.json counts the lost records", source["lost"], whole.lost())
    return whole, source


# ---- Records lost before the recording do not count as its losses ----

whole, source = recorded("first")
tsc = source["began"]["tsc"]
slack = source["clock"]["hz"] // 2
check.expect("first: no loss before the start", all(loss.first > tsc - slack for loss in whole.losses), whole.losses)
check.expect("first: more than 100 sched records", whole.classes()["sched"] > 100)
mask("first")

# ---- Xen allows one reader at a time ----

for name in "after-theirs", "after-theirs-old":
    refused(name, "another program (xentrace or xenbaked) reads", "xentrace")
mask("theirs-before", "0x0002f000")
mask("theirs-after", "0x0002f000")
check.equal("theirs: exit status", check.text("theirs.status").strip(), "0")
theirs = check.attempt("theirs: the stream is valid", stream.Stream, check.result("theirs.raw"))
check.equal("theirs: only records of class sched", set(theirs.classes()), {"sched"})
for name in "after-ours", "after-ours-old":
    refused(name, "another strata is recording")
mask("ours-before", "0x0002f000")
mask("ours-after", "0x0002f000")
whole, source = recorded("ours")
check.equal("ours: only records of class sched", set(whole.classes()), {"sched"})
mask("ours")
whole, source = recorded("changed")
check.expect("changed: the log says that the event mask changed", "changed the event mask to 0x0020f000" in check.text("changed.log"))
check.expect("changed: trace.json says so, too", "0x0020f000" in " ".join(source.get("problems", [])), source)
mask("set-again", "0x0002f000")
mask("changed")

# ---- A FIFO without a reader ----

refused("fifo-unread", "fifo", "no program opened it for reading")
mask("fifo-unread")

# ---- Requests that cannot be met ----

refused("other-size", "4 pages (16 KB)", "not 256", "once after each boot")
whole, source = recorded("same-size")
check.equal("old-other-size: exit status", check.text("old-other-size.status").strip(), "0")
check.expect("old-other-size: the log has the present buffer size", "4 pages" in check.text("old-other-size.log"))
check.expect("old-other-size: more than 100 sched records", stream.Stream(check.result("old-other-size.raw")).classes()["sched"] > 100)
refused("no-event", "no event of Xen matches 'no_such_*'", status=2)
refused("no-cpu", "no CPU 7", "0 to 1")
refused("no-folder", "/no/such/folder", "No such file or directory")
check.equal("exists: exit status", check.text("exists.status").strip(), "1")
check.expect("exists: the log says that the directory is not empty", "directory is not empty" in check.text("exists.log"))
for name in "nobody", "old-nobody":
    refused(name, "only root")
mask("wrong")

# ---- A full disk ----

whole, source = recorded("disk-full/trace", status=1, complete=False)
check.expect("disk-full: the log says that the disk is full", "disk is full" in check.text("disk-full.log"), check.text("disk-full.log"))
check.expect("disk-full: trace.json says so, too", source.get("problems"), source.get("problems"))
mask("disk-full")
whole, source = recorded("reserve/trace", status=1)
check.expect("reserve: the log says that too little disk space would remain", "less than 131.1 kB would be free" in check.text("reserve.log"), check.text("reserve.log"))
size = os.path.getsize(whole.path)
check.expect("reserve: the file has between 256 and 384 KiB", 256 << 10 < size <= (512 - 128) << 10, size)
mask("reserve")
check.equal("old-disk-full: exit status", check.text("old-disk-full.status").strip(), "1")
check.expect("old-disk-full: the log says that the disk is full", "disk is full" in check.text("old-disk-full.log"))
check.attempt("old-disk-full: the stream is valid", stream.Stream, check.result("old-disk-full.raw"))
mask("old-disk-full")

# ---- Killed ----

mask("killed", "0x0002f000")
mask("after-killed")
whole, source = recorded("killed", status=137, complete=False)
check.expect(
    "killed: strata info says that it is incomplete", "is incomplete" in check.strata.run("info", check.result("killed"), errors=True)
)

# ---- Losses ----

whole, source = recorded("losses", status=3)
check.expect("losses: at least 2", len(whole.losses) >= 2, whole.losses)
said = check.text("losses.log")
check.expect("losses: the log warned during the recording", "events are being lost" in said and "--buffer-size helps" in said, said)
check.expect("losses: the log has the total", f"{whole.lost()} events were lost" in said)
by_cpu = {cpu: sum(loss.count for loss in whole.losses if loss.cpu == cpu) for cpu in (0, 1)}
check.expect("losses: the log has the number per CPU", ", ".join(f"CPU {cpu}: {n}" for cpu, n in by_cpu.items() if n) in said, by_cpu)

# ---- The event mask left set; a CPU taken offline ----

recorded("leave-on")
mask("leave-on", "0x0002f000")
check.equal("old-leave-on: exit status", check.text("old-leave-on.status").strip(), "0")
mask("old-leave-on", "0x00021000")
whole, source = recorded("offline")
check.equal("offline: trace.json lists CPU 1 as offline", source["xen"]["offline"], [1])
check.equal("offline: only CPU 0 has records", set(whole.cpus), {0})
whole, source = recorded("online")
check.equal("online: trace.json lists no offline CPU", source["xen"]["offline"], [])
mask("after")
check.equal("no saved event mask remains", check.text("state/xen"), "")
check.done()
