"""One timeline of a guest, at the layers of its kernel and of QEMU. record.py records it.

The guest writes a mark into its trace, a number to an I/O port, and another mark. QEMU traces the port. On the
timeline, QEMU's event must lie between the two marks, give or take the errors that the events state: for each of
the numbers."""

import json
import subprocess

import machine
from machine import expect

NUMBERS = 1000
PER_SECOND = 100
SCRATCH = 7
PORT = 0x2f8 + SCRATCH  # a register of the second serial port that does nothing


def write_numbers(guest, instance):
    for cpu in range(machine.CPUS):
        half = NUMBERS // machine.CPUS
        guest.run(f"sleep 1; guest-tool outs {cpu} {cpu * half} {half} {PORT} {PER_SECOND} {instance}")
    guest.run("sleep 1")


def events(strata, trace, *options):
    said = subprocess.run([strata, "report", "--format=json", *options, trace], stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in said.stdout.splitlines()]


def compare(strata, trace):
    seen = {"out": {}, "done": {}, "vmm": {}}
    vcpus = {}
    written = []
    for event in events(strata, trace, "-e", "print", "-e", "serial_write"):
        if event["layer"] == "guest":
            if " " not in event["fields"]["buf"] or event["fields"]["buf"].split()[0] not in seen:
                continue
            what, number = event["fields"]["buf"].split()
            seen[what][int(number)] = event
        elif event["fields"]["addr"] == SCRATCH:
            written.append(event)
    # The kernel looked for serial ports before.
    for number, event in enumerate(written[-NUMBERS:]):
        expect(event["fields"]["value"] == number & 0xff, "the port got", event, "for", number)
        seen["vmm"][number] = event
    for what, found in seen.items():
        expect(sorted(found) == list(range(NUMBERS)), f"{what}: {len(found)} of {NUMBERS}")

    outside, errors, gaps = [], [], []
    for number in range(NUMBERS):
        out, vmm, done = (seen[what][number] for what in ("out", "vmm", "done"))
        error = out["error_ns"] + vmm["error_ns"]
        errors.append(error)
        gaps.append(abs(vmm["time_ns"] - out["time_ns"]))
        if not out["time_ns"] - error <= vmm["time_ns"] <= done["time_ns"] + done["error_ns"] + vmm["error_ns"]:
            outside.append((number, out["time_ns"], vmm["time_ns"], done["time_ns"], error))
        vcpus.setdefault(vmm.get("vcpu"), set()).add(out["cpu"])
    expect(not outside, f"{len(outside)} of {NUMBERS} are outside of the stated error, as", outside[:3])
    # Each of the guest's CPUs is one vCPU of QEMU's, and no other's.
    expect(len(vcpus) == machine.CPUS and all(len(cpus) == 1 for cpus in vcpus.values()), "vCPUs are mixed up:", vcpus)
    errors.sort()
    gaps.sort()
    print(f"  {NUMBERS} numbers are where they belong; stated error {errors[0] / 1000:.0f} to {errors[-1] / 1000:.0f} us, half"
          f" below {errors[NUMBERS // 2] / 1000:.0f}; from mark to port {gaps[NUMBERS // 2] / 1000:.0f} us at half of them,"
          f" {gaps[-1] / 1000:.0f} at most")
