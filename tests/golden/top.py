#!/usr/bin/env python3
"""What strata top says of a vCPU, against what other commands say of the same trace: what it runs, computed again from
the lines of `strata report -f json`, the simple way; its states, from `strata sched -f json`.

top.py TID SCREEN SCHED < LINES: the first row of a vCPU, which thread TID runs.
"""
import json
import sys

TOLERANCE = 0.2  # percent


def modes(lines, tid):
    """Nanoseconds that TID ran the guest, the hypervisor and the VMM, and those of the trace."""
    total = dict.fromkeys(("guest", "hypervisor", "vmm"), 0)
    names = {"kvm_entry": "guest", "kvm_exit": "hypervisor", "kvm_userspace_exit": "vmm"}
    runs, mode, since, first, time = False, None, None, None, None
    for line in lines:
        event = json.loads(line)
        time, name, fields = event["time_ns"], event["event"], event.get("fields", {})
        first = time if first is None else first
        if runs and mode:
            total[mode] += time - since
        since = time
        if name == "sched_switch" and tid in (fields["prev_pid"], fields["next_pid"]):
            runs = fields["next_pid"] == tid
        elif event.get("pid") == tid and name in names:
            mode = names[name]
    return total, time - first


def shown(path):
    """The percentages of the first row of a vCPU."""
    lines = iter(open(path, encoding="utf-8"))
    for line in lines:
        if line.startswith("VCPUS"):
            names = ("runs", "guest", "hypervisor", "vmm", "wait", "stolen", "blocked", "unknown")
            row = dict(zip(names, next(lines).split()[-8:]))
            assert row.pop("stolen") == "-", row  # its guest is not recorded
            return {name: float(value) for name, value in row.items()}
    raise AssertionError("no row of a vCPU")


def main():
    tid, row = int(sys.argv[1]), shown(sys.argv[2])
    wanted, duration = modes(sys.stdin, tid)
    wanted = {part: ns / duration * 100 for part, ns in wanted.items()}
    for state in json.load(open(sys.argv[3], encoding="utf-8"))["rows"]:
        if state["key"]["pid"] == tid:
            for part, name in (("runs", "run"), ("wait", "wait"), ("blocked", "sleep"), ("unknown", "unknown")):
                wanted[part] = state[name + "_share"] * 100
    assert len(wanted) == 7, wanted
    for part, percent in wanted.items():
        assert abs(row[part] - percent) < TOLERANCE, (part, row[part], percent)


main()
