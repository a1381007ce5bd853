#!/usr/bin/env python3
"""What tests/kvm/scenarios/exits.sh left: the exits of tests/kvm/guest.c are all there, and as many as perf counted.

    exits.py OUT BIN
"""

import json
import os
import re
import shutil
import subprocess
import sys

OUT, BIN = sys.argv[1:]
# What the guest does. Interrupts come as they like, and each page that it touches, once.
KNOWN = {"io": 1000, "cpuid": 1000, "msr": 7, "hlt": 1}
DETAILS = {("io", "port 0xe9 write"): 1000, ("cpuid", "leaf 0x0"): 1000, ("msr", "msr 0x1b APIC_BASE read"): 7,
           ("npf", "mmio 0xc0000 write"): 5}


def read(name):
    with open(os.path.join(OUT, name), encoding="utf-8") as file:
        return file.read()


def strata(*args):
    return subprocess.run([os.path.join(BIN, "strata"), *args], check=True, capture_output=True, text=True).stdout


def perf():
    """The rows of perf's report: by reason, how many, and the sum of their times in microseconds."""
    rows = {}
    for line in read("perf-report.txt").splitlines():
        match = re.match(r"\s*(\w+)\s+(\d+)\s+[\d.]+%\s+[\d.]+%\s+([\d.]+)us\s+([\d.]+)us\s+([\d.]+)us", line)
        if match:
            rows[match[1]] = int(match[2]), int(match[2]) * float(match[5])
    return rows


def exits(trace, *options):
    return json.loads(strata("exits", *options, "-f", "json", os.path.join(OUT, trace)))["rows"]


def metrics(trace):
    """What strata record --metrics-file counted while it was recorded: by machine, vCPU and reason, how many exits, and
    their seconds."""
    found = {}
    for name in ("strata_exits_total", "strata_exit_seconds_total"):
        for labels, value in re.findall(rf"^{name}{{(.*)}} (\S+)$", read(f"{trace}.prom"), re.M):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            found.setdefault((labels["machine"], labels["vcpu"], labels["reason"]), []).append(float(value))
    return found


def machines(trace, *pids):
    """What --by=vm calls each machine, and its label: the name of its monitor in the trace."""
    names = {source["vmm"]["pid"]: source["name"] for source in json.loads(read(f"{trace}/trace.json"))["sources"]
             if source.get("vmm")}
    return {f"kvm-guest-{pid}": names[int(pid)] for pid in pids}


def check_metrics(trace, by_machine):
    """They are those of the trace. BY_MACHINE: what --by=vm calls each machine; None: there is one, which has no name."""
    found = metrics(trace)
    theirs = {}
    for row in exits(trace, "--no-causal", *(["--by", "vm"] if by_machine else [])):
        machine = by_machine.get(row["key"]["vm"]) if by_machine else None
        if row["n"]:
            theirs[machine, row["key"]["reason"]] = row["n"], row["sum"] / 1e9
    ours = {}
    for (machine, vcpu, reason), values in found.items():
        is_known = not by_machine or machine in by_machine.values()
        assert vcpu == ("0" if is_known else "other"), found
        ours[machine if by_machine and is_known else None, reason] = values
    assert ours.keys() == theirs.keys(), (trace, ours, theirs)
    for key, (n, seconds) in ours.items():
        assert n == theirs[key][0] and abs(seconds - theirs[key][1]) < 1e-9, (trace, key, n, seconds, theirs[key])
    with_vcpus = set(re.findall(r'^strata_vcpu_seconds_total{machine="([^"]*)"', read(f"{trace}.prom"), re.M))
    assert not by_machine or with_vcpus == set(by_machine.values()), (trace, with_vcpus)
    return ours


def check_vm(rows, what):
    """The rows of one virtual machine: those of the guest. The exit that ends it has no entry after it."""
    found = {row["key"]["reason"]: row["n"] for row in rows}
    known = {name: n for name, n in KNOWN.items() if name != "hlt"}
    assert known.items() <= found.items() and not found.get("hlt"), (what, rows)


def check_attached():
    """strata record --attach of machines that are not QEMU: whose exits are whose, by the kernel's own events."""
    for name in ("one", "two"):
        assert read(f"{name}.status").strip() == "0", read(f"{name}.log")
        log = read(f"{name}.log")
        assert " has ended, recorded into " in log, log

    # The recorded machine's vCPU is 0, whatever its thread is called; the other machine's is not shown as that.
    recorded, other = read("one.pids").split()
    for keys, mine, others in (("vm", f"kvm-guest-{recorded}", "-"), ("vcpu", "0", "-"), ("pid", recorded, other)):
        rows = exits("one", "--by", keys)
        assert {str(row["key"][keys]) for row in rows} == {mine, others}, (keys, rows)
        check_vm([row for row in rows if str(row["key"][keys]) == mine], keys)
        check_vm([row for row in rows if str(row["key"][keys]) == others], keys)
    halts = [line for line in strata("report", "-f", "csv", "-e", "kvm_exit", os.path.join(OUT, "one")).splitlines()
             if "hlt" in line]
    assert len(halts) == 2, halts
    entries = strata("report", "-f", "json", "-e", "kvm_entry", os.path.join(OUT, "one")).splitlines()
    for entry in map(json.loads, entries):
        assert (entry.get("vcpu") == 0) == (entry["pid"] == int(recorded)), entry
    sched = json.loads(strata("sched", "--by", "vcpu", "-f", "json", os.path.join(OUT, "one")))["rows"]
    assert [str(row["key"]["vcpu"]) for row in sched] == ["0"], sched
    # It is so in a merged trace.
    merged = os.path.join(OUT, "merged")
    shutil.rmtree(merged, ignore_errors=True)
    strata("merge", "-o", merged, os.path.join(OUT, "one"))
    check_vm([row for row in exits("merged", "--by", "vm") if row["key"]["vm"] == f"kvm-guest-{recorded}"], "merged")

    check_metrics("one", machines("one", recorded))

    # Each of two at once.
    pids = read("two.pids").split()
    rows = exits("two", "--by", "vm,vcpu")
    assert {(row["key"]["vm"], str(row["key"]["vcpu"])) for row in rows} == {
        (f"kvm-guest-{pid}", "0") for pid in pids}, rows
    for pid in pids:
        check_vm([row for row in rows if row["key"]["vm"] == f"kvm-guest-{pid}"], pid)
    check_metrics("two", machines("two", *pids))
    sources = json.loads(read("two/trace.json"))["sources"]
    assert [source["name"] for source in sources] == ["host"] + [f"vmm-{pid}" for pid in pids], sources
    assert all(source["complete"] for source in sources), sources


def main():
    assert "FAILED" not in read("serial.log"), read("serial.log")
    assert read("record.status").strip() == "0", read("record.log")
    begun = strata("report", "-e", "kvm_exit", os.path.join(OUT, "trace"))
    theirs = perf()

    # What the guest does, and what perf counted at the same time.
    rows = {row["key"]["reason"]: row for row in exits("trace")}
    for name, n in KNOWN.items():
        assert len(re.findall(rf" reason {name} ", begun)) == n, f"{name}: not {n} exits"
        # The last exit ends the guest: there is no entry after it.
        assert name == "hlt" or rows[name]["n"] == n, (name, rows)
    assert {name: row["n"] for name, row in rows.items() if row["n"]} == {name: n for name, (n, _) in theirs.items()}, (
        rows, theirs)
    for row in rows.values():
        assert row["run"] + row["wait"] + row["sleep"] + row["unknown"] == row["sum"] and row["run"] > 0, row
        assert row["unknown"] == 0, row
    details = {(row["key"]["reason"], row["key"]["detail"]): row["n"] for row in exits("trace", "--by", "detail")}
    assert DETAILS.items() <= details.items(), details

    # The same of perf's own events, with their times: two that record have two times of each event.
    for recorded in "perf.data", "perf.ctf":
        rows = {row["key"]["reason"]: row for row in exits(recorded)}
        assert rows.keys() == theirs.keys(), (recorded, rows, theirs)
        for reason, row in rows.items():
            n, microseconds = theirs[reason]
            assert row["n"] == n and abs(row["sum"] / 1000 - microseconds) <= 0.01 * microseconds, (
                recorded, row, n, microseconds)
    assert json.loads(strata("info", "-f", "json", os.path.join(OUT, "perf.data")))["layer"] == "host"
    check_attached()
    counted = check_metrics("trace", None)
    assert counted[None, "io"][0] == KNOWN["io"], counted
    print(f"{len(begun.splitlines())} exits, as many and as long as perf has them: {read('perf-report.txt').strip()}")


main()
