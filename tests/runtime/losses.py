#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every way in which a traced program may lose events: emitted = written + counted + recoverable.

    losses.py [NAME...]      the cases whose names begin with one of these; all

$LOSSES has the paths of tests/runtime/losses.c as it was linked in each way, with ':' between them; $STRATA_BIN
is the directory of strata. Streams are read here, not by Strata: records must be whole, each of an event that
was emitted, and each at most once."""

import array
import collections
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

PROGRAMS = os.environ["LOSSES"].split(":")
STRATA = os.path.join(os.environ["STRATA_BIN"], "strata")
HEADER = struct.Struct("<I16sIQQQQQQII16s")
RECORD_BYTES = 24  # header word, thread, number
THREADS_MAX = 256
TIMEOUT = 300


class Wrong(Exception):
    """What does not hold."""


def by_thread(threads, numbers):
    """The numbers of each thread; nearly always a packet has those of one."""
    if not threads:
        return
    if threads.count(threads[0]) == len(threads):
        yield threads[0], numbers
    else:
        for thread in set(threads):
            yield thread, [n for t, n in zip(threads, numbers) if t == thread]


class Trace:
    """The events and the counts of losses of all streams below a directory."""

    def __init__(self, path):
        self.events = collections.defaultdict(set)  # their numbers, by thread
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
            if len(records) % RECORD_BYTES:
                raise Wrong(f"{path}: a record is cut at {at}")
            words = array.array("Q", records)
            for thread, events in by_thread(words[1::3], words[2::3]):
                self.add(path, thread, events)
            at += size // 8
        self.discarded += discarded

    def add(self, path, thread, numbers):
        known = self.events[thread]
        before = len(known)
        known.update(numbers)
        if len(known) != before + len(numbers):
            raise Wrong(f"{path}: events of thread {thread} are there twice, of {min(numbers)} to {max(numbers)}")

    def count(self):
        return sum(len(numbers) for numbers in self.events.values())

    def read_simple(self, path):
        data = b""
        if os.path.exists(path):
            with open(path, "rb") as f:
                data = f.read()
        at = 24
        while at < len(data):
            kind, number = struct.unpack_from("<QQ", data, at)
            if kind == 0:
                at += 20 + struct.unpack_from("<I", data, at + 16)[0]
                continue
            length = struct.unpack_from("<I", data, at + 24)[0]
            arguments = struct.unpack_from("<QQ" if number < 1 << 32 else "<Q", data, at + 32)
            if number < 1 << 32:
                self.events[arguments[0]].add(arguments[1])
            else:
                self.discarded += arguments[0]
            at += 8 + length
        if at != max(24, len(data)):
            raise Wrong(f"{path}: a record is cut")


class Run:
    """A run of the program in a directory of its own, and what is left of it."""

    def __init__(self, program, directory):
        self.program = program
        self.directory = directory
        self.rings = os.path.join(directory, "rings")
        self.trace = os.path.join(directory, "trace")
        self.status, self.errors, self.counts = None, "", []

    def start(self, options, trace_options=None, environment=None, rings=True):
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
        try:
            done = subprocess.run(
                argv + options + [counts], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                check=False, timeout=TIMEOUT, env=env, cwd=self.directory,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Wrong(f"does not end: {' '.join(argv + options)}") from None
        self.status, self.errors = done.returncode, done.stderr
        # A program that was killed before main() has none.
        if os.path.exists(counts):
            with open(counts, "rb") as f:
                self.counts = list(struct.iter_unpack("<QQ", f.read()))
        return self

    def begun(self):
        return sum(begun for begun, _ in self.counts)

    def done(self):
        return sum(done for _, done in self.counts)

    def recover(self):
        """What `strata recover` makes of the rings that are left: how many events it reports as lost, and in no
        trace."""
        done = subprocess.run(
            [STRATA, "recover", self.rings],
            capture_output=True, text=True, check=False, cwd=self.directory,
        )  # fmt: skip
        if done.returncode != 0:
            raise Wrong(f"strata recover: {done.stderr}")
        lost = 0
        if " trace " not in done.stdout:
            lost = sum(int(n) for n in re.findall(r"(\d+) events were lost.*got no ring", done.stderr))
        if os.listdir(self.rings):
            raise Wrong(f"rings are left: {os.listdir(self.rings)}")
        return lost

    def check(self, status=0, nothing_lost=False, kept=None, simple=None, late=0, repeated=False):
        """Written + recovered + counted must be what was emitted; REPEATED: or more, as what has no ring is reported by
        the program and with what is recovered."""
        if self.status != status:
            raise Wrong(f"ended with {self.status}, not {status}: {self.errors}")
        left = bool(os.listdir(self.rings))
        if kept is not None and left != kept:
            raise Wrong(f"rings are {'' if left else 'not '}kept: {self.errors}")
        reported = self.recover()
        reported += sum(int(n) for n in re.findall(r"(\d+) events are lost", self.errors))
        trace = Trace(self.directory)
        if simple:
            trace.read_simple(simple)
        for thread, numbers in trace.events.items():
            if max(numbers) >= self.counts[thread][0]:
                raise Wrong(f"event {max(numbers)} of thread {thread} was never emitted")
        found = trace.count() + trace.discarded + reported
        if not self.done() - late <= found or (found > self.begun() and not repeated):
            raise Wrong(
                f"{self.begun()} were emitted, {trace.count()} are written or recovered, "
                f"{trace.discarded} counted in the trace, {reported} on standard error: {self.errors}"
            )
        if nothing_lost and trace.count() != self.begun():
            raise Wrong(f"{self.begun() - trace.count()} events are lost: {self.errors}")
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


def cannot_make_files(make):
    """Threads that come when no file can be made any more: other user, other root, no descriptors."""
    for how in (["-u", "65534"], ["-r", "{}"], ["-N", "4"], ["-N", "5"], ["-N", "6"], ["-N", "8"], ["-N", "12"]):
        for more in ([], ["-f"], ["-T", "4"], ["-T", "4", "-f"], ["-T", "2", "-n", "300000"],
                     ["-T", "2", "-f", "-e", "pthread_exit"]):  # fmt: skip
            run = make(how + more)
            options = [o.format(run.directory) for o in how]
            if options[0] == "-r":
                os.mkdir(os.path.join(run.directory, "root"))
                options[1] = os.path.join(run.directory, "root")
            if os.geteuid() != 0 and how[0] in ("-u", "-r"):
                continue
            # pthread_exit() of a dynamic program loads libgcc_s.so, which it may not find or open then.
            if how[0] != "-u" and "pthread_exit" in more and "/static/" not in run.program:
                continue
            run.start(options + more)
            run.check()


def files_are_small(make):
    """RLIMIT_FSIZE."""
    for size in (0x100, 1000, 5000, 20000, 100000, 300000, 5000000):
        for more in ([], ["-f"], ["-T", "3", "-n", "20000"], ["-n", "300000"]):
            run = make([size] + more)
            run.start(["-F", str(size)] + more)
            run.check()


def memory_is_short(make):
    """RLIMIT_AS."""
    for size in (0x1000, 300000, 1000000, 3000000, 10000000, 40000000, 100000000):
        for more in ([], ["-f"], ["-f", "-n", "300000"]):
            run = make([size] + more)
            run.start(["-V", str(size)] + more)
            run.check()


def disk_is_full(make):
    """A file system that is full until the program ends, or from the beginning."""
    if os.geteuid() != 0:
        return
    for size in ("4k", "16k", "300k", "1100k"):
        for options in (["-n", "20000"], ["-T", "3", "-n", "7000"], ["-n", "400000"]):
            for sink in ("ctf", "simple", "both", "unnamed"):
                run = make([size, sink] + options)
                disk = os.path.join(run.directory, "disk")
                os.mkdir(disk)
                done = subprocess.run(
                    ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk],
                    check=False, capture_output=True,
                )  # fmt: skip
                if done.returncode != 0:
                    print("cannot mount a small file system: skipped")
                    return
                try:
                    sinks = {
                        "ctf": [f"ctf={disk}/trace"],
                        "simple": [f"simple={disk}/simple"],
                        "both": [f"ctf={disk}/trace,simple=/dev/null"],
                        "unnamed": [f"rings=-,ctf={disk}/trace"],
                    }
                    run.start(options, sinks[sink])
                    subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
                    run.check(simple=f"{disk}/simple" if sink == "simple" else None)
                finally:
                    subprocess.run(["umount", "-l", disk], check=False)


LOG_LINE = re.compile(r"(?:\d+@\d+\.\d+:)?(?:(losses_event thread 0 n \d+)|(\d+) events were dropped|.*\.\.\.)|losses: .*")


def log_is_full_once(run, log, options, grow, shared):
    """A log that has no more room until GROW(pid): whole lines, and all losses are counted in it."""
    argv = [run.program, "-e", "again", "-n", "3000", *options, "-t", "rings=-"]
    argv += ["-t", "*,log" if shared else f"*,log={log}"]
    with open(os.devnull if not shared else log, "w", encoding="utf-8") as err:
        program = subprocess.Popen(
            argv + [os.path.join(run.directory, "counts")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, text=True, cwd=run.directory,
        )  # fmt: skip
    if program.stdout.readline() != "flushed\n":
        raise Wrong(f"ended with {program.wait()}: {argv}")
    size = os.path.getsize(log)
    grow(program.pid)
    program.communicate(timeout=TIMEOUT)
    if program.returncode != 0:
        raise Wrong(f"ended with {program.returncode}: {argv}")
    events, dropped = set(), 0
    with open(log, encoding="utf-8") as f:
        lines = f.read().split("\n")
    if lines.pop() != "" or os.path.getsize(log) <= size:
        raise Wrong(f"the last line is torn: {argv}")
    for number, line in enumerate(lines):
        match = LOG_LINE.fullmatch(line)
        if not match:
            raise Wrong(f"line {number + 1} is torn: {line}")
        events.add((number, match[1])) if match[1] else None
        dropped += int(match[2] or 0)
    if dropped == 0 or len(events) + dropped != 6000:
        raise Wrong(f"6000 were emitted, {len(events)} are there, {dropped} counted: {argv}")
    done = subprocess.run([STRATA, "report", "--strict", log], capture_output=True, text=True, check=False)
    if done.returncode != 3 or f"{dropped} events were lost" not in done.stderr:
        raise Wrong(f"strata report ended with {done.returncode}: {done.stderr}")


def log_is_full(make):
    """A log on a full disk, or at the limit of its size, which has room again later."""
    def is_larger(pid):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, resource.getrlimit(resource.RLIMIT_FSIZE))

    for options in ([], ["-l"]):
        for shared in (False, True):
            for size in (9990, 20001, 65536):
                run = make([f"limit {size}", "shared" if shared else "own"] + options)
                log_is_full_once(run, os.path.join(run.directory, "log"),
                                 options + ["-F", str(size)], is_larger, shared)
    if os.geteuid() != 0:
        return
    for options in ([], ["-l"]):
        for shared in (False, True):
            run = make(["disk", "shared" if shared else "own"] + options)
            disk = os.path.join(run.directory, "disk")
            os.mkdir(disk)
            done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk],
                                  check=False, capture_output=True)
            if done.returncode != 0:
                print("cannot mount a small file system: skipped")
                return
            try:
                log_is_full_once(run, os.path.join(disk, "log"), options, lambda pid: subprocess.run(
                    ["mount", "-o", "remount,size=64m", disk], check=True), shared)
            finally:
                subprocess.run(["umount", "-l", disk], check=False)


def ends_while_threads_emit(make):
    """exit() while other threads emit: what they began before it is there."""
    for threads in ("1", "8"):
        for options in ([f"ctf=trace"], ["ctf=trace", "ring=64k,subbuffer=8k"], ["ctf=trace", "log=/dev/null"]):
            run = make(["emitting", threads] + options)
            run.start(["-e", "emitting", "-T", threads], options)
            # A thread may have seen the event on and take its space when the trace has ended.
            run.check(late=int(threads))


def ends_in_a_handler(make):
    """exit() in a handler that interrupts an event and emitted others."""
    for options in (["ctf=trace"], ["ctf=trace", "log=/dev/null"], ["ctf=trace", "mode=overwrite"]):
        run = make(options)
        run.start(["-e", "handler"], options)
        trace = run.check()
        if trace.count() != 1003:
            raise Wrong(f"of 1003 events {trace.count()} are there")


def has_no_ring(make):
    """Threads that get no ring are counted in the trace; once, also where `strata recover` counts them."""
    for options, status in ((["-n", "5000"], 0), (["-f", "-T", "1", "-e", "kill"], -signal.SIGKILL)):
        run = make(["memory=...", *options])
        run.start(["-V", "20000000", *options], ["ctf=trace", "ring=64M,subbuffer=16M"])
        trace = run.check(status=status)
        if trace.discarded == 0:
            raise Wrong(f"nothing is counted in the trace: {run.errors}")


def record_names_the_cause(make):
    """Memory is out in a recorded program: `strata record` does not say that it lacks libstrata, or emitted nothing."""
    run = make("ulimit -v")
    done = subprocess.run(
        [STRATA, "record", "-o", "out", "--", "sh", "-c", f"ulimit -v 17000; exec {run.program} counts"],
        capture_output=True, text=True, check=False, cwd=run.directory,
    )  # fmt: skip
    if done.returncode != 1 or "had no memory to describe 1 of its events" not in done.stderr:
        raise Wrong(f"exit status {done.returncode}: {done.stderr}")


CASES = [ends_by_pthread_exit, has_a_default_sink, cannot_make_files, files_are_small, memory_is_short,
         disk_is_full, log_is_full, ends_while_threads_emit, ends_in_a_handler,
         has_no_ring, record_names_the_cause]  # fmt: skip


def main():
    failed = 0
    parent = tempfile.mkdtemp(prefix="losses-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    try:
        for case in CASES:
            if sys.argv[1:] and not any(case.__name__.startswith(a) for a in sys.argv[1:]):
                continue
            # How it is linked matters to few; the others take longer.
            all_kinds = case in (ends_by_pthread_exit, has_a_default_sink, cannot_make_files)
            for program in PROGRAMS if all_kinds else PROGRAMS[:1]:
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
