"""The flight recorder of a virtual machine: what its guest, QEMU and the host kept is saved while it runs on."""

import json
import os
import subprocess
import tempfile

from agent import Agent
from machine import Machine, expect, wait_until
from record import sources, traced
from states import Marks, Monitor


def snapshot(run, out, name):
    return subprocess.run([run.strata, "ctl", out, "snapshot", name], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()


def items_of(run, trace):
    report = subprocess.run([run.strata, "report", "--format", "json", trace], stdout=subprocess.PIPE, check=True, text=True).stdout
    return [json.loads(line) for line in report.splitlines()]


def record_flight(run):
    """Each snapshot has what happened just before it, whether or not the guest runs while it is taken."""
    out = os.path.join(run.folder("flight"), "trace")
    runtime = tempfile.mkdtemp(prefix="strata-test-")
    os.environ["XDG_RUNTIME_DIR"] = runtime
    guest = Machine(f"{run.work}/kernel", f"{run.work}/initramfs", run.folder("flight-machine"), has_agent=False,
                    prefix=[run.strata, "record", "--flight=60s", "-o", out, "-e", "runstate_set", "--host=sched:sched_switch",
                            "--guest", "sched:*", "--"])
    try:
        monitor = Monitor(guest)
        Agent(guest)
        wait_until(lambda: "guest" in sources(out), "no source guest")
        marks = Marks(guest, traced(guest, out, guest.qemu))
        for name in "first", "second":
            marks.make()
            # Nothing waits for the agent to send them by itself.
            saved = snapshot(run, out, name)
            expect(saved == f"{out}/snapshots/{name}", "the path of the snapshot is", saved)
            items = items_of(run, saved)
            expect(marks.check(items, 0, None), "no marks in", saved)
            layers = {item["layer"] for item in items}
            expect(layers >= {"guest", "vmm", "host"}, "the snapshot has the layers", layers)
            for source, fields in sources(saved).items():
                expect(fields["complete"] and not fields.get("problems"), source, "is", fields)
            monitor.run("stop")
            monitor.run("cont")
        # The guest stands still: nothing can be had of it, and the rest is saved.
        monitor.run("stop")
        paused = snapshot(run, out, "paused")
        expect(marks.check(items_of(run, paused), 0, None), "no marks in", paused)
        monitor.run("cont")
        guest.end_recording()
    finally:
        guest.kill()
        del os.environ["XDG_RUNTIME_DIR"]
    os.rmdir(runtime)
    expect(marks.check(items_of(run, out), 0, None), "no marks in", out)
    expect(not os.path.exists(f"{out}/control.sock"), "the socket is left")


SCENARIOS = [record_flight]
