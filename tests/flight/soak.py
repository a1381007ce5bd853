#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many snapshots in a row of one recording under load: nothing leaks, each can be read, and every loss is told.

    soak.py [--snapshots N]

$STRATA_BIN: the directory of the commands; $MARKS: runtime/marks.c. With $STRATA_TEST_LONG 1440 snapshots: one a minute for a
day, in some minutes.

A program makes numbered marks as fast as it can into rings of 64 KiB, and is recorded with the kernel of this machine. Now and
then the recorder stands still for a moment, so that marks are lost. Of each snapshot `strata summary` works, and what is missing
among its marks is no more than the losses that it has; of the whole recording both are the same. In the end the recorder has as
many descriptors, children and instances of the kernel's tracing as in the beginning, no more than 4 MiB of memory more, no
more on the disk than it is to keep, and no file that it did not say."""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from waiting import Failure, expect, wait_until  # noqa: E402

PATIENCE = 120
KEEP = 5  # snapshots; older ones are removed
LIMIT = 8  # MiB
MEMORY_MORE = 4096  # KiB


def children(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children") as file:
            found += [int(child) for child in file.read().split()]
    return found


def memory(pid):
    """KiB that are its own."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith(("Private_Clean", "Private_Dirty")))


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def used(path):
    """KiB on the disk, without snapshots."""
    blocks = 0
    for top, dirs, names in os.walk(path):
        if top == path and "snapshots" in dirs:
            dirs.remove("snapshots")
        blocks += sum(os.lstat(os.path.join(top, name)).st_blocks for name in names)
    return blocks // 2


class Soak:
    def __init__(self, work):
        self.work = work
        self.strata = os.path.join(os.environ["STRATA_BIN"], "strata")
        self.out = os.path.join(work, "trace")
        self.made = os.path.join(work, "made")
        self.has_host = (os.geteuid() == 0 and os.access("/sys/kernel/tracing/instances", os.W_OK) and
                         os.access(os.path.join(os.environ["STRATA_BIN"], "strata-agent"), os.X_OK))
        os.mkdir(os.path.join(work, "run"), 0o700)
        os.environ["XDG_RUNTIME_DIR"] = os.path.join(work, "run")
        os.environ["STRATA_TRACE"] = "*;ring=64k,subbuffer=8k"
        self.lost = 0

    def run(self, *words):
        done = subprocess.run([self.strata, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        expect(done.returncode == 0, *words, ": status", done.returncode, done.stderr)
        return done

    def losses(self, trace):
        """The missing numbers among the marks of TRACE, and the events that its records say are lost."""
        numbers, lost = [], 0
        for line in self.run("report", "-f", "json", "--source", "program", trace).stdout.splitlines():
            item = json.loads(line)
            if "lost" in item:
                expect(item["lost"] is not None, trace, "does not know how many were lost:", line)
                lost += item["lost"]
            else:
                numbers.append(item["fields"]["number"])
        expect(numbers and numbers == sorted(set(numbers)), trace, "has no marks, or not in order")
        return numbers[-1] - numbers[0] + 1 - len(numbers), lost, numbers

    def check(self, trace, least):
        with open(os.path.join(trace, "trace.json")) as file:
            for source in json.load(file)["sources"]:
                expect(source["complete"], trace, "is", source)
        self.run("summary", trace)
        missing, lost, numbers = self.losses(trace)
        expect(missing <= lost, trace, "misses", missing, "marks, and says that", lost, "were lost")
        expect(numbers[-1] + lost >= least, trace, "ends with", numbers[-1], "of", least)
        self.lost += lost

    def last_made(self):
        with open(self.made, "rb") as file:
            return int.from_bytes(file.read(8), sys.byteorder)

    def soak(self, snapshots):
        options = ["--event=host:sched:sched_switch"] if self.has_host else []
        with open(os.path.join(self.work, "err"), "w+b") as err:
            recorder = subprocess.Popen([self.strata, "record", f"--flight=60s,{LIMIT}M", "-o", self.out, *options, "--",
                                         os.environ["MARKS"], self.made, "20"], stderr=err)
            try:
                self.save_all(recorder.pid, snapshots)
                os.unlink(self.made)  # which ends the program
                recorder.wait(PATIENCE)
                expect(recorder.returncode == 0, "the recorder ended with", recorder.returncode)
            finally:
                if recorder.poll() is None:
                    for pid in children(recorder.pid) + [recorder.pid]:
                        os.kill(pid, signal.SIGKILL)
                    recorder.wait()
        self.run("summary", self.out)
        expect(not os.path.exists(os.path.join(self.out, "control.sock")), "the socket is left")
        if snapshots < 30:  # nothing was released
            missing, lost, numbers = self.losses(self.out)
            with open(os.path.join(self.out, "trace.json")) as file:
                counted = sum(source["lost"] for source in json.load(file)["sources"] if source["name"] == "program")
            expect(numbers[0] > 1 or missing == lost == counted, "missing:", missing, "lost:", lost, "counted:", counted)

    def save_all(self, pid, snapshots):
        wait_until(lambda: os.path.exists(os.path.join(self.out, "program/stream-0")) and
                   os.path.exists(os.path.join(self.out, "control.sock")), "the first events")
        before = None
        folder = os.path.join(self.out, "snapshots")
        for n in range(snapshots):
            if n % 4 == 2:
                os.kill(pid, signal.SIGSTOP)
                made = self.last_made()
                wait_until(lambda: self.last_made() > made + 4000, "marks while the recorder stands still")
                os.kill(pid, signal.SIGCONT)
            made = self.last_made()
            self.check(self.run("ctl", self.out, "snapshot", f"s{n}").stdout.strip(), made)
            expect(sorted(os.listdir(folder)) == sorted(f"s{i}" for i in range(max(0, n - KEEP), n + 1)), "there are", os.listdir(folder))
            if n >= KEEP:
                shutil.rmtree(os.path.join(folder, f"s{n - KEEP}"))
            if n == min(3, snapshots // 2):
                before = descriptors(pid), len(children(pid)), memory(pid)
        # The recorder has a file open for a moment now and then.
        wait_until(lambda: descriptors(pid) <= before[0] and len(children(pid)) <= before[1],
                   f"no more than {before[0]} descriptors and {before[1]} children")
        # One that had no CPU for a while has more for a moment, and releases what it has just written afterwards.
        wait_until(lambda: memory(pid) <= before[2] + MEMORY_MORE or os.environ.get("SANITIZED"), # which keep what was freed
                   f"no more than {before[2]} KiB of memory and {MEMORY_MORE}")
        wait_until(lambda: used(self.out) <= LIMIT * 1024 + 4096, f"no more than {LIMIT} MiB and 4 that are kept")
        after, kept = memory(pid), used(self.out)
        print(f"{snapshots} snapshots, {self.last_made()} marks, {self.lost} losses told; descriptors {before[0]}, "
              f"memory {before[2]} and then {after} KiB, kept {kept} KiB")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--snapshots", type=int, default=1440 if os.environ.get("STRATA_TEST_LONG") else 8)
    options = parser.parse_args()
    work = tempfile.mkdtemp(prefix="strata-soak-")
    soak = Soak(work)
    try:
        soak.soak(options.snapshots)
        expect(soak.lost > 0, "nothing was lost, so that nothing was tried")
    except Failure as failure:
        with open(os.path.join(work, "err"), errors="replace") as err:
            print(f"{failure}\nits recorder says: {err.read()}\nfiles: {work}")
        sys.exit(1)
    shutil.rmtree(work)
    if not soak.has_host:
        print("SKIPPED in part: only root may trace this machine's kernel")
        sys.exit(77)


main()
