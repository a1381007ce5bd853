#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills recorders, and what they record, with SIGKILL at random moments while they record with --flight and save snapshots.

    kills.py [--kills N] [--seed N] [-v]

$STRATA_BIN: the directory of the commands; $MARKS: runtime/marks.c. What must be so after each kill:

 - the directory can be read, in the order of time, and so can each snapshot that has its name;
 - what is kept of the program's marks, with what `strata recover` finds, has no gap, and goes up to the last mark that the
   program had made when it was killed;
 - a snapshot has all marks, of each layer, that were made before it was asked for, and after a kill the directory has them too;
 - QEMU's marks have no gap, nor have the kernel's of one CPU: what a snapshot or a kill leaves in the kernel is another piece of
   time on each CPU, so that the program, which moves from CPU to CPU, has marks missing between two that are there;
 - if what is recorded was killed and its recorder was not, all of its marks are there, and the trace is complete;
 - no process and no instance of the kernel's tracing is left.

With $STRATA_TEST_LONG 500 kills. A failure prints the seed, and leaves its files."""

import argparse
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from waiting import Failure, expect, wait_until  # noqa: E402

INSTANCES = "/sys/kernel/tracing/instances"
PATIENCE = 120
# A source that did not hand over what it held within the second that a snapshot waits for it.
LATE = "did not send them within a second"
INCOMPLETE = "is incomplete: its recorder was killed"
MISSING = "may be missing"
NO_PAGES = "no tracefs copy"
KILLED = "was killed by signal 9"
ENDED = ", before the snapshot"
MARKS_PER_CPU = 5  # before the program moves on
CPUS = sorted(os.sched_getaffinity(0))


def cpu_of(mark):
    """Where the program makes it."""
    return CPUS[(mark - 1) // MARKS_PER_CPU % len(CPUS)]


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def descendants(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                for child in file.read().split():
                    found += [int(child)] + descendants(int(child))
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Program:
    """runtime/marks.c."""

    name = "program"
    layers = ("vmm", "host")

    def __init__(self, kills, out, rng):
        self.file = os.path.join(kills.work, "made")
        if os.path.exists(self.file):
            os.unlink(self.file)
        self.command = [kills.marks, self.file, str(rng.choice((100, 300, 1000, 3000))), "0",
                        str(MARKS_PER_CPU)]
        self.options = []
        self.stdin = subprocess.DEVNULL
        self.out = out

    def begin(self, recorder):
        pass

    def made(self):
        try:
            with open(self.file, "rb") as file:
                return struct.unpack("=Q", file.read(8).rjust(8, b"\0"))[0]
        except FileNotFoundError:
            return 0

    def is_target(self, name, words):
        # It has the name of its last mark.
        return name == "marks" or re.fullmatch(r"m\d+", name)

    def end(self):
        pass


class Qemu:
    """A QEMU without a machine: each command of QMP is a mark."""

    name = "vmm"
    layers = ("vmm",)

    def __init__(self, kills, out, rng):
        self.command = ["qemu-system-x86_64", "-machine", "none", "-nodefaults", "-display", "none", "-qmp", "stdio"]
        self.options = ["-e", "handle_qmp_command"]
        self.stdin = subprocess.PIPE
        self.out = out
        self.answered = 0
        self.pause = rng.choice((0, 0.0003, 0.002))
        self.thread = None

    def begin(self, recorder):
        self.thread = threading.Thread(target=self.drive, args=(recorder,))
        self.thread.start()

    def drive(self, recorder):
        number = 0
        try:
            recorder.stdin.write(b'{"execute":"qmp_capabilities"}\n')
            recorder.stdin.flush()
            while True:
                number += 1
                recorder.stdin.write(b'{"execute":"query-version","id":"m%d"}\n' % number)
                recorder.stdin.flush()
                line = b""
                while f'"m{number}"'.encode() not in line:
                    line = recorder.stdout.readline()
                    if not line:
                        return
                self.answered = number
                time.sleep(self.pause)
        except (OSError, ValueError):
            pass

    def made(self):
        return self.answered

    def is_target(self, name, words):
        return name.startswith("qemu") and "-qmp" in words and "-S" not in words # that the recorder asks what it can do

    def end(self):
        if self.thread:
            self.thread.join(PATIENCE)


class Kills:
    def __init__(self, work, verbose):
        self.work = work
        self.verbose = verbose
        self.strata = os.path.join(os.environ["STRATA_BIN"], "strata")
        self.marks = os.environ["MARKS"]
        self.has_host = (os.geteuid() == 0 and os.access(INSTANCES, os.W_OK) and
                         os.access(os.path.join(os.environ["STRATA_BIN"], "strata-agent"), os.X_OK))
        self.has_qemu = shutil.which("qemu-system-x86_64") is not None
        self.skipped = []
        if not self.has_host:
            self.skipped.append("only root may trace this machine's kernel")
        if not self.has_qemu:
            self.skipped.append("qemu-system-x86_64 is not installed")
        self.counts = {}
        self.victim = None
        self.rings_before = {}
        os.environ["XDG_RUNTIME_DIR"] = os.path.join(work, "run")
        os.mkdir(os.environ["XDG_RUNTIME_DIR"], 0o700)

    def count(self, what, n=1):
        self.counts[what] = self.counts.get(what, 0) + n

    # ---- What is in a trace ----

    def marks_of(self, trace, may_be_incomplete, targets):
        """{layer: numbers of the marks, in the order of the trace}; the kernel's are where they were made"""
        report = subprocess.run([self.strata, "report", "-f", "json", trace],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        has_kernel = True
        marks = {"vmm": [], "host": []}
        for line in report.stderr.splitlines():
            if NO_PAGES in line and not self.pages_of(trace):
                has_kernel = False
                self.count("before the kernel's first page")
                continue
            is_of_kill = KILLED in line or ENDED in line and self.victim != "recorder"
            is_of_snapshot = LATE in line and any(self.is_late(self.manifest(trace), layer) for layer in marks)
            expect(is_of_kill or is_of_snapshot or may_be_incomplete and (INCOMPLETE in line or MISSING in line),
                   trace, "says:", line)
        expect(report.returncode == 0 or not has_kernel, trace, ": exit status", report.returncode, report.stderr)
        last = -1
        for line in report.stdout.splitlines():
            item = json.loads(line)
            # Where the data of a CPU end whose recorder was killed.
            if may_be_incomplete and item.get("lost", 0) is None:
                continue
            expect("lost" not in item, trace, "lost", line)
            expect(item["time_ns"] >= last, trace, "is not in order:", line)
            last = item["time_ns"]
            fields = item["fields"]
            if item["event"] == "mark":
                marks["vmm"].append(fields["number"])
            elif item["event"] == "task_rename":
                found = re.fullmatch(r"m(\d+)", fields["newcomm"])
                if found and item.get("pid") in targets: # other tests have such programs, too
                    number = int(found[1])
                    expect(item["cpu"] == cpu_of(number), trace, "has mark", number, "on another CPU:", line)
                    marks["host"].append(number)
            elif item["event"] == "handle_qmp_command":
                found = re.search(r'"m(\d+)"', fields.get("text", "") or json.dumps(fields).replace("\\", ""))
                if found:
                    marks["vmm"].append(int(found[1]))
        return marks

    def pages_of(self, trace):
        """Bytes of the kernel's pages."""
        return sum(os.path.getsize(os.path.join(trace, "host", name)) for name in os.listdir(os.path.join(trace, "host"))
                   if name.endswith(".raw"))

    def manifest(self, trace):
        try:
            with open(os.path.join(trace, "trace.json")) as file:
                return json.load(file)
        except FileNotFoundError:
            return None

    def is_late(self, manifest, layer):
        return any(LATE in problem for source in manifest["sources"] if source["layer"] == layer
                   for problem in source.get("problems", []))

    def check_whole(self, what, numbers, least, from_first, cpu=None):
        """NUMBERS, or those that were made on CPU, have no gap, and the last is LEAST or later."""
        def is_of(number):
            return cpu is None or cpu_of(number) == cpu

        numbers = [number for number in numbers if is_of(number)]
        least = next((number for number in range(least, 0, -1) if is_of(number)), 0)
        if not numbers:
            expect(least == 0, what, "has no marks; at least", least, "were made")
            return
        made = [number for number in range(1 if from_first else numbers[0], numbers[-1] + 1) if is_of(number)]
        expect(numbers == made, what, "has a gap, or begins late: misses", sorted(set(made) - set(numbers))[:5], "before",
               numbers[-1])
        expect(numbers[-1] >= least, what, "ends with mark", numbers[-1], "of", least)

    def check_layer(self, what, layer, numbers, least, from_first):
        """As check_whole(), with LEAST of each CPU if the layer is the kernel's."""
        if layer == "host":
            for cpu in CPUS:
                self.check_whole(f"{what}, CPU {cpu}", numbers, least[cpu], from_first, cpu)
        else:
            self.check_whole(what, numbers, least, from_first)

    def rings(self):
        """{directory: PID} of what killed programs left. There may be some of other tests and of former days, of any PID."""
        left = subprocess.run([self.strata, "recover"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout
        return {line.split()[-1]: int(line.split()[0]) for line in left.splitlines()[1:]}

    def rings_of(self, pid):
        """Those that were not there before this kill."""
        return sorted(path for path, of in self.rings().items() if of == pid and path not in self.rings_before)

    # ---- One kill ----

    def save(self, out, target, saved, stop):
        """Snapshots, one after the other."""
        n = 0
        while not stop.is_set():
            n += 1
            before = target.made()
            done = subprocess.run([self.strata, "ctl", out, "snapshot", f"s{n}"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
            if done.returncode == 0:
                saved.append((done.stdout.strip(), before))
            elif not stop.is_set():
                time.sleep(0.02)

    def run_one(self, rng, number):
        out = os.path.join(self.work, "trace")
        for old in os.listdir(self.work):
            if old.startswith(("trace", "strata-")):
                shutil.rmtree(os.path.join(self.work, old))
        self.rings_before = self.rings()
        uses_qemu = self.has_qemu and number % 10 == 0
        target = (Qemu if uses_qemu else Program)(self, out, rng)
        limit = rng.choice(("60s", "10s", "64K", "256K"))
        victim = self.victim = rng.choice(("recorder", "recorder", "both", "recorded"))
        is_early = rng.random() < 0.2
        options = ["--event=host:task:task_rename"] if self.has_host else []
        self.saying = f"{target.name} --flight={limit}, {victim}{', early' if is_early else ''}"
        err = open(os.path.join(self.work, "err"), "w+b")
        recorder = subprocess.Popen([self.strata, "record", f"--flight={limit}", "-o", out, *options, *target.options, "--",
                                     *target.command], stdin=target.stdin, stdout=subprocess.PIPE, stderr=err, cwd=self.work)
        stop = threading.Event()
        saved = []
        saver = threading.Thread(target=self.save, args=(out, target, saved, stop))
        try:
            target.begin(recorder)
            if not is_early:
                wait_until(lambda: target.made() > 0 or recorder.poll() is not None, "the first mark")
            saver.start()
            time.sleep(rng.random() * (0.5 if is_early else 1.5))
            expect(recorder.poll() is None, "the recorder ended by itself")
            family = descendants(recorder.pid)
            targets = [pid for pid in family if self.comm_matches(pid, target)]
            if victim != "recorded" or not targets:
                recorder.kill()
            if victim != "recorder":
                for pid in targets:
                    kill(pid)
            made = target.made()
            stop.set()
            saver.join(PATIENCE)
            # What is recorded outlives its recorder, until here.
            for pid in targets:
                kill(pid)
            made = max(made, target.made() if victim != "recorded" else made)
            recorder.wait(PATIENCE)
            try:
                recorder.stdin and recorder.stdin.close()
            except BrokenPipeError:
                pass
            for pid in set(family):
                wait_until(lambda: self.has_ended(pid, target, targets), f"the end of process {pid}")
            made = max(made, target.made() if victim != "recorded" else made)
            target.end()
            if self.has_host:
                wait_until(lambda: not [name for name in os.listdir(INSTANCES)
                                        if any(f"-{pid}-" in name for pid in family)], "an instance is left")
        finally:
            stop.set()
            if recorder.poll() is None:
                recorder.kill()
                recorder.wait()
            for pid in descendants(os.getpid()):
                if self.comm_matches(pid, target):
                    kill(pid)
            recorder.stdout.close()
            err.close()
        expect(is_early or targets and made, "no mark was made")
        self.check(out, target, limit, victim, targets, made, saved)
        self.count("kills")
        self.count(f"of {target.name}")
        self.count("snapshots", len(saved))

    def has_ended(self, pid, target, targets):
        """A child that was to execute the program when its recorder was killed does so now."""
        if self.comm_matches(pid, target) and pid not in targets:
            targets.append(pid)
            kill(pid)
        return not is_alive(pid)

    def comm_matches(self, pid, target):
        try:
            with open(f"/proc/{pid}/comm") as comm, open(f"/proc/{pid}/cmdline") as command:
                return target.is_target(comm.read().strip(), command.read().split("\0"))
        except (FileNotFoundError, ProcessLookupError):
            return False

    def check(self, out, target, limit, victim, targets, made, saved):
        from_first = limit == "60s"
        manifest = self.manifest(out)
        if manifest is None:
            expect(not saved, "there are snapshots and no manifest")
            expect(not targets, "no manifest, and a program was started")
            self.count("before the manifest")
            return
        # Each snapshot, whether or not there was anybody left to be answered.
        folder = os.path.join(out, "snapshots")
        least = {"vmm": 0, "host": dict.fromkeys(CPUS, 0)}
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            if name.startswith("."):
                self.count("unfinished snapshots")
                continue
            path = os.path.join(folder, name)
            before = dict(saved).get(path, 0)
            of_snapshot = self.manifest(path)
            expect(of_snapshot and all(source["complete"] for source in of_snapshot["sources"]), path, "is", of_snapshot)
            marks = self.marks_of(path, False, targets)
            for layer in target.layers if self.has_host else target.layers[:1]:
                is_late = self.is_late(of_snapshot, layer)
                self.count("late", is_late)
                asked = 0 if is_late else before
                self.check_layer(f"{path}: {layer}", layer, marks[layer],
                                 dict.fromkeys(CPUS, asked) if layer == "host" else asked, from_first)
            least["vmm"] = max([least["vmm"]] + marks["vmm"][-1:])
            for number in marks["host"]:
                least["host"][cpu_of(number)] = max(least["host"][cpu_of(number)], number)
        # What the rings still hold comes to the rest.
        recovered = []
        rings = self.rings_of(targets[0]) if target.name == "program" and targets else []
        if rings:
            def recover():
                """Unless another test's recorder, which has begun since, is at it."""
                done = subprocess.run([self.strata, "recover", *rings], cwd=self.work, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True)
                return None if "another strata is reading these rings" in done.stdout else done
            done = wait_until(recover, "the end of another recorder's work on the rings")
            self.count("recovered", done.returncode == 0)
            self.saying += f"; recover: {done.stdout.strip()}"
            # If the recorder had not found the program yet, the trace is a new one.
            own = os.path.join(self.work, f"strata-{targets[0]}")
            if os.path.isdir(own):
                self.count("before it was found")
                recovered = self.marks_of(own, True, targets)["vmm"]
        marks = self.marks_of(out, not (victim == "recorded" and targets), targets)
        if target.name == "program":
            least["vmm"] = made
        elif victim == "recorded" and targets:
            least["vmm"] = made
        if victim == "recorded" and targets:
            expect(all(source["complete"] for source in self.manifest(out)["sources"]), "is not complete:", self.manifest(out))
            least["host"] = dict.fromkeys(CPUS, made)
        self.check_whole("the program", sorted(set(marks["vmm"] + recovered)), least["vmm"], from_first)
        expect(len(set(marks["vmm"])) == len(marks["vmm"]), "a mark is there twice")
        if self.has_host and "host" in target.layers:
            self.check_layer("the host", "host", marks["host"], least["host"], from_first)
        wait_until(lambda: not targets or not self.rings_of(targets[0]), "the end of the rings")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=500 if os.environ.get("STRATA_TEST_LONG") else 10)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("STRATA_TEST_SEED", time.time_ns() % 1_000_000)))
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    work = tempfile.mkdtemp(prefix="strata-kills-")
    kills = Kills(work, options.verbose)
    began = time.monotonic()
    for n in range(options.kills):
        kills.saying = ""
        try:
            kills.run_one(random.Random(options.seed + n), options.seed + n)
        except Failure as failure:
            with open(os.path.join(work, "err"), errors="replace") as err:
                print(f"kill {n} ({kills.saying}): {failure}\nits recorder says: {err.read()}\n"
                      f"files: {work}; again: STRATA_TEST_SEED={options.seed + n} kills.py --kills 1")
            sys.exit(1)
        if options.verbose:
            print(f"kill {n} ({kills.saying}), {time.monotonic() - began:.0f} s", flush=True)
    print(", ".join(f"{what}: {count}" for what, count in kills.counts.items()))
    shutil.rmtree(work)
    if kills.skipped:
        print("SKIPPED in part:", "; ".join(kills.skipped))
        sys.exit(77)


main()
