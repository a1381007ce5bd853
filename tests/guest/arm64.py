#!/usr/bin/env python3
"""A guest of another processor than the host's: QEMU emulates arm64, and `strata record` records it at the layers of QEMU and of
the guest's kernel.

    arm64.py WORK

WORK holds `kernel` and `initramfs`, and gets all that is written. STRATA_BIN is the directory of the commands.

Between two marks of the guest it reads its clock of the day, a device whose reading QEMU traces. On the timeline, QEMU's event
must lie between the two marks, give or take the errors that the events state."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import machine
from agent import Agent
from machine import Machine, expect
from record import error_bound, sources, traced

READINGS = 200


def folder(work, name):
    path = os.path.join(work, name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def record(strata, work):
    out = os.path.join(folder(work, "record"), "trace")
    runtime = tempfile.mkdtemp(prefix="strata-test-")
    os.environ["XDG_RUNTIME_DIR"] = runtime
    guest = Machine(f"{work}/kernel", f"{work}/initramfs", folder(work, "machine"), has_agent=False, kind=machine.ARM64,
                    prefix=[strata, "record", "-o", out, "-e", "pl031_read,runstate_set", "-e", "guest:sched:*,guest:irq:*", "--"])
    try:
        agent = Agent(guest)
        instance = traced(guest, out, guest.qemu)
        for cpu in range(machine.CPUS):
            first = cpu * READINGS // machine.CPUS
            guest.run(f"taskset {1 << cpu:x} sh -c 'n={first}; while [ $n -lt {first + READINGS // machine.CPUS} ]; do "
                      f"echo out $n >{instance}/trace_marker; read time </sys/class/rtc/rtc0/since_epoch; "
                      f"echo done $n >{instance}/trace_marker; n=$((n + 1)); done'")
        expect(agent.is_running(), "the agent ended:", agent.log())
        guest.end_recording()
    finally:
        guest.kill()
    expect(not os.listdir(runtime), "left behind:", os.listdir(runtime))
    os.rmdir(runtime)
    return out


def check(strata, out):
    recorded = sources(out)
    expect(set(recorded) == {"vmm", "guest"}, "recorded are", set(recorded))
    for name, source in recorded.items():
        expect(source["complete"] and not source.get("problems") and source["lost"] == 0, name, source)
    expect(recorded["guest"]["guest"]["machine"] == "aarch64", recorded["guest"])

    report = subprocess.run([strata, "report", "--format", "json", out], stdout=subprocess.PIPE, check=True, text=True)
    items = [json.loads(line) for line in report.stdout.splitlines()]
    times = [item["time_ns"] for item in items]
    expect(times == sorted(times), "the times step back")
    for event in "sched_switch", "irq_handler_entry":
        found = [item for item in items if item["layer"] == "guest" and item["event"] == event]
        expect({item["cpu"] for item in found} == {0, 1} and all(item["fields"] for item in found), event, "is missing")

    marks = {"out": {}, "done": {}}
    for item in items:
        mark = re.fullmatch(r"(out|done) (\d+)\n?", str(item["fields"].get("buf"))) if item["event"] == "print" else None
        if mark:
            marks[mark[1]][int(mark[2])] = item
    for what, found in marks.items():
        expect(sorted(found) == list(range(READINGS)), what, "are", sorted(found))
    # The guest's kernel has read it when it booted.
    read = [item for item in items if item["layer"] == "vmm" and item["event"] == "pl031_read"][-READINGS:]
    errors = []
    for number, item in enumerate(read):
        begin, end = marks["out"][number], marks["done"][number]
        error = begin["error_ns"] + item["error_ns"]
        errors.append(error)
        expect(begin["time_ns"] - error <= item["time_ns"] <= end["time_ns"] + end["error_ns"] + item["error_ns"], item,
               "is not between", begin, "and", end)
        expect(item.get("vcpu") == begin.get("vcpu") == begin["cpu"], "vCPU", item, begin)
    expect(max(errors) < error_bound(f"{out}/guest-guest", 20_000_000), "the error is", max(errors), "ns")
    errors.sort()
    print(f"  {READINGS} readings are where they belong; stated error {errors[0] / 1000:.0f} to {errors[-1] / 1000:.0f} us, half"
          f" below {errors[READINGS // 2] / 1000:.0f}")


def main():
    strata = os.path.join(os.environ["STRATA_BIN"], "strata")
    try:
        check(strata, record(strata, os.path.abspath(sys.argv[1])))
    except machine.Failure as failure:
        sys.exit(f"FAILED: {failure}")


if __name__ == "__main__":
    main()
