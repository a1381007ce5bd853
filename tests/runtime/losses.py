#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every way in which a traced program may lose events: emitted = written + counted + recoverable.

    losses.py [NAME...]      the cases whose names begin with one of these; all

$LOSSES has the paths of tests/runtime/losses.c as it was linked in each way, with ':' between them; $STRATA_BIN
is the directory of strata. Streams are read here, not by Strata: records must be whole, each of an event that
was emitted, and each at most once."""

import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

PROGRAMS = os.environ["LOSSES"].split(":")
STRATA = os.path.join(os.environ["STRATA_BIN"], "strata")
HEADER = struct.Struct("<I16sIQQQQQQII16s")
RECORD = struct.Struct("<QQQ")
THREADS_MAX = 256
TIMEOUT = 300


class Wrong(Exception):
    """What does not hold."""


class Trace:
    """The events and the counts of losses of all streams below a directory."""

    def __init__(self, path):
        self.events = set()
        self.discarded = 0
        for directory, _, names in os.walk(path):
            for name in sorted(names):
                if name.startswith("stream-"):
                    self.read(os.path.join(directory, name))

    def read(self, path):
        with open(path, "rb") as f:
            data = f.read()
        at, discarded, time = 0, 0, 0
        while at < len(data):
            if len(data) - at < HEADER.size:
                raise Wrong(f"{path}: a packet is cut")
            magic, _, _, begin, end, content, size, _, lost, *_ = HEADER.unpack_from(data, at)
            if magic != 0xC1FC1FC1 or at + size // 8 > len(data) or content > size:
                raise Wrong(f"{path}: not a packet at {at}")
            if begin < time or end < begin or lost < discarded:
                raise Wrong(f"{path}: times or losses go back at {at}")
            time, discarded = end, lost
            records = data[at + HEADER.size : at + content // 8]
            if len(records) % RECORD.size:
                raise Wrong(f"{path}: a record is cut at {at}")
            for _, thread, n in RECORD.iter_unpack(records):
                if (thread, n) in self.events:
                    raise Wrong(f"{path}: event {n} of thread {thread} is there twice")
                self.events.add((thread, n))
            at += size // 8
        self.discarded += discarded


class Run:
    """A run of the program in a directory of its own, and what is left of it."""

    def __init__(self, program, directory):
        self.program = program
        self.directory = directory
        self.rings = os.path.join(directory, "rings")
        self.trace = os.path.join(directory, "trace")
        self.status, self.errors, self.counts = None, "", []

    def start(self, options, trace_options=None, environment=None, cwd=None, rings=True):
        os.makedirs(self.rings, exist_ok=True)
        counts = os.path.join(self.directory, "counts")
        if trace_options is None:
            trace_options = [f"ctf={self.trace}"]
        argv = [self.program]
        if rings:
            argv += ["-t", f"rings={self.rings}"]
        for option in trace_options:
            argv += ["-t", option]
        if trace_options:
            argv += ["-t", "*"]
        env = {k: v for k, v in os.environ.items() if k != "STRATA_TRACE"}
        env.update(environment or {})
        with open(os.path.join(self.directory, "errors"), "w+", encoding="utf-8") as errors:
            process = subprocess.Popen(
                argv + options + [counts], stdin=subprocess.DEVNULL, stdout=errors, stderr=errors,
                env=env, cwd=cwd or self.directory,
            )  # fmt: skip
            try:
                self.status = process.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise Wrong(f"does not end: {' '.join(argv + options)}") from None
            errors.seek(0)
            self.errors = errors.read()
        with open(counts, "rb") as f:
            self.counts = list(struct.iter_unpack("<QQ", f.read()))
        return self

    def begun(self):
        return sum(begun for begun, _ in self.counts)

    def done(self):
        return sum(done for _, done in self.counts)

    def recover(self):
        """What `strata recover` makes of the rings that are left: how many events it reports as lost."""
        lost = 0
        for name in os.listdir(self.rings):
            done = subprocess.run(
                [STRATA, "recover", os.path.join(self.rings, name)],
                capture_output=True, text=True, check=False, cwd=self.directory,
            )  # fmt: skip
            if done.returncode != 0:
                raise Wrong(f"strata recover: {done.stderr}")
            lost += sum(
                int(n) for n in re.findall(r"(\d+) events were lost.*got no ring", done.stderr)
            )
        if os.listdir(self.rings):
            raise Wrong(f"rings are left: {os.listdir(self.rings)}")
        return lost

    def check(self, status=0, nothing_lost=False, kept=None):
        """Written + recovered + counted must be what was emitted."""
        if self.status != status:
            raise Wrong(f"ended with {self.status}, not {status}: {self.errors}")
        left = bool(os.listdir(self.rings))
        if kept is not None and left != kept:
            raise Wrong(f"rings are {'' if left else 'not '}kept: {self.errors}")
        reported = self.recover()
        reported += sum(int(n) for n in re.findall(r"(\d+) events (?:are|were) lost", self.errors))
        trace = Trace(self.directory)
        for thread, n in trace.events:
            if n >= self.counts[thread][0]:
                raise Wrong(f"event {n} of thread {thread} was never emitted")
        found = len(trace.events) + trace.discarded + reported
        if not self.done() <= found <= self.begun():
            raise Wrong(
                f"{self.begun()} were emitted, {len(trace.events)} are written or recovered, "
                f"{trace.discarded} counted in the trace, {reported} on standard error: {self.errors}"
            )
        if nothing_lost and len(trace.events) != self.begun():
            raise Wrong(f"{self.begun() - len(trace.events)} events are lost: {self.errors}")
        return trace


def ends_by_pthread_exit(make):
    """The library's threads keep no process alive whose own threads are gone."""
    for how in (["ctf=trace"], ["ctf=trace", "control=off"], ["writer=none"],
                ["writer=none", "control=off"], ["ctf=trace", "log=log"], ["simple=simple"],
                ["ctf=trace", "snapshot-signal=USR2"], ["ctf=trace", "mode=overwrite"]):  # fmt: skip
        for more in ([], ["-T", "3"]):
            run = make(how + more)
            run.start(["-e", "pthread_exit", *more], how)
            if "simple=simple" not in how:
                run.check(kept="writer=none" in how, nothing_lost="writer=none" not in how)
            elif run.status != 0:
                raise Wrong(f"ended with {run.status}")
    run = make("without events")
    run.start(["-e", "pthread_exit", "-n", "0"], [])
    run.check()


def has_a_default_sink(make):
    """STRATA_TRACE='*' writes a trace, whichever constructor runs first."""
    run = make("STRATA_TRACE=*")
    run.start([], [], {"STRATA_TRACE": "*"}, rings=False)
    run.check(nothing_lost=True)


CASES = [ends_by_pthread_exit, has_a_default_sink]


def main():
    failed = 0
    parent = tempfile.mkdtemp(prefix="losses-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    try:
        for case in CASES:
            if sys.argv[1:] and not any(case.__name__.startswith(a) for a in sys.argv[1:]):
                continue
            for program in PROGRAMS:
                what = [""]

                def make(name, what=what, program=program):
                    what[0] = str(name)
                    return Run(program, tempfile.mkdtemp(dir=parent))

                try:
                    case(make)
                    print(f"ok {case.__name__} {os.path.basename(os.path.dirname(program))}", flush=True)
                except Wrong as wrong:
                    failed += 1
                    print(f"FAILED {case.__name__} {os.path.basename(os.path.dirname(program))} {what[0]}: {wrong}",
                          flush=True)  # fmt: skip
    finally:
        shutil.rmtree(parent, ignore_errors=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
