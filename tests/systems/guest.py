#!/usr/bin/env python3
"""A guest under a QEMU of some version, with a Linux of some version, recorded at both layers while it works with its disk:

    guest.py WORK QEMU

WORK holds `kernel` and `initramfs` (tools/guest-image), and gets all that is written. STRATA_BIN is the directory of the
commands. What the verbs print is compared with what shares no code with Strata: the guest's own counters in /proc, QEMU's
counters of its disk (query-blockstats), and the lines of QEMU's log. Prints a line `tried: COMPONENT VERSION` for QEMU and
for Linux."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import machine  # noqa: E402
import record  # noqa: E402
from agent import Agent  # noqa: E402
from machine import expect  # noqa: E402

EVENTS = "virtio_blk_*,thread_pool_*,qmp_*,virtqueue_*,virtio_notify*"
GUEST_EVENTS = "sched:*,irq:*,block:*"
LOOPS = 20
# What is counted twice, before and after each mark: the events between the marks are at least as many as the counters between
# the marks say, and at most as many as those outside of them. `read` is a built-in: no other process runs for that.
WORK = f"""
instance=$1
counts() {{
    while read -r name first rest; do [ "$name" != ctxt ] || echo "ctxt $first"; done </proc/stat
    while read -r name first rest; do
        case $name in *ctxt_switches:) echo "own $first" ;; esac
    done </proc/$$/status
}}
disk() {{ echo "$1 disk $(cat /sys/block/vda/stat)"; sed "s/^/$1 irq /" /proc/interrupts; }}
echo 3 >/proc/sys/vm/drop_caches
disk before
counts; echo "=="
echo begin >$instance/trace_marker
counts; echo "=="
for n in $(seq {LOOPS}); do
    dd if=/dev/vda of=/dev/null bs=4k count=5 skip=$((n * 500))
    dd if=/dev/zero of=/dev/vda bs=4k count=3 seek=$((n * 700)) conv=fsync
    usleep 1000
done 2>/dev/null
counts; echo "=="
echo end >$instance/trace_marker
counts; echo "=="
disk after
"""


def verb(strata, *arguments):
    """The rows of a verb of Strata's."""
    said = subprocess.run([strata, *arguments, "-f", "json"], stdout=subprocess.PIPE, check=True, text=True).stdout
    return json.loads(said)["rows"]


def blockstats(guest):
    """QEMU's own counters of the guest's disk."""
    with socket.socket(socket.AF_UNIX) as monitor:
        monitor.connect(os.path.join(guest.folder, "qmp"))
        lines = monitor.makefile("r")
        lines.readline()
        for command in ("qmp_capabilities", "query-blockstats"):
            monitor.sendall(json.dumps({"execute": command}).encode())
            while "return" not in (answer := json.loads(lines.readline())):
                expect("error" not in answer, answer)
    (disk,) = answer["return"]
    return disk["stats"]


def record_guest(work, qemu, strata):
    """Records into WORK/trace. What the guest counted, what QEMU did, and what the guest runs."""
    out = f"{work}/trace"
    for name in ("trace", "machine"):
        shutil.rmtree(f"{work}/{name}", ignore_errors=True)
    os.makedirs(f"{work}/machine")
    with open(f"{work}/disk", "wb") as disk:
        disk.truncate(64 << 20)
    os.environ["XDG_RUNTIME_DIR"] = tempfile.mkdtemp(prefix="strata-test-")
    guest = machine.Machine(
        f"{work}/kernel", f"{work}/initramfs", f"{work}/machine", has_agent=False, kind=([qemu, *machine.X86_64[0][1:]],
                                                                                     machine.X86_64[1]),
        accel=machine.ONE_THREAD, prefix=[strata, "record", "-o", out, "-e", EVENTS, "--guest", GUEST_EVENTS, "--"],
        options=["-drive", f"file={work}/disk,format=raw,if=none,id=disk,aio=threads", "-device", "virtio-blk-pci,drive=disk"])
    try:
        linux = guest.text("uname -r")
        Agent(guest)
        instance = record.traced(guest, out, guest.qemu)
        guest.run(f"cat >/tmp/work <<'END'\n{WORK}\nEND")
        counted = guest.text(f"sh /tmp/work {instance}")
        stats = blockstats(guest)
        said = guest.end_recording()
    finally:
        guest.kill()
        shutil.rmtree(os.environ.pop("XDG_RUNTIME_DIR"))
    print(said.strip())
    return counted, stats, linux


def check_complete(strata, out, qemu_version, linux):
    """All was recorded, without a problem, and of what."""
    sources = record.sources(out)
    expect(set(sources) == {"vmm", "guest"}, "recorded are", set(sources))
    for name, source in sources.items():
        expect(source["complete"] and not source.get("problems") and source["lost"] == 0, name, source)
    infos = subprocess.run([strata, "info", out], stdout=subprocess.PIPE, check=True, text=True).stdout
    expect(re.search(rf"monitor version +{re.escape(qemu_version)}\b", infos), "no version", qemu_version, infos)
    expect(linux in infos, "no Linux", linux, infos)


def check_qemu(strata, out, stats):
    """QEMU's events: each line of its log is an event; and as many requests as QEMU counted."""
    lines = {}
    with open(f"{out}/vmm/trace.log", errors="replace") as log:
        for line in log:
            # "PID@SECONDS.MICROSECONDS:NAME …" or, in QEMU 11.1, "TIME NAME …"
            found = re.match(r"(?:\d+@\d+\.\d+:|\d\S*Z )([a-z_0-9]+)(?= |$)", line)
            if found and found[1].startswith(tuple(EVENTS.replace("*", "").split(","))):
                lines[found[1]] = lines.get(found[1], 0) + 1
    rows = verb(strata, "stat", "--layer", "vmm", out)
    events = {row["event"]: row["count"] for row in rows}
    expect(events == lines, "strata stat has", events, "the log", lines)
    for name, operations in (("read", "rd_operations"), ("write", "wr_operations")):
        handled = events.get(f"virtio_blk_handle_{name}", 0)
        expect(handled == stats[operations] > 0, f"{handled} {name}s;", stats)
    print(f"  QEMU: {sum(events.values())} events as in its log; {stats['rd_operations']} reads and {stats['wr_operations']} writes"
          " as QEMU counts them")


def check_io(strata, out, counted):
    """Requests of the guest to its disk, by its own counters."""
    before, after = ([int(word) for word in re.search(rf"^{when} disk +(.*)$", counted, re.M)[1].split()]
                     for when in ("before", "after"))
    delta = [two - one for one, two in zip(before, after)]
    # Documentation/block/stat.rst: requests, merged ones, sectors, ms of reads; the same of writes; …; flushes are the 16th.
    # A program's fsync is a write without data for these counters, as well as a flush.
    expected = {"read": (delta[0], 512 * delta[2]), "write": (delta[4] - delta[15], 512 * delta[6])}
    rows = verb(strata, "io", "--no-causal", out)
    totals = {(row["key"]["layer"], row["key"]["kind"]): row for row in rows if row["key"]["stage"] == "total"}
    for kind, (requests, size) in expected.items():
        row = totals["guest", kind]
        expect((row["n"], row["bytes"]) == (requests, size) and requests > 0, f"{kind}: the guest counts", requests, size,
               "strata io:", row)
        stages = [stage for stage in rows if (stage["key"]["layer"], stage["key"]["kind"]) == ("guest", kind) and
                  stage["key"]["stage"] != "total"]
        expect(sum(stage["sum"] for stage in stages) == row["sum"], "the stages are not the whole:", stages, row)
        through = {stage["key"]["stage"]: stage["n"] for stage in stages}
        expect(through.get("dispatch") == through.get("done") == requests, f"{kind}: not all went through QEMU:", through)
        print(f"  io: {requests} {kind}s of {size} bytes as the guest counts them; stages {' '.join(through)}")
    expect(totals["guest", "flush"]["n"] == delta[15], "flushes:", delta[15], totals["guest", "flush"])


def interrupts(counted, when):
    """{what /proc/interrupts calls it: the sum over all CPUs} of interrupts with a device."""
    lines = [line.split() for line in re.findall(rf"^{when} irq +(\d+:.*)$", counted, re.M)]
    return {words[-1]: sum(map(int, words[1:1 + machine.CPUS])) for words in lines}


def check_irq(strata, out, counted):
    """Interrupts of the disk, by the guest's own counters."""
    before, after = interrupts(counted, "before"), interrupts(counted, "after")
    rows = verb(strata, "irq", "--no-causal", out)
    seen = {row["key"]["name"]: row["n"] for row in rows if row["key"]["kind"] == "irq"}
    disks = [name for name in after if "-req." in name and after[name] > before[name]]
    expect(disks, "no interrupt of the disk:", after)
    for name in disks:
        expect(seen.get(name) == after[name] - before[name], name, "the guest counts", after[name] - before[name], "strata irq:",
               seen)
    print(f"  irq: {', '.join(f'{seen[name]} of {name}' for name in disks)} as the guest counts them")


def check_sched(strata, out, counted):
    """Switches between the marks, of all threads and of the shell that did the work."""
    marks = {}
    report = subprocess.run([strata, "report", "-f", "json", "--layer", "guest", "-e", "print", out],
                            stdout=subprocess.PIPE, check=True, text=True).stdout
    for event in map(json.loads, report.splitlines()):
        marks[event["fields"]["buf"].strip()] = event
    window = [f"--from={marks['begin']['time_ns'] / 1e9:.9f}", f"--until={marks['end']['time_ns'] / 1e9:.9f}"]
    pid = marks["begin"]["pid"]
    outer1, inner1, inner2, outer2 = (
        {name: sum(int(number) for key, number in re.findall(r"^(\w+) (\d+)$", part, re.M) if key == name)
         for name in ("ctxt", "own")} for part in counted[counted.index("ctxt"):].split("==\n")[:4])
    rows = verb(strata, "stat", "--layer", "guest", "-e", "sched_switch", *window, out)
    switches = rows[0]["count"]
    low, high = inner2["ctxt"] - inner1["ctxt"], outer2["ctxt"] - outer1["ctxt"]
    expect(low <= switches <= high, f"{switches} switches; the guest counts {low} to {high}")
    rows = verb(strata, "sched", "--no-causal", "--layer", "guest", *window, out)
    (own,) = [row for row in rows if row["key"]["pid"] == pid]
    own_low, own_high = inner2["own"] - inner1["own"], outer2["own"] - outer1["own"]
    # It runs at both marks: it was switched to as often as away from.
    expect(own_low <= own["runs"] <= own_high, own, f"the guest counts {own_low} to {own_high} switches of thread {pid}")
    expect(own["migrations"] is not None and own["unknown_share"] < 0.01, "states are unknown:", own)
    print(f"  sched: {switches} switches, the guest counts {low} to {high}; {own['runs']} of the shell, {own_low} to {own_high}")


def check_summary(strata, out):
    """It has what the verbs say, and report has a line for each event."""
    summary = json.loads(subprocess.run([strata, "summary", "-f", "json", out], stdout=subprocess.PIPE, check=True, text=True)
                         .stdout)
    report = subprocess.run([strata, "report", out], stdout=subprocess.PIPE, check=True, text=True).stdout
    counted = sum(row["count"] for row in verb(strata, "stat", out))
    expect(summary["events"] == counted == report.count("\n"), "summary:", summary["events"], "stat:", counted, "report:",
           report.count("\n"), "lines")
    print(f"  summary, stat and report: {counted} events")


def main():
    work, qemu = os.path.abspath(sys.argv[1]), sys.argv[2]
    strata = os.path.join(os.environ["STRATA_BIN"], "strata")
    version = subprocess.run([qemu, "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout
    version = re.search(r"version ([\d.]+)", version)[1]
    counted, stats, linux = record_guest(work, qemu, strata)
    print("tried: QEMU", version)
    print("tried: Linux, guest", linux)
    with open(f"{work}/counted", "w") as file:
        file.write(counted)
    out = f"{work}/trace"
    check_complete(strata, out, version, linux)
    check_qemu(strata, out, stats)
    check_io(strata, out, counted)
    check_irq(strata, out, counted)
    check_sched(strata, out, counted)
    check_summary(strata, out)


if __name__ == "__main__":
    main()
