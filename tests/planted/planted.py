# SPDX-License-Identifier: MIT
"""One recording of a guest that works in phases. In some of them something slows the guest that the test knows. `strata summary` of a
phase has to name it, first or second; of a phase without a fault, it has to say that no problem stands out.

QEMU and what is planted have real-time priorities, so that other work of this machine does not slow the guest. Busy threads are on CPU 1
alone, so that the machine goes on."""

import atexit
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from waiting import Failure, expect, wait_until  # noqa: E402

strata, work = sys.argv[1:]
os.chdir(work)


class Machine:
    def __init__(self):
        for disk in "vda", "vdb":
            with open(disk, "wb") as file:
                file.truncate(64 << 20)
        self.recorder = subprocess.Popen(
            ["chrt", "-r", "1", strata, "record", "-o", "vm", "--for", "io,sched,irq", "--guest", "--host", "--",
             "qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=single", "-cpu", "max", "-smp", "2", "-m", "256",
             "-nodefaults", "-display", "none", "-no-reboot", "-kernel", "image/kernel", "-initrd", "image/initramfs",
             "-append", "console=ttyS0 quiet tsc=reliable no_timer_check panic=-1", "-serial", "file:console",
             "-serial", "unix:work.socket,server=on,wait=off", "-qmp", "unix:qmp.socket,server=on,wait=off",
             "-drive", "file=vda,format=raw,if=none,id=fast", "-device", "virtio-blk-pci,drive=fast",
             "-drive", "driver=null-aio,latency-ns=8000000,size=64M,if=none,id=slow", "-device", "virtio-blk-pci,drive=slow"],
            stdin=subprocess.DEVNULL, stdout=open("out", "wb"), stderr=subprocess.STDOUT)
        atexit.register(self.end)
        self.guest = self.connect("work.socket")
        self.qmp = self.connect("qmp.socket").makefile("rw")
        self.qmp.readline()
        self.command("qmp_capabilities")
        expect(self.answer() == b"ready", "the guest does not begin")
        self.pid = int(next(c for c in os.listdir("/proc") if c.isdigit() and self.is_qemu(c)))
        self.threads = {}
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            self.threads[comm_of(thread)] = int(thread)
        self.vcpus = next(thread for name, thread in self.threads.items() if name.startswith("ALL CPUs"))

    def end(self):
        if self.recorder.poll() is None:
            self.recorder.terminate()
            self.recorder.wait()

    def connect(self, path):
        def attempt():
            expect(self.recorder.poll() is None, "QEMU ended:", open("out", encoding="utf-8").read())
            connection = socket.socket(socket.AF_UNIX)
            with contextlib.suppress(OSError):
                connection.connect(path)
                return connection
            connection.close()
            return None
        return wait_until(attempt, f"{path} exists")

    @staticmethod
    def is_qemu(pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().startswith(b"qemu-system") and os.readlink(f"/proc/{pid}/cwd") == os.getcwd()
        return False

    def answer(self):
        line = b""
        while not line.endswith(b"\n"):
            part = self.guest.recv(1)
            expect(part, "the guest ended:", open("console", encoding="utf-8", errors="replace").read())
            line += part
        return line.strip()

    def command(self, execute, **arguments):
        self.qmp.write(json.dumps({"execute": execute, "arguments": arguments}) + "\n")
        self.qmp.flush()
        while True:
            answer = json.loads(self.qmp.readline())
            if "event" not in answer:
                expect("return" in answer, execute, answer)
                return answer["return"]

    def pin(self, main, vcpus):
        """Sets the CPUs of the main thread and of the vCPUs' thread."""
        os.sched_setaffinity(self.pid, main)
        os.sched_setaffinity(self.vcpus, vcpus)


def is_working(machine):
    machine.guest.setblocking(False)
    try:
        return not machine.guest.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    finally:
        machine.guest.setblocking(True)


HOG_PROGRAM = """
import os, sys, time
busy, sleeps = map(float, sys.argv[1:])
open("/proc/self/comm", "w").write("planted_hog")
while True:
    end = time.monotonic() + busy
    while time.monotonic() < end:
        pass
    if sleeps:
        time.sleep(sleeps)
    else:
        os.sched_yield()
"""


@contextlib.contextmanager
def hogs(number, stops=False):
    """Threads that are busy on CPU 1, by turns of 4 ms with what runs there. STOPS: 50 ms of 100 ms, and before others."""
    times = ["0.05", "0.05"] if stops else ["0.004", "0"]
    all_hogs = [subprocess.Popen(["chrt", "-r", "2" if stops else "1", "taskset", "-c", "1", sys.executable, "-c", HOG_PROGRAM, *times])
                for _ in range(number)]
    wait_until(lambda: all(comm_of(hog.pid) == "planted_hog" for hog in all_hogs), "the hogs run")
    try:
        yield
    finally:
        for hog in all_hogs:
            hog.kill()
            hog.wait()


def comm_of(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read().strip()


@contextlib.contextmanager
def throttled(machine, **limits):
    limits = {name: 0 for name in ("bps", "bps_rd", "bps_wr", "iops", "iops_rd", "iops_wr")} | limits
    machine.command("block_set_io_throttle", device="fast", **limits)
    try:
        yield
    finally:
        machine.command("block_set_io_throttle", device="fast", **dict.fromkeys(limits, 0))


@contextlib.contextmanager
def pinned(machine, main, vcpus):
    every = os.sched_getaffinity(0)
    machine.pin(main, vcpus)
    try:
        yield
    finally:
        machine.pin(every, every)


def stop_now_and_then(machine, times, length):
    """SIGSTOP while the guest works."""
    for _ in range(times):
        time.sleep(0.1)
        if not is_working(machine):
            return
        os.kill(machine.pid, signal.SIGSTOP)
        time.sleep(length)
        os.kill(machine.pid, signal.SIGCONT)


def keep_monitor_busy(machine):
    while is_working(machine):
        machine.command("human-monitor-command", **{"command-line": "info mtree -f"})


ABOUT_THE_TRACE = "^the cost of recording|switch(es are| is) followed by"
HOG = r"waits for a CPU behind planted_hog"
TIMER = r"qemu-system-x86 of the host sleeps until a timer"
STOPPED = r"python3\S* of the host (sleeps until a timer|runs)|stopped by a signal"
GUEST_BUSY = r"of the guest (costs most|waits for a CPU)|CPUs of the guest are busy|CPU \d of the guest is busy"
NONE = None


def phases(machine):
    """(name, work of the guest, what is around it, what the test does meanwhile, what has to be found)"""
    nothing = contextlib.nullcontext
    one, other = {0}, {1}
    return [
        ("healthy: reads", "read vda", nothing, None, NONE),
        ("healthy: writes", "write vda", nothing, None, NONE),
        ("healthy: rare reads", "rarely vda", nothing, None, NONE),
        ("healthy: computes", "compute vda", nothing, None, NONE),
        ("healthy: pinned", "read vda", lambda: pinned(machine, one, other), None, NONE),
        ("stopped for 250 ms, three times", "parallel vda", nothing, lambda: stop_now_and_then(machine, 3, 0.25), STOPPED),
        ("stopped once", "parallel vda", nothing, lambda: stop_now_and_then(machine, 1, 0.3), STOPPED),
        ("100 requests a second", "read vda", lambda: throttled(machine, iops=100), None, TIMER),
        ("1000 KB a second", "read vda", lambda: throttled(machine, bps=1000000), None, TIMER),
        ("100 writes a second", "write vda", lambda: throttled(machine, iops_wr=100), None, TIMER),
        ("slow disk", "read vdb", nothing, None, TIMER),
        ("slow disk, writes", "write vdb", nothing, None, TIMER),
        ("slow disk, rarely", "rarely vdb", nothing, None, TIMER),
        ("slow disk, readers in parallel", "parallel vdb", nothing, None, TIMER),
        ("busy monitor", "read vda", nothing, lambda: keep_monitor_busy(machine), r"behind qemu-system-x86|qemu-system-x86 of the host runs"),
        ("a hog beside QEMU", "read vda", lambda: stack(pinned(machine, other, other), hogs(1)), None, HOG),
        ("three hogs beside QEMU", "read vda", lambda: stack(pinned(machine, other, other), hogs(3)), None, HOG),
        ("a hog beside the main loop", "read vda", lambda: stack(pinned(machine, other, one), hogs(1)), None,
         r"qemu-system-x86 of the host " + HOG),
        ("a hog beside the vCPUs", "read vda", lambda: stack(pinned(machine, one, other), hogs(1)), None, r"ALL CPUs/TCG of the host " + HOG),
        ("a hog now and then", "parallel vda", lambda: stack(pinned(machine, other, other), hogs(1, stops=True)), None, HOG),
        ("a hog now and then beside writes", "write vda", lambda: stack(pinned(machine, other, one), hogs(1, stops=True)), None, HOG),
        ("main loop and vCPUs on a CPU", "together vda", lambda: pinned(machine, other, other), None,
         r"qemu-system-x86 of the host waits for a CPU behind ALL CPUs/TCG|" + GUEST_BUSY),
        ("hogs in the guest", "hogs vda", nothing, None, GUEST_BUSY),
        ("hogs in the guest, and a slow disk", "hogs vdb", nothing, None, GUEST_BUSY + "|" + TIMER),
    ]


@contextlib.contextmanager
def stack(*contexts):
    with contextlib.ExitStack() as all_contexts:
        for context in contexts:
            all_contexts.enter_context(context)
        yield


def main():
    machine = Machine()
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(3))
    times = []
    for name, what, around, meanwhile, expected in phases(machine):
        with around():
            begin = time.monotonic()
            machine.guest.sendall(what.encode() + b"\n")
            if meanwhile:
                meanwhile()
            answer = machine.answer().decode()
            expect(answer == f"{what} done", name, "the guest answers", repr(answer))
            times.append((name, begin, time.monotonic(), expected))

    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    machine.guest.sendall(b"end\n")
    expect(machine.recorder.wait() == 0, open("out", encoding="utf-8").read())

    wrong = []
    for name, begin, end, expected in times:
        done = subprocess.run([strata, "summary", "-f", "json", "--from", f"{begin:.6f}", "--until", f"{end:.6f}", "vm"],
                              capture_output=True, text=True)
        expect(done.returncode == 0, name, done.stderr)
        found = [finding["text"] for finding in json.loads(done.stdout)["findings"] if not re.search(ABOUT_THE_TRACE, finding["text"])]
        is_right = found and (any(re.search(expected, text) for text in found[:2]) if expected else found[0].startswith("no problem stands out"))
        if not is_right:
            wrong.append((expected, name))
        print(f"{'ok   ' if is_right else 'WRONG'} {name} ({end - begin:.2f} s)", *found[:3 if is_right else 6], sep="\n        ", flush=True)
    planted = [name for expected, name in wrong if expected]
    healthy = [name for expected, name in wrong if not expected]
    expect(len(planted) <= 2 and len(healthy) <= 1, "not found:", planted, "found though healthy:", healthy)


try:
    main()
except Failure as failure:
    print(f"planted: {failure}", file=sys.stderr)
    sys.exit(1)
