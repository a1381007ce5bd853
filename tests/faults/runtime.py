#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A traced program while libstrata gets no memory, file, thread or room on the disk, at each site in turn.

runtime.py INJECTOR BIN LOSSES [--case=GLOB] [--kind=GLOB]

LOSSES is tests/runtime/losses.c, linked with the shared library. It goes on and ends with its own exit status, and
what it emitted is written, recoverable or counted (tests/runtime/losses.py)."""

import argparse
import errno
import fnmatch
import glob
import os
import signal
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "runtime")]
import faults  # noqa: E402

# What fails, with which error.
SWEEPS = {
    "alloc": (("alloc",), errno.ENOMEM, {}),
    "memory": (("alloc", "map"), errno.ENOMEM, {"persistent": True}),
    "map": (("map",), errno.ENOMEM, {}),
    "write": (("write",), errno.ENOSPC, {}),
    "full": (("write", "make"), errno.ENOSPC, {"persistent": True}),
    "short-write": (("write",), 0, {"short": True}),
    "make": (("make",), errno.EDQUOT, {}),
    "open": (("open",), errno.EMFILE, {}),
    "files": (("open", "make"), errno.EMFILE, {"persistent": True}),
    "read": (("read",), errno.EIO, {}),
    "thread": (("thread",), errno.EAGAIN, {}),
    "killed": (("write", "make", "open", "map"), 0, {"kills": True}),
}

# How it is traced, and what it does.
CASES = {
    "ctf": ("ctf=trace", ["-T", "2"]),
    "ctf-exit": ("ctf=trace", ["-T", "2", "-e", "pthread_exit"]),
    "ctf-fork": ("ctf=trace", ["-e", "fork"]),
    "ctf-many": ("ctf=trace", ["-n", "20000"]),
    "control-off": ("ctf=trace,control=off", []),
    "overwrite": ("ctf=trace,mode=overwrite,snapshot-signal=USR2", ["-T", "1"]),
    "no-writer": ("writer=none", ["-T", "2"]),
    "log": ("ctf=trace,log=log", []),
    "simple": ("simple=simple", ["-T", "1"]),
}


class Sweep:
    def __init__(self, injector, program, parent):
        self.injector, self.program, self.parent = injector, program, parent
        self.runs = self.missed = 0
        self.failures = []
        self.sites = set()

    def run(self, name, **armed):
        """What is wrong with a run of the case NAME, or nothing."""
        options, arguments = CASES[name]
        with tempfile.TemporaryDirectory(dir=self.parent) as directory:
            run = losses.Run(self.program, directory)
            environment = {key: self.injector.env[key] for key in ("LD_PRELOAD", "FAULT_STATE")}
            environment["FAULT_PROGRAM"] = os.path.basename(self.program)
            environment["STRATA_TRACE"] = f"*,rings={run.rings},{options}"
            self.injector.arm(**armed)
            try:
                run.start(arguments, [], environment, rings=False)
                # What follows is no longer tried.
                self.injector.state.armed = 0
                self.check(name, run, f"{directory}/simple" if "simple=" in options else None)
            except losses.Wrong as error:
                return str(error)
        return ""

    @staticmethod
    def check(name, run, simple):
        if run.status == -signal.SIGKILL:
            run.check(status=run.status)
            others = glob.glob(f"{run.trace}.*")
            if others:
                raise losses.Wrong(f"recovered beside the program's trace: {others}")
            return
        # Each sink says what it has lost.
        run.errors = "\n".join(line for line in run.errors.split("\n") if "which the trace (log)" not in line)
        # The child ends by _exit(), and takes an event with it that is in no file.
        run.check(late=1 if name == "ctf-fork" else 0, simple=simple,
                  repeated="are kept in" in run.errors or "cannot create rings" in run.errors)

    def sweep(self, name, kind, points):
        kinds, error, options = SWEEPS[kind]
        numbers = {faults.KINDS[k] for k in kinds}
        sites = {point.site: point for point in points if point.kind in numbers and point.in_library}
        # Only the rings outlive the program: what a sink of records has buffered is gone.
        if kind == "killed" and name in ("log", "simple", "ctf-fork"):
            return "killed left out"
        tried = [site for site in sites if (kind, site) not in self.sites]
        for site in tried:
            self.sites.add((kind, site))
            what = self.run(name, kinds=kinds, error=error, site=site, **options)
            self.runs += 1
            self.missed += self.injector.state.fired == 0
            if what:
                lines = "\n    ".join(faults.source_lines(self.injector.stack()))
                self.failures.append((name, kind, what))
                print(f"FAILED: {name}: {kind}: {what}\n    {lines}", flush=True)
        return f"{kind} {len(tried)}/{len(sites)}"

    def case(self, name, kinds):
        what = self.run(name, kinds=(), points=True)
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
    os.environ.update(LOSSES=options.losses, STRATA_BIN=os.path.abspath(options.bin))
    global losses
    import losses  # reads them
    with tempfile.TemporaryDirectory() as directory:
        os.mkdir(os.path.join(directory, "run"))
        os.environ["XDG_RUNTIME_DIR"] = os.path.join(directory, "run")
        injector = faults.Injector(os.path.abspath(options.injector), directory)
        sweep = Sweep(injector, os.path.abspath(options.losses), directory)
        for name in CASES:
            if fnmatch.fnmatch(name, options.case):
                sweep.case(name, [kind for kind in SWEEPS if fnmatch.fnmatch(kind, options.kind)])
        print(f"{sweep.runs} runs, {len(sweep.failures)} failures, {sweep.missed} missed")
    return 1 if sweep.failures or sweep.runs == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
