# SPDX-License-Identifier: MIT
"""What the sweeps of this directory share: which calls fail, how, and what must then be said; counts and failures;
their command lines and directories."""

import argparse
import errno
import fnmatch
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "runtime")]
import faults  # noqa: E402

NO_MEMORY = "out of memory|Cannot allocate memory"
# What fails, with which error, and what the program must then say. "Short" transfers must not matter at all.
KINDS = {
    "alloc": (("alloc",), errno.ENOMEM, {}, NO_MEMORY),
    "memory": (("alloc", "map"), errno.ENOMEM, {"persistent": True}, NO_MEMORY),
    "map": (("map",), errno.ENOMEM, {}, NO_MEMORY),
    "write": (("write",), errno.ENOSPC, {}, "No space left on device"),
    "full": (("write", "make"), errno.ENOSPC, {"persistent": True}, "No space left on device"),
    "short-write": (("write",), 0, {"short": True}, None),
    "make": (("make",), errno.EDQUOT, {}, "Disk quota exceeded"),
    "open": (("open",), errno.EMFILE, {}, "Too many open files"),
    "files": (("open", "make"), errno.EMFILE, {"persistent": True}, "Too many open files"),
    "read": (("read",), errno.EIO, {}, "Input/output error"),
    "short-read": (("read",), 0, {"short": True}, None),
    "thread": (("thread",), errno.EAGAIN, {}, "Resource temporarily unavailable"),
    "killed": (("write", "make", "open", "map"), 0, {"kills": True}, None),
}


class Sweep:
    """Runs programs in DIRECTORY with the calls of NAMES, kinds that are in KINDS, failing."""

    def __init__(self, options, directory, names):
        self.directory = directory
        self.strata = os.path.abspath(os.path.join(options.bin, "strata"))
        self.injector = faults.Injector(os.path.abspath(options.injector), directory)
        self.names = [name for name in names if fnmatch.fnmatch(name, options.kind)]
        self.cases = options.case
        self.is_long = options.long
        self.runs = self.excused = self.missed = 0
        self.sites = set()
        self.failures = []

    def is_chosen(self, case):
        return fnmatch.fnmatch(case, self.cases)

    @staticmethod
    def points_of(name, points):
        """Those of POINTS that the kind NAME lets fail."""
        numbers = {faults.KINDS[kind] for kind in KINDS[name][0]}
        return [point for point in points if point.kind in numbers]

    def is_new(self, name, site):
        """Whether no case has had a failure of the kind NAME at SITE. It has then."""
        known = (name, site) in self.sites
        self.sites.add((name, site))
        return not known

    def is_below(self, functions):
        """Whether one of FUNCTIONS, by the beginnings of their names, made the call that failed."""
        lines = faults.source_lines(self.injector.stack(), None)
        return any(line.startswith(name) for line in lines for name in functions)

    def count(self):
        """After a run in which a call was to fail."""
        self.runs += 1
        self.missed += self.injector.state.fired == 0

    def fail(self, case, name, what):
        lines = "\n    ".join(faults.source_lines(self.injector.stack()))
        self.failures.append((case, name, what))
        print(f"FAILED: {case}: {name}: {what}\n    {lines}", flush=True)

    def summary(self):
        print(f"{self.runs} runs, {len(self.failures)} failures, {self.excused} excused, {self.missed} missed")
        # Where nothing failed, nothing was tried.
        return 1 if self.failures or self.runs == 0 else 0


class SiteSweep(Sweep):
    """Tries each site once over all cases."""

    def run(self, case, name, **armed):
        """What is wrong with a run of CASE, armed so, or nothing."""
        raise NotImplementedError

    def leaves_out(self, case, name):
        """Whether the kind NAME is not tried in CASE."""
        return False

    def stride(self, case, name):
        """Of how many sites of the kind NAME one is tried in CASE."""
        return 1

    def is_tried(self, point):
        return True

    def sweep(self, case, name, points):
        kinds, error, options, _ = KINDS[name]
        if self.leaves_out(case, name):
            return f"{name} left out"
        sites = {point.site: point for point in self.points_of(name, points) if self.is_tried(point)}
        tried = [site for site in sites if self.is_new(name, site)]
        tried = tried[:: self.stride(case, name)]
        for site in tried:
            what = self.run(case, name, kinds=kinds, error=error, site=site, **options)
            self.count()
            if what:
                self.fail(case, name, what)
        return f"{name} {len(tried)}/{len(sites)}"

    def case(self, case):
        if not self.is_chosen(case):
            return
        what = self.run(case, None, kinds=(), points=True)
        points = self.injector.points()
        if what:
            self.fail(case, "by itself", what)
            return
        print(f"{case}: {', '.join(self.sweep(case, name, points) for name in self.names)}", flush=True)


def main(sweep, *operands, prepare=None):
    """Runs SWEEP(options, directory), which has all(), in a directory of its own; the command line has OPERANDS after
    those that all sweeps have. PREPARE(options): before that."""
    parser = argparse.ArgumentParser()
    for operand in ("injector", "bin", *operands):
        parser.add_argument(operand)
    parser.add_argument("--long", action="store_true", default=os.environ.get("STRATA_TEST_LONG") == "1")
    parser.add_argument("--case", default="*")
    parser.add_argument("--kind", default="*")
    options = parser.parse_args()
    for name in list(os.environ):
        if name.startswith("STRATA_"):
            del os.environ[name]
    for operand in operands:
        setattr(options, operand, os.path.abspath(getattr(options, operand)))
    if prepare:
        prepare(options)
    # Each run removes what the one before left: on a disk that takes longer than the run.
    memory = subprocess.run([os.path.join(HERE, "..", "lib", "memory_directory.sh"), "1000000"], check=True,
                            stdout=subprocess.PIPE, text=True).stdout.strip()
    with tempfile.TemporaryDirectory(dir=memory or None) as directory:
        os.mkdir(os.path.join(directory, "run"))
        os.environ["XDG_RUNTIME_DIR"] = os.path.join(directory, "run")
        swept = sweep(options, directory)
        swept.all()
        os.chdir("/")
        return swept.summary()
