"""What happens to a virtual machine while it is recorded: it is paused, saved and set back, and gets a vCPU and a disk.

Marks that the guest makes between two moments that this side knows must be between these on the timeline, give or take the
errors that they state: each mark once, whatever happened before and after it."""

import json
import os
import re
import struct
import subprocess
import tempfile
import time

from agent import Agent
from machine import CPUS, ONE_THREAD, PATIENCE, Machine, expect, wait_until
from record import error_bound, guest_errors, is_rounded_up, sources, traced

MARKS = 5
CLUSTER = 65536


def make_qcow2(path, size=16 << 20):
    """An empty disk image: header, refcounts, and the first table, a cluster each."""
    header = struct.pack(">4sIQIIQIIQQIIQ", b"QFI\xfb", 2, 0, 0, 16, size, 0, 1, 3 * CLUSTER, CLUSTER, 1, 0, 0)
    with open(path, "wb") as file:
        for cluster in header, struct.pack(">Q", 2 * CLUSTER), struct.pack(">4H", 1, 1, 1, 1), b"":
            file.write(cluster.ljust(CLUSTER, b"\0"))


class Monitor:
    """A QMP connection beside the recorder's."""

    def __init__(self, guest):
        self.socket = guest.connect("qmp")
        self.socket.settimeout(PATIENCE)
        self.lines = self.socket.makefile("rb")
        self.lines.readline()
        self.run("qmp_capabilities")

    def run(self, command, **arguments):
        text = json.dumps({"execute": command, "arguments": {key.replace("_", "-"): value for key, value in arguments.items()}})
        self.socket.sendall(text.encode() + b"\n")
        while True:
            answer = json.loads(self.lines.readline())
            if "event" not in answer:
                expect("return" in answer, command, "failed:", answer)
                return answer["return"]

    def command_line(self, line):
        said = self.run("human-monitor-command", command_line=line)
        expect(not said, line, "failed:", said)


class Marks:
    """Marks, and between which host times each was made."""

    def __init__(self, guest, instance):
        self.guest = guest
        self.instance = instance
        self.between = []

    def make(self, on_cpu=""):
        for _ in range(MARKS):
            began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            # The kernel refuses it (EBADF) while its buffer is full, as on a busy machine.
            mark = f"echo mark {len(self.between)} >{self.instance}/trace_marker"
            self.guest.run(f"{on_cpu} sh -c 'for i in $(seq 1000); do ! {mark} || exit 0; usleep 20000; done; exit 1' 2>/dev/null")
            self.between.append((began, time.clock_gettime_ns(time.CLOCK_MONOTONIC)))

    def are_sent(self, folder):
        """Whether all are in the files of pages in FOLDER: what the guest has not sent yet is gone when it is set back."""
        pages = b""
        for name in os.listdir(folder):
            if name.startswith("cpu"):
                with open(os.path.join(folder, name), "rb") as file:
                    pages += file.read()
        return all(f"mark {number}\n".encode() in pages for number in range(len(self.between)))

    def check(self, items, saved, history):
        """Returns them: the number of each mark, and its item. The first SAVED ones may come again in source HISTORY."""
        found = {}
        for item in items:
            number = re.search(r"\bmark (\d+)", str(item["fields"])) if item.get("event") == "print" else None
            if not number:
                continue
            number = int(number[1])
            began, ended = self.between[number]
            if item["error_ns"] is None:
                # What the guest had sent before it was set back comes again, and no pair of clocks is from then.
                expect(number < saved and item["source"] == history, "the error of its time is not known:", item)
                continue
            expect(began - item["error_ns"] <= item["time_ns"] <= ended + item["error_ns"], "made between", began, "and", ended,
                   "is", item)
            twice = number < saved and history in (item["source"], found.get(number, item)["source"])
            expect(twice or number not in found, "a mark comes twice:", item)
            if number not in found or item["source"] != history:
                found[number] = item
        expect(sorted(found) == list(range(len(self.between))), "marks are missing: there are", sorted(found))
        return found


def vcpu_threads(trace):
    return {thread["id"]: thread["vcpu"] for thread in sources(trace)["vmm"]["vmm"]["threads"] if "vcpu" in thread}


def record_states(run):
    folder = run.folder("states")
    out = os.path.join(folder, "trace")
    runtime = tempfile.mkdtemp(prefix="strata-test-")
    os.environ["XDG_RUNTIME_DIR"] = runtime
    make_qcow2(f"{folder}/disk")
    make_qcow2(f"{folder}/added-disk")
    guest = Machine(
        f"{run.work}/kernel", f"{run.work}/initramfs", run.folder("states-machine"), has_agent=False,
        prefix=[run.strata, "record", "-o", out, "-e", "runstate_set", "-e", "guest:sched:*", "--"],
        options=["-smp", f"cpus={CPUS},sockets={CPUS + 1},maxcpus={CPUS + 1}", "-device", "pcie-root-port,id=root1,chassis=1",
                 "-blockdev", f"qcow2,node-name=disk,file.driver=file,file.filename={folder}/disk",
                 "-device", "virtio-blk-pci,drive=disk"])
    try:
        agent = Agent(guest)
        monitor = Monitor(guest)
        marks = Marks(guest, traced(guest, out, guest.qemu))
        marks.make()

        monitor.run("stop")
        expect(monitor.run("query-status")["status"] == "paused", "the machine is not paused")
        time.sleep(2)  # so long as no error of a clock is
        monitor.run("cont")
        marks.make()

        saved = len(marks.between)
        monitor.command_line("savevm saved")
        marks.make()
        wait_until(lambda: marks.are_sent(f"{out}/guest-guest"), "the guest does not send its marks")
        monitor.command_line("loadvm saved")
        wait_until(lambda: "guest.2" in sources(out), "nobody noticed that the guest was set back")
        marks.make()

        is_online = hot_plug(guest, monitor, out, folder)
        added = len(marks.between)
        marks.make(on_cpu=f"taskset {1 << CPUS:x}" if is_online else "")
        monitor.run("blockdev-snapshot-sync", node_name="disk", snapshot_file=f"{folder}/snapshot", format="qcow2",
                    snapshot_node_name="snapshot")
        guest.run("dd if=/dev/zero of=/dev/vda bs=4k count=16")
        marks.make()
        threads = {cpu["thread-id"]: cpu["cpu-index"] for cpu in monitor.run("query-cpus-fast")}
        expect(agent.is_running(), "the agent ended:", agent.log())
        guest.end_recording()
    finally:
        guest.kill()
        del os.environ["XDG_RUNTIME_DIR"]
    os.rmdir(runtime)

    recorded = sources(out)
    expect(set(recorded) == {"vmm", "guest", "guest.2"}, "recorded are", set(recorded))
    expect(all(source["complete"] and source["lost"] == 0 for source in recorded.values()), recorded)
    expect("stood still 3 times" in recorded["vmm"]["problems"][0], recorded["vmm"]["problems"])
    for name in "guest", "guest.2":
        expect(len(recorded[name]["problems"]) == 1 and "set back" in recorded[name]["problems"][0], recorded[name])
    expect(vcpu_threads(out) == threads, "vCPUs are", vcpu_threads(out), "but QEMU has", threads)
    report = subprocess.run([run.strata, "report", "--format", "json", out], stdout=subprocess.PIPE, check=True, text=True)
    found = marks.check([json.loads(line) for line in report.stdout.splitlines()], saved, list(recorded).index("guest.2"))
    of_added = [found[number] for number in range(added, added + MARKS)]
    expect(not is_online or all(item["cpu"] == CPUS and str(item["vcpu"]) == str(CPUS) for item in of_added),
           "marks of the new vCPU:", of_added)
    errors = sorted(item["error_ns"] for item in found.values())
    # Nearly always of some hundred microseconds.
    bound = max(error_bound(f"{out}/guest-{boot}", 10_000_000) for boot in ("guest", "guest.2"))
    expect(errors[len(errors) // 2] < bound, "most marks have a large error:", errors)
    print(f"  {len(found)} marks are where they belong, half of them within {errors[len(errors) // 2] / 1000:.0f} us, all within"
          f" {errors[-1] / 1000:.0f} us")


def record_reset(run):
    """A machine that is reset twice: its agent is started again after the first time, and is missing after the second."""
    out = os.path.join(run.folder("reset"), "trace")
    runtime = tempfile.mkdtemp(prefix="strata-test-")
    os.environ["XDG_RUNTIME_DIR"] = runtime
    guest = Machine(f"{run.work}/kernel", f"{run.work}/initramfs", run.folder("reset-machine"), has_agent=False,
                    prefix=[run.strata, "record", "-o", out, "-e", "runstate_set", "-e", "guest:sched:*", "--"],
                    options=["-action", "reboot=reset"], accel=ONE_THREAD)
    try:
        monitor = Monitor(guest)
        for boot in "guest", "guest.2":
            Agent(guest)
            wait_until(lambda boot=boot: boot in sources(out), f"no source {boot}")
            marks = Marks(guest, traced(guest, out, guest.qemu))
            marks.make()
            folder = f"{out}/guest-{boot}"
            wait_until(lambda marks=marks, folder=folder: marks.are_sent(folder), "the guest does not send its marks")
            monitor.run("system_reset")
            while json.loads(monitor.lines.readline()).get("event") != "RESET":
                pass
            guest.run("dmesg -n 1", patience=4 * PATIENCE)
        said = guest.end_recording()
    finally:
        guest.kill()
        del os.environ["XDG_RUNTIME_DIR"]
    os.rmdir(runtime)
    # The reset is the reason, and is reported at the end.
    expect("the guest's agent has ended" not in said and "traced again" not in said, said)
    recorded = sources(out)
    expect(set(recorded) == {"vmm", "guest", "guest.2"}, "recorded are", set(recorded))
    problem = recorded["vmm"]["problems"][0]
    expect(re.match(r"the virtual machine was reset 2 times, and the guest's agent did not return after the last one, \d+\.\d seconds before ", problem), problem)
    expect(problem in said, "that is not printed:", said)
    expect("was reset before" in recorded["guest.2"]["problems"][-1], recorded["guest.2"])
    errors = guest_errors(run, out)
    # The second boot ended before its agent had sent the rest.
    summary = re.search(r"guest +(\d+) events?, (an unknown number|at least \d+) lost, times within ([\d.]+[nm]?u?s); Linux", said)
    expect(summary and is_rounded_up(summary[3], max(errors)), "the summary is not of all boots, within", errors, said)


def hot_plug(guest, monitor, out, folder):
    """A vCPU, which the recorder notices by its thread, and a disk. Whether the guest uses the vCPU."""
    last_possible = guest.text("cat /sys/devices/system/cpu/possible").split("-")[-1]
    monitor.run("device_add", driver="max-x86_64-cpu", id="added", socket_id=CPUS, core_id=0, thread_id=0)
    wait_until(lambda: CPUS in vcpu_threads(out).values(), "the new vCPU has no thread")
    is_online = int(last_possible) >= CPUS
    if is_online:
        guest.run(f"until echo 1 >/sys/devices/system/cpu/cpu{CPUS}/online; do usleep 100000; done 2>/dev/null")
    else:
        # Linux 6.12 takes QEMU's emulation for bare hardware, and says: "2 present CPUs plus 0 hotplug CPUs".
        print("guest: SKIPPED in part: Linux", guest.text("uname -r"), "does not use a vCPU that is added to an emulated machine")
    monitor.run("blockdev-add", driver="qcow2", node_name="added", file={"driver": "file", "filename": f"{folder}/added-disk"})
    monitor.run("device_add", driver="virtio-blk-pci", id="added-disk", drive="added", bus="root1")
    # What the kernel says tells why, if it does not come.
    guest.run("for i in $(seq 2400); do [ ! -e /sys/block/vdb ] || break; usleep 100000; done; [ -e /sys/block/vdb ] || { dmesg | tail -n 30; false; }")
    return is_online


SCENARIOS = [record_states, record_reset]
