#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`strata record --flight` on a disk of some MB that another process fills and frees: the recording goes on, and states each loss.

    full_disk.py

$STRATA_BIN: the directory of the commands; $MARKS: runtime/marks.c. Runs in a mount namespace of its own.

Numbered marks are made in the ring of a program, in the kernel of this machine, and in QEMU's log. From the first mark that is
kept to the last one, marks and stated losses are as many as were made, in a snapshot and in the recording itself."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from waiting import Failure, expect, wait_until  # noqa: E402

SIZE = "24m"
PATIENCE = 120


class Program:
    """runtime/marks.c."""

    layers = ("vmm",)
    options = []
    message = None  # when something was lost
    more = 50000  # marks that are made while the disk is full, and after that

    def __init__(self, work):
        self.file = os.path.join(work, "made")
        self.command = [os.environ["MARKS"], self.file, "2"]

    @staticmethod
    def why_not():
        return None

    def begin(self, recorder):
        pass

    def made(self):
        try:
            with open(self.file, "rb") as file:
                return int.from_bytes(file.read(8), sys.byteorder)
        except FileNotFoundError:
            return 0

    def end(self):
        self.last = open(self.file, "rb")
        os.unlink(self.file)

    def made_in_all(self):
        with self.last:
            return int.from_bytes(self.last.read(8), sys.byteorder)


class Kernel(Program):
    """System calls that fail, of a thread that stays on its CPU. Of other processes, others that run this test too, the kernel
    records none: they do not have this test's number."""

    layers = ("host",)
    message = "host: the disk was full: events were dropped"  # pages come within some seconds
    number = {"x86_64": 252, "aarch64": 31, "s390x": 283}.get(os.uname().machine)
    program = """if True:
        import ctypes, mmap, os, sys, time
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        with open(sys.argv[1], "w+b") as file:
            file.truncate(8)
            made = mmap.mmap(file.fileno(), 8)
        call, n = ctypes.CDLL(None).syscall, 0
        while os.path.exists(sys.argv[1]):
            for n in range(n + 1, n + 1001):
                call(int(sys.argv[2]), int(sys.argv[3]), n)
            made[:] = n.to_bytes(8, sys.byteorder)
            time.sleep(0.005)
        os._exit(0)
    """

    def __init__(self, work):
        super().__init__(work)
        which = random.randrange(100, 1 << 30)
        self.options = [f"--event=host:syscalls:sys_enter_ioprio_get{{which == {which}}}"]
        self.command = [sys.executable, "-c", self.program, self.file, str(self.number), str(which)]

    @staticmethod
    def why_not():
        event = "/sys/kernel/tracing/events/syscalls/sys_enter_ioprio_get"
        return (None if Kernel.number and os.access(event, os.R_OK) else
                "this machine's kernel has no events of system calls, or does not show them")


class Qemu:
    """A QEMU without a machine: each command of QMP is a mark."""

    layers = ("vmm",)
    options = ["-e", "handle_qmp_command"]
    message = None
    more = 20000  # a mark takes QEMU long, and more bytes of its log than those above take

    def __init__(self, work):
        self.command = ["qemu-system-x86_64", "-machine", "none", "-nodefaults", "-display", "none", "-qmp", "stdio",
                        "-msg", "timestamp=on"]
        self.answered = 0
        self.is_over = False

    def begin(self, recorder):
        self.recorder = recorder
        self.thread = threading.Thread(target=self.drive)
        self.thread.start()

    def drive(self):
        number = 0
        self.recorder.stdin.write(b'{"execute":"qmp_capabilities"}\n')
        while not self.is_over:
            first = number + 1
            number += 100
            self.recorder.stdin.write(b"".join(b'{"execute":"query-version","id":"m%d"}\n' % n
                                               for n in range(first, number + 1)))
            self.recorder.stdin.flush()
            line = b"-"
            while line and f'"m{number}"'.encode() not in line:
                line = self.recorder.stdout.readline()
            self.answered = number

    @staticmethod
    def why_not():
        return None if shutil.which("qemu-system-x86_64") else "qemu-system-x86_64 is not installed"

    def made(self):
        return self.answered

    def end(self):
        self.is_over = True
        self.thread.join()
        self.recorder.stdin.write(b'{"execute":"quit"}\n')
        self.recorder.stdin.flush()

    def made_in_all(self):
        return self.answered


def fill(path, is_over):
    """Takes all space of the disk as it comes, until IS_OVER."""
    with open(path, "wb", buffering=0) as file:
        while not is_over.is_set():
            try:
                file.write(bytes(4096))
            except OSError:
                time.sleep(0.001)
    os.unlink(path)


class FullDisk:
    def __init__(self, disk, work, about):
        self.disk = disk
        self.about = about
        self.strata = os.path.join(os.environ["STRATA_BIN"], "strata")
        self.out = os.path.join(disk, "trace")
        self.err = os.path.join(work, "err")

    def run(self, *words):
        done = subprocess.run([self.strata, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        expect(done.returncode == 0, *words, ": status", done.returncode, done.stderr)
        return done.stdout

    def check(self, trace, made):
        """The layers that have losses. MADE: the last mark, None if it is not known."""
        numbers, lost, any_lost = {}, {}, set()
        for line in self.run("report", "-f", "json", trace).splitlines():
            item = json.loads(line)
            layer = item["layer"]
            if "lost" in item:
                expect(item["lost"] is not None, trace, "does not know how many were lost:", line)
                # Of one before all that is kept of a CPU, it is not known since when it is.
                expect(item.get("cause") != "unreadable", trace, "has damage:", line)
                expect(item.get("since_ns", 0) <= item["time_ns"], trace, "has a loss that ends before it begins:", line)
                # What is kept may begin with a loss.
                any_lost.add(layer)
                lost[layer] = lost.get(layer, 0) + (item["lost"] if layer in numbers else 0)
                continue
            fields = item["fields"]
            found = re.search(r'"id": *"m(\d+)"', fields.get("req", ""))
            number = fields.get("number") or fields.get("who") or found and int(found.group(1))
            if number:
                numbers.setdefault(layer, []).append(number)
        for layer in self.about.layers:
            marks = numbers.get(layer, [])
            expect(marks and marks == sorted(set(marks)), trace, layer, "has no marks, or not in order")
            missing = (made or marks[-1]) - marks[0] + 1 - len(marks)
            # A snapshot may state what was lost after its last mark.
            expect(missing == lost.get(layer, 0) or not made and missing < lost[layer],
                   trace, layer, "misses", missing,
                   "and states", lost.get(layer, 0))
        return any_lost

    def wait_for_marks(self, what):
        until = self.about.made() + self.about.more
        wait_until(lambda: self.about.made() >= until, "marks " + what)

    def try_it(self):
        is_over = threading.Event()
        filler = threading.Thread(target=fill, args=(os.path.join(self.disk, "fill"), is_over))
        with open(self.err, "w+b") as err:
            recorder = subprocess.Popen([self.strata, "record", "--flight=1h", "-o", self.out, *self.about.options, "--",
                                         *self.about.command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err)
            try:
                self.about.begin(recorder)
                wait_until(lambda: self.about.made() > 1000, "the first marks")
                filler.start()
                wait_until(lambda: self.told("the disk is nearly full"), "the disk to be full")
                self.wait_for_marks("on a full disk")
                if self.about.message:
                    wait_until(lambda: self.told(self.about.message), self.about.message)
                is_over.set()
                filler.join()
                self.wait_for_marks("when there is space again")
                name = self.run("ctl", self.out, "snapshot").splitlines()[0]
                lost = self.check(name, None)
                for layer in self.about.layers:
                    expect(layer in lost, "nothing of", layer, "was lost on a full disk")
                self.about.end()
                recorder.wait(PATIENCE)
                self.check(self.out, self.about.made_in_all())
            finally:
                is_over.set()
                if recorder.poll() is None:
                    recorder.send_signal(signal.SIGTERM)
                    recorder.wait()

    def told(self, what):
        with open(self.err) as file:
            return what in file.read()


def main():
    with tempfile.TemporaryDirectory() as work:
        os.mkdir(os.path.join(work, "run"), 0o700)
        os.environ["XDG_RUNTIME_DIR"] = os.path.join(work, "run")
        os.environ["STRATA_TRACE"] = "*;ring=64k,subbuffer=8k"  # marks wait in their ring for space on the disk
        for kind in (Program, Kernel, Qemu):
            why_not = kind.why_not()
            if why_not:
                print("flight-full-disk: SKIPPED in part:", why_not, file=sys.stderr)
                continue
            disk = os.path.join(work, kind.__name__)
            os.mkdir(disk)
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + SIZE, "none", disk], check=True)
            try:
                test = FullDisk(disk, work, kind(work))
                test.try_it()
            except (Failure, subprocess.SubprocessError) as failure:
                with open(test.err) as file:
                    print(f"flight-full-disk: {kind.__name__}: {failure}\n{file.read()}", file=sys.stderr)
                return 1
            finally:
                subprocess.run(["umount", "-l", disk], check=True)
    return 0


sys.exit(main())
