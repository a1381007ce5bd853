#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A traced program while libstrata gets no memory, file, thread or room on the disk, at each site in turn.

runtime.py INJECTOR BIN LOSSES [--case=GLOB] [--kind=GLOB]

LOSSES is tests/runtime/losses.c, linked with the shared library. It goes on and ends with its own exit status, and
what it emitted is written, recoverable or counted (tests/runtime/losses.py)."""

import glob
import os
import signal
import sys
import tempfile

from sweep import SiteSweep, main

NAMES = ("alloc", "memory", "map", "write", "full", "short-write", "make", "open", "files", "read", "thread", "killed")

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


class Sweep(SiteSweep):
    def __init__(self, options, directory):
        super().__init__(options, directory, NAMES)
        self.program = options.losses

    def run(self, case, name, **armed):
        options, arguments = CASES[case]
        with tempfile.TemporaryDirectory(dir=self.directory) as directory:
            run = losses.Run(self.program, directory)
            environment = {key: self.injector.env[key] for key in ("LD_PRELOAD", "FAULT_STATE")}
            environment["FAULT_PROGRAM"] = os.path.basename(self.program)
            environment["STRATA_TRACE"] = f"*,rings={run.rings},{options}"
            self.injector.arm(**armed)
            try:
                run.start(arguments, [], environment, rings=False)
                # What follows is no longer tried.
                self.injector.state.armed = 0
                self.check(case, run, f"{directory}/simple" if "simple=" in options else None)
            except losses.Wrong as error:
                return str(error)
        return ""

    @staticmethod
    def check(case, run, simple):
        if run.status == -signal.SIGKILL:
            run.check(status=run.status)
            others = glob.glob(f"{run.trace}.*")
            if others:
                raise losses.Wrong(f"recovered beside the program's trace: {others}")
            return
        # Each sink says what it has lost.
        run.errors = "\n".join(line for line in run.errors.split("\n") if "which the trace (log)" not in line)
        # The child ends by _exit(), and takes an event with it that is in no file.
        run.check(late=1 if case == "ctf-fork" else 0, simple=simple,
                  repeated="are kept in" in run.errors or "cannot create rings" in run.errors)

    def leaves_out(self, case, name):
        # Only the rings outlive the program: what a sink of records has buffered is gone.
        return name == "killed" and case in ("log", "simple", "ctf-fork")

    def is_tried(self, point):
        return point.in_library

    def all(self):
        for case in CASES:
            self.case(case)


def prepare(options):
    global losses
    os.environ.update(LOSSES=options.losses, STRATA_BIN=os.path.abspath(options.bin))
    import losses  # reads them


if __name__ == "__main__":
    sys.exit(main(Sweep, "losses", prepare=prepare))
