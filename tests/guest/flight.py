"""The flight recorder of a virtual machine: what its guest, QEMU and the host kept is saved while it runs on."""

import glob
import json
import os
import re
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

from agent import Agent
from machine import Machine, expect, wait_until
from record import guest_errors, sources, traced
from states import Marks, Monitor

# Of the guest's disks alone: one of the host may be as slow at any time.
HANGS = "latency guest:block_rq_issue(dev,sector) -> guest:block_rq_complete(dev,sector) > 2s"
HANGS_NS = 2_000_000_000
ERROR = 2_000_000  # ns


def ask_snapshot(run, out, name):
    return subprocess.run([run.strata, "ctl", out, "snapshot", name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True, text=True)


def snapshot(run, out, name):
    return ask_snapshot(run, out, name).stdout.strip()


def is_late(saved):
    """Whether a source did not send its latest events in the time that a snapshot waits for it, as on a busy machine."""
    return any("the latest events are missing" in problem for source in sources(saved).values() for problem in source.get("problems", []))


def whole_snapshot(run, out, name, before=lambda: None):
    """The first one that is not late, of those that are called NAME, NAME-1, ...; BEFORE is done before each."""
    for n in range(100):
        before()
        saved = snapshot(run, out, f"{name}-{n}" if n else name)
        if not is_late(saved):
            break
    return saved


def last_pair(saved):
    """When the guest's clock and the host's were last compared, ns."""
    with open(f"{saved}/{sources(saved)['guest']['clock']['pairs']}") as file:
        return int([line for line in file if not line.startswith("#")][-1].split()[0])


def items_of(run, trace, *options):
    report = subprocess.run([run.strata, "report", "--format", "json", *options, trace], stdout=subprocess.PIPE, check=True, text=True)
    return [json.loads(line) for line in report.stdout.splitlines()]


def throttle(monitor, bytes_per_second):
    monitor.command_line(f"block_set_io_throttle disk {bytes_per_second} 0 0 0 0 0")


def explain_stall(run, out, guest, monitor):
    """The disk does next to nothing for a while, which no recorder knows. The trigger saves a snapshot while the request waits, and
    a later one shows that request, when it waited, and where."""
    guest.run("echo 0 >/sys/block/vda/queue/read_ahead_kb; dd if=/dev/vda of=/dev/null bs=4k count=50 2>/dev/null")
    throttle(monitor, 1)
    # One request is allowed at once. QEMU holds the next one, which the guest waits for, until there is no limit again.
    guest.run("dd if=/dev/vda of=/dev/null bs=4k skip=50 count=1 2>/dev/null")
    began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    guest.run("dd if=/dev/vda of=/dev/null bs=4k skip=51 count=20 2>/dev/null & reader=$!")
    wait_until(lambda: any(is_of_hang(run, name, began) for name in glob.glob(f"{out}/snapshots/*-latency-*")),
               "no snapshot of the trigger has the request that hangs")
    throttle(monitor, 0)
    guest.run("wait $reader")
    ended = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    saved = whole_snapshot(run, out, "stall")
    slowest = check_stall(run, saved, began, ended)
    find_slice(run, saved, slowest)


def hang_in_pause(run, out, guest, monitor):
    """A request that waits while its guest is paused: the guest hands over its begin when it goes on, and then it counts."""
    throttle(monitor, 1)
    guest.run("dd if=/dev/vda of=/dev/null bs=4k skip=80 count=1 2>/dev/null")
    began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    guest.run("dd if=/dev/vda of=/dev/null bs=4k skip=81 count=1 2>/dev/null & reader=$!")
    time.sleep(0.3)  # the begin is in the past, and most likely still in the guest; it counts in any case
    monitor.run("stop")
    time.sleep(2.5 * HANGS_NS / 1e9)
    monitor.run("cont")
    wait_until(lambda: any(names_request(run, name, began) for name in glob.glob(f"{out}/snapshots/*-latency-*")),
               "no snapshot of the trigger is of the request that waited while the guest was paused")
    throttle(monitor, 0)
    guest.run("wait $reader")


def names_request(run, trace, began, how=""):
    """What TRACE was saved for, if that is a request of dd that was over the limit, HOW (a pattern), and began after BEGAN."""
    try:
        with open(f"{trace}/trace.json") as file:
            what = json.load(file)["snapshot"]["what"]
    except FileNotFoundError:
        return None  # it is being saved
    found = re.search(rf"{how} at ~?([\d.]+).* by dd \(\d+\) \[guest\]$", what)
    return what if found and float(found[1]) * 1e9 >= began - max(ERROR, *guest_errors(run, trace)) else None


def is_of_hang(run, trace, began):
    """Whether it was saved as a request hangs that began after BEGAN, and has that it does."""
    what = names_request(run, trace, began, " and not ended, since")
    if not what:
        return False
    requests = {"block_rq_issue": [], "block_rq_complete": []}
    for item in items_of(run, trace, "-e", "block_rq_issue,block_rq_complete", "--source", "guest"):
        requests[item["event"]].append(item["fields"]["sector"])
    expect(requests["block_rq_issue"], trace, "has no requests")
    last = requests["block_rq_issue"][-1]
    expect(requests["block_rq_issue"].count(last) > requests["block_rq_complete"].count(last), trace, "says", what, "and has", requests)
    return True


def check_stall(run, saved, began, ended):
    # Disks of the host may stall by themselves.
    said = subprocess.run([run.strata, "io", "--slowest", "1", "--layer", "guest,vmm", "-f", "json", saved], stdout=subprocess.PIPE,
                          check=True, text=True).stdout
    (slowest,) = json.loads(said)["slowest"]
    expect(slowest["key"]["layer"] == "guest" and slowest["key"]["kind"] == "read", "the slowest is", slowest)
    # On a busy machine the guest's clock is known less exactly, as the trace says.
    error = max(ERROR, *guest_errors(run, saved))
    expect(began - error <= slowest["begin_ns"] and slowest["end_ns"] <= ended + error, "stalled between", began, "and", ended, "is", slowest)
    stages = {stage["name"]: stage["end_ns"] - stage["begin_ns"] for stage in slowest["stages"]}
    expect(stages.get("vmm", 0) >= HANGS_NS / 2 and stages["vmm"] == max(stages.values()), "waited in QEMU, not", stages)
    return slowest


def find_slice(run, trace, slowest):
    """The page of strata serve is answered with that request."""
    with subprocess.Popen([run.strata, "serve", trace], stdout=subprocess.PIPE, text=True) as server:
        try:
            address = server.stdout.readline().strip()

            def get(name, **parameters):
                with urllib.request.urlopen(f"{address.rstrip('/')}/api/{name}?{urllib.parse.urlencode(parameters)}") as answer:
                    return json.load(answer)
            about = get("trace")
            begin = int(about["begin_ns"])
            span = {"from": slowest["begin_ns"] - begin, "to": slowest["end_ns"] - begin}
            tracks = [track for track in about["tracks"] if track["kind"] == "slices" and track["layer"] == "guest"]
            found = []
            for track in tracks:
                for depth in get("slices", pixels=1000, tracks=track["id"], **span)["tracks"][0]["depths"]:
                    found += [depth[i:i + 2] for i in range(0, len(depth), 7)]
            expect(any(abs(one[0] - span["from"]) < ERROR and abs(one[1] - span["to"]) < ERROR for one in found),
                   "no slice is at", span, "but", found)
        finally:
            server.terminate()


def record_flight(run):
    """Each snapshot has what happened just before it, whether or not the guest runs while it is taken."""
    out = os.path.join(run.folder("flight"), "trace")
    runtime = tempfile.mkdtemp(prefix="strata-test-")
    os.environ["XDG_RUNTIME_DIR"] = runtime
    disk = os.path.join(run.folder("flight-disk"), "disk")
    with open(disk, "wb") as file:
        file.truncate(4 << 20)
    guest = Machine(f"{run.work}/kernel", f"{run.work}/initramfs", run.folder("flight-machine"), has_agent=False,
                    prefix=[run.strata, "record", "--flight=60s", "-o", out, "-e", "runstate_set", "--for", "io",
                            "--on", HANGS, "--after=0.5", "--snapshots-per-hour=3600",
                            "--event=host:sched:sched_switch", "-e", "guest:sched:*", "--"],
                    options=["-drive", f"if=none,id=disk,file={disk},format=raw", "-device", "virtio-blk-pci,id=vda,drive=disk"])
    try:
        monitor = Monitor(guest)
        Agent(guest)
        wait_until(lambda: "guest" in sources(out), "no source guest")
        marks = Marks(guest, traced(guest, out, guest.qemu))
        for name in "first", "second":
            # Nothing waits for the agent to send them by itself.
            began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            saved = whole_snapshot(run, out, name, marks.make)
            expect(last_pair(saved) > began, "clocks were not compared for", saved)
            expect(re.fullmatch(rf"{re.escape(out)}/snapshots/{name}(-\d+)?", saved), "the path of the snapshot is", saved)
            expect(marks.check(items_of(run, saved, "-e", "print"), 0, None), "no marks in", saved)
            for source in "guest", "vmm", "host":
                expect(items_of(run, saved, "--source", source, "--limit", "1"), "the snapshot has nothing of", source)
            for source, fields in sources(saved).items():
                expect(fields["complete"] and not fields.get("problems"), source, "is", fields)
            monitor.run("stop")
            monitor.run("cont")
        explain_stall(run, out, guest, monitor)
        hang_in_pause(run, out, guest, monitor)
        # The guest stands still: nothing can be had of it, and the rest is saved.
        monitor.run("stop")
        answer = ask_snapshot(run, out, "paused")
        paused = answer.stdout.strip()
        expect(marks.check(items_of(run, paused, "-e", "print"), 0, None), "no marks in", paused)
        expect(any("its machine is paused" in problem for problem in sources(paused)["guest"].get("problems", [])),
               "does not say that the guest is paused:", sources(paused)["guest"])
        expect("its machine is paused" in answer.stderr, "ctl does not say that the guest is paused:", answer.stderr)
        monitor.run("cont")
        guest.end_recording()
    finally:
        guest.kill()
        del os.environ["XDG_RUNTIME_DIR"]
    os.rmdir(runtime)
    expect(marks.check(items_of(run, out, "-e", "print"), 0, None), "no marks in", out)
    expect(not os.path.exists(f"{out}/control.sock"), "the socket is left")


SCENARIOS = [record_flight]
