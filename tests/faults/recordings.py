#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`strata record -- PROGRAM` and `strata recover` with an allocation, a write, a file, a thread that fails, at each site.

recordings.py INJECTOR BIN LOSSES [--case=GLOB] [--kind=GLOB]

A recording that fails says why and ends with status 1, or 126 where the program could not be started. One that ends with status 0 has all events. Nothing stays in the runtime directory."""

import argparse
import errno
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "lib"))
import faults  # noqa: E402

EVENTS = 1500  # that the program emits
NO_MEMORY = "out of memory|Cannot allocate memory"
SWEEPS = {
    "alloc": (("alloc",), errno.ENOMEM, {}, NO_MEMORY),
    "map": (("map",), errno.ENOMEM, {}, NO_MEMORY),
    "write": (("write",), errno.ENOSPC, {}, "No space left on device"),
    "full": (("write", "make"), errno.ENOSPC, {"persistent": True}, "No space left on device"),
    "short-write": (("write",), 0, {"short": True}, None),
    "make": (("make",), errno.EDQUOT, {}, "Disk quota exceeded"),
    "open": (("open",), errno.EMFILE, {}, "Too many open files"),
    "read": (("read",), errno.EIO, {}, "Input/output error"),
    "thread": (("thread",), errno.EAGAIN, {}, "Resource temporarily unavailable"),
}


class Sweep:
    def __init__(self, injector, directory, options):
        self.injector, self.directory = injector, directory
        self.strata = os.path.abspath(os.path.join(options.bin, "strata"))
        self.program = os.path.abspath(options.losses)
        self.runs = self.missed = 0
        self.failures = []
        self.sites = set()

    def strata_run(self, arguments, env=None, timeout=60):
        return subprocess.run([self.strata, *arguments], cwd=self.directory, env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", check=False, timeout=timeout)

    def prepare(self, name):
        """Removes what the run before left; returns the arguments of the command."""
        for path in ("out", "rings"):
            shutil.rmtree(os.path.join(self.directory, path), ignore_errors=True)
        if os.path.exists(os.path.join(self.directory, "counts")):
            os.remove(os.path.join(self.directory, "counts"))
        program = ["--", self.program, "-n", str(EVENTS // 3), "-T", "2", "counts"]
        if name == "record":
            return ["record", "-o", "out", *program]
        if name == "record-limit":
            return ["record", "-o", "out", "--max-size=1M", *program]
        os.mkdir(os.path.join(self.directory, "rings"))
        env = dict(os.environ, STRATA_TRACE=f"*,rings={self.directory}/rings,writer=none")
        subprocess.run(program[1:-1] + ["-e", "kill", "counts"], cwd=self.directory, env=env, check=False)
        return ["recover", "-o", "out", os.path.join(self.directory, "rings", os.listdir(self.directory + "/rings")[0])]

    def events(self):
        """How many events the trace directory has, or why it cannot be read."""
        if not os.path.exists(os.path.join(self.directory, "out")):
            return "no trace directory"
        shown = self.strata_run(["report", "out"])
        if shown.returncode != 0 and "complete" not in shown.stderr:
            return f"cannot be read: {shown.stderr}"
        return shown.stdout.count("losses_event")

    def recovered(self, rings):
        """How many events are in what the recorder left in RINGS, and said so."""
        events = 0
        for n, path in enumerate(rings):
            into = os.path.join(self.directory, "out", f"recovered-{n}")
            if self.strata_run(["recover", "-o", into, path]).returncode == 0:
                events += self.strata_run(["report", into]).stdout.count("losses_event")
        return events

    def judge(self, name, kind, done):
        wanted = SWEEPS[kind][3]
        if done.returncode < 0:
            return f"ended by signal {-done.returncode}"
        left = fnmatch.filter(os.listdir(os.path.join(self.directory, "run")), "strata-record-*")
        # What cannot be removed stays for the next recorder.
        if left and not self.is_below("empty"):
            return f"left in the runtime directory: {left}"
        events = self.events()
        lost = sum(int(n) for n in re.findall(r"(\d+)(?: events)? (?:were |are )?lost", done.stderr))
        if done.returncode == 0:
            kept = self.recovered(re.findall(r"its rings stay in (\S+)", done.stderr))
            if not isinstance(events, int) or events + lost + kept < EVENTS:
                return f"exit status 0, but {events} events: {done.stderr}"
            return ""
        if wanted is None:
            return f"a short transfer matters: {done.stderr}"
        # 126: the program could not be started.
        if done.returncode not in (1, 126):
            return f"exit status {done.returncode}: {done.stderr}"
        if not re.search(wanted, done.stderr):
            return f"says {done.stderr!r}"
        return ""

    def is_below(self, function):
        return any(line.startswith(function + " ") for line in faults.source_lines(self.injector.stack(), None))

    def run(self, name, kind, **armed):
        arguments = self.prepare(name)
        env = dict(self.injector.env, FAULT_PROGRAM="strata")
        self.injector.arm(**armed)
        try:
            done = self.strata_run(arguments, env)
        except subprocess.TimeoutExpired:
            return "does not end"
        finally:
            self.injector.state.armed = 0
        return self.judge(name, kind, done)

    def sweep(self, name, kind, points):
        kinds, error, options, _ = SWEEPS[kind]
        numbers = {faults.KINDS[k] for k in kinds}
        sites = {point.site: point for point in points if point.kind in numbers}
        tried = [site for site in sites if (kind, site) not in self.sites]
        for site in tried:
            self.sites.add((kind, site))
            what = self.run(name, kind, kinds=kinds, error=error, site=site, **options)
            self.runs += 1
            self.missed += self.injector.state.fired == 0
            if what:
                lines = "\n    ".join(faults.source_lines(self.injector.stack()))
                self.failures.append((name, kind, what))
                print(f"FAILED: {name}: {kind}: {what}\n    {lines}", flush=True)
        return f"{kind} {len(tried)}/{len(sites)}"

    def case(self, name, kinds):
        what = self.run(name, "alloc", kinds=(), points=True)
        points = self.injector.points()
        if what:
            self.failures.append((name, "plain", what))
            print(f"FAILED: {name} by itself: {what}")
            return
        print(f"{name}: {', '.join(self.sweep(name, kind, points) for kind in kinds)}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("injector")
    parser.add_argument("bin")
    parser.add_argument("losses")
    parser.add_argument("--case", default="*")
    parser.add_argument("--kind", default="*")
    options = parser.parse_args()
    for name in list(os.environ):
        if name.startswith("STRATA_"):
            del os.environ[name]
    with tempfile.TemporaryDirectory() as directory:
        os.mkdir(os.path.join(directory, "run"))
        os.environ["XDG_RUNTIME_DIR"] = os.path.join(directory, "run")
        sweep = Sweep(faults.Injector(os.path.abspath(options.injector), directory), directory, options)
        for name in ("record", "record-limit", "recover"):
            if fnmatch.fnmatch(name, options.case):
                sweep.case(name, [kind for kind in SWEEPS if fnmatch.fnmatch(kind, options.kind)])
        print(f"{sweep.runs} runs, {len(sweep.failures)} failures, {sweep.missed} missed")
    return 1 if sweep.failures or sweep.runs == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
