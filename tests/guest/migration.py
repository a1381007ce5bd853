"""A virtual machine that moves to another QEMU, both of which are recorded: two traces, and one timeline of both."""

import json
import os
import signal
import subprocess
import tempfile

from agent import Agent
from machine import PATIENCE, Machine, expect, wait_until
from record import sources, traced
from states import Marks, Monitor


def recorded_machine(run, name, **arguments):
    """A machine, by `strata record` into the folder of that NAME."""
    out = os.path.join(run.folder(name), "trace")
    guest = Machine(f"{run.work}/kernel", f"{run.work}/initramfs", run.folder(f"{name}-machine"), has_agent=False,
                    prefix=[run.strata, "record", "-o", out, "-e", "runstate_set,virtio_console_*", "-e", "guest:sched:*", "--"],
                    **arguments)
    return guest, out


def losses(run, out):
    """The losses of unknown size of the guest in OUT, by CPU."""
    report = subprocess.run([run.strata, "report", "--format", "json", out], stdout=subprocess.PIPE, check=True, text=True)
    items = [json.loads(line) for line in report.stdout.splitlines()]
    return {item["cpu"]: item for item in items if "lost" in item}


def check_losses(run, source_out, destination_out, came):
    """What is in neither trace is lost in both: at the end of each CPU, and from when the machine came until each CPU's first event."""
    at_end, at_begin = losses(run, source_out), losses(run, destination_out)
    expect(set(at_end) == set(at_begin) == {0, 1}, at_end, at_begin)
    expect(all(loss["lost"] is None for loss in (*at_end.values(), *at_begin.values())), at_end, at_begin)
    expect(all(loss["since_ns"] == came for loss in at_begin.values()), at_begin, came)
    for out in source_out, destination_out:
        told = subprocess.run([run.strata, "info", out], stdout=subprocess.PIPE, check=True, text=True).stdout
        expect("events were lost in 2 places, how many is unknown" in told, told)


def record_migration(run):
    runtime = tempfile.mkdtemp(prefix="strata-test-")
    os.environ["XDG_RUNTIME_DIR"] = runtime
    channel = os.path.join(run.folder("migration"), "channel")
    source, source_out = recorded_machine(run, "migration-source")
    destination = None
    try:
        destination, destination_out = recorded_machine(run, "migration-destination", incoming=f"unix:{channel}")
        agent = Agent(source)
        marks = Marks(source, traced(source, source_out, source.qemu))
        marks.make()
        moved_at = len(marks.between)
        wait_until(lambda: marks.are_sent(f"{source_out}/guest-guest"), "the guest does not send its marks")
        monitor = Monitor(source)
        monitor.run("migrate-set-parameters", max_bandwidth=1 << 30)
        monitor.run("migrate", uri=f"unix:{channel}")

        def has_migrated():
            status = monitor.run("query-migrate")["status"]
            expect(status != "failed", "the migration failed")
            return status == "completed"
        wait_until(has_migrated, "the migration does not end")
        destination.commands = source.commands
        destination.open_shell()
        agent.machine = marks.guest = destination
        marks.instance = traced(destination, destination_out, destination.qemu, marks.instance)
        marks.make()
        expect(agent.is_running(), "the agent ended:", agent.log())
        threads = {}
        for guest, connection in (source, monitor), (destination, Monitor(destination)):
            threads[guest] = {cpu["thread-id"]: cpu["cpu-index"] for cpu in connection.run("query-cpus-fast")}
        for guest in source, destination:
            guest.qemu.send_signal(signal.SIGTERM)
            status = guest.qemu.wait(PATIENCE)
            with open(f"{guest.folder}/qemu.log") as log:
                said = log.read()
            expect(status == 0, guest.folder, "strata record ended with", status, said)
    finally:
        source.kill()
        if destination:
            destination.kill()
        del os.environ["XDG_RUNTIME_DIR"]
    os.rmdir(runtime)

    before, after = sources(source_out), sources(destination_out)
    for recorded, guest in (before, source), (after, destination):
        expect(set(recorded) == {"vmm", "guest"} and all(one["lost"] == 0 for one in recorded.values()), recorded)
        vcpus = {thread["id"]: thread["vcpu"] for thread in recorded["vmm"]["vmm"]["threads"] if "vcpu" in thread}
        expect(vcpus == threads[guest], "vCPUs are", vcpus, "but QEMU has", threads[guest])
    expect(before["guest"]["guest"]["boot_id"] == after["guest"]["guest"]["boot_id"], "another guest", before, after)
    expect(len(before["vmm"]["problems"]) == 1 and "was migrated" in before["vmm"]["problems"][0], before["vmm"])
    expect(len(before["guest"]["problems"]) == 1 and "was migrated before" in before["guest"]["problems"][0], before["guest"])
    expect(all(one["complete"] for one in after.values()) and not after["vmm"].get("problems"), after)
    expect(len(after["guest"]["problems"]) == 1 and "came by a migration" in after["guest"]["problems"][0], after["guest"])
    left, came = before["guest"]["left"]["monotonic_ns"], after["guest"]["came"]["monotonic_ns"]
    expect("came" not in before["guest"] and "left" not in after["guest"] and left < came, before, after)
    check_losses(run, source_out, destination_out, came)

    merged = os.path.join(run.folder("migration"), "merged")
    subprocess.run([run.strata, "merge", "-o", merged, source_out, destination_out], stdout=subprocess.DEVNULL, check=True)
    report = subprocess.run([run.strata, "report", "--format", "json", merged], stdout=subprocess.PIPE, check=True, text=True)
    items = [json.loads(line) for line in report.stdout.splitlines()]
    names = list(sources(merged))
    # Here QEMU stopped the machine, and there it let it run.
    moved = [item for item in items if item.get("event") == "runstate_set"]
    stopped = next(item for item in moved if item["fields"]["new_state_str"] == "finish-migrate")
    resumed = next(item for item in moved if item["fields"]["current_state_str"] == "inmigrate")
    found = marks.check(items, 0, None)
    for number, item in found.items():
        at_source = number < moved_at
        expect(names[item["source"]] == ("guest" if at_source else "guest-2"), item, "is of", names[item["source"]])
        error = item["error_ns"] + stopped["error_ns"]
        expect(item["time_ns"] <= stopped["time_ns"] + error if at_source else item["time_ns"] >= resumed["time_ns"] - error,
               item, "is on the other side of", stopped, resumed)
    expect(stopped["time_ns"] < resumed["time_ns"], stopped, resumed)
    expect(stopped["time_ns"] <= left + 1000000 and came <= resumed["time_ns"] + 1000000, left, came, stopped, resumed)
    # The guest's events have the vCPUs of the machine in which it ran.
    with open(os.path.join(merged, "trace.json")) as manifest:
        monitors = {one["name"]: one["vmm"]["pid"] for one in json.load(manifest)["sources"]}
    expect(monitors["guest"] == monitors["vmm"] != monitors["guest-2"] == monitors["vmm-2"], monitors)
    lost = [item for item in items if "lost" in item]
    expect({(names[item["source"]], item["cpu"]) for item in lost} >= {(name, cpu) for name in ("guest", "guest-2") for cpu in (0, 1)},
           lost)
    errors = sorted(item["error_ns"] for item in found.values())
    print(f"  {len(found)} marks of both machines are where they belong, within {errors[-1] / 1000:.0f} us")


SCENARIOS = [record_migration]
