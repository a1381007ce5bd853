# SPDX-License-Identifier: MIT
"""Runs a program again and again, another call of it failing each time (fault_inject.c), and looks at what it
then says, how it ends, and what it leaves.

A run is right if it ends with status 0 and gave what a run without failures gives, or if it ends with status 1,
says why on standard error, and leaves no file."""

import collections
import ctypes
import functools
import hashlib
import mmap
import os
import shutil
import sqlite3
import stat
import subprocess

KINDS = {"alloc": 1, "map": 2, "write": 4, "make": 8, "open": 16, "read": 32, "thread": 64}
POINTS_MAX = 16384
STACK_MAX = 4096
TIMEOUT_S = 240


class Point(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("hash", "site", "first", "kind", "in_library")]


# A point: the hash of its stack, that of its site, the number of its first call, its kind, whether a library made it.
Found = collections.namedtuple("Found", "hash site first kind in_library")


class State(ctypes.Structure):
    """struct fault_state."""

    _fields_ = [
        ("armed", ctypes.c_uint32),
        ("kinds", ctypes.c_uint32),
        ("error", ctypes.c_uint32),
        ("short_count", ctypes.c_uint32),
        ("from_then_on", ctypes.c_uint32),
        ("note_points", ctypes.c_uint32),
        ("kills", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("at", ctypes.c_uint64),
        ("site", ctypes.c_uint64),
        ("calls", ctypes.c_uint64),
        ("fired", ctypes.c_uint64),
        ("stack", ctypes.c_char * STACK_MAX),
        ("points", Point * POINTS_MAX),
    ]


class Run:
    """How a program ended, what it printed, and which files are there afterwards."""

    def __init__(self, status, out, err, files, timed_out=False):
        self.status, self.out, self.err, self.files, self.timed_out = status, out, err, files, timed_out


def database(path):
    """What a database of SQLite's holds; which bytes stand between that, SQLite leaves to chance."""
    connection = sqlite3.connect(path)
    try:
        return "\n".join(connection.iterdump())
    except sqlite3.DatabaseError as error:
        return str(error)
    finally:
        connection.close()


def tree(top):
    """{path: what it holds} of all below TOP."""
    found = {}
    for directory, names, files in os.walk(top):
        for name in names + files:
            path = os.path.join(directory, name)
            mode = os.lstat(path).st_mode
            held = b"directory"
            if stat.S_ISREG(mode) and name.endswith(".db"):
                held = database(path)
            elif stat.S_ISREG(mode):
                with open(path, "rb") as file:
                    held = hashlib.sha1(file.read()).digest()
            elif not stat.S_ISDIR(mode):
                held = b"special"
            found[os.path.relpath(path, top)] = held
    return found


class Injector:
    """Runs programs in DIRECTORY, whose files below `out` and `tmp` are what a program leaves."""

    def __init__(self, library, directory):
        self.directory = directory
        self.path = os.path.join(directory, "fault-state")
        with open(self.path, "wb") as file:
            file.truncate(ctypes.sizeof(State))
        self.file = open(self.path, "r+b")
        self.map = mmap.mmap(self.file.fileno(), ctypes.sizeof(State))
        self.state = State.from_buffer(self.map)
        self.env = dict(os.environ, LD_PRELOAD=library, FAULT_STATE=self.path)

    def arm(self, kinds, at=0, error=0, short=False, persistent=False, points=False, site=0, kills=False):
        """What fails in the program that runs next, with self.env."""
        state = self.state
        ctypes.memset(ctypes.addressof(state), 0, ctypes.sizeof(State))
        state.kinds = sum(KINDS[kind] for kind in kinds)
        state.at, state.error, state.short_count, state.site = at, error, short, site
        state.from_then_on, state.note_points, state.kills = persistent, points, kills
        state.armed = 1

    def run(self, case, kinds, at=0, error=0, short=False, persistent=False, points=False):
        for name in ("out", "tmp"):
            path = os.path.join(self.directory, name)
            if not os.path.isdir(path) or os.listdir(path):
                shutil.rmtree(path, ignore_errors=True)
                os.mkdir(path)
        self.arm(kinds, at, error, short, persistent, points)
        env = dict(self.env, TMPDIR=os.path.join(self.directory, "tmp"), **case.env)
        stdin = open(os.path.join(self.directory, case.stdin), "rb") if case.stdin else subprocess.DEVNULL
        try:
            process = subprocess.run(case.argv, cwd=self.directory, env=env, stdin=stdin, capture_output=True,
                                     timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired as error_:
            return Run(None, b"", error_.stderr or b"", {}, timed_out=True)
        finally:
            if case.stdin:
                stdin.close()
        files = {name: tree(os.path.join(self.directory, name)) for name in ("out", "tmp")}
        return Run(process.returncode, process.stdout, process.stderr, files)

    def points(self):
        """The points that the last run, one with points, came to, in their order."""
        numbers = memoryview(self.map)[State.points.offset:].cast("Q").tolist()
        columns = [numbers[i::5] for i in range(5)]
        return sorted((Found(*row) for row in zip(*columns) if row[0]), key=lambda point: point.first)

    def stack(self):
        return self.state.stack.decode(errors="replace").split()


class Case:
    """A command: its NAME, its arguments; STDIN is a file's path; STATUS is how it ends where nothing fails; STEADY:
    it prints the same each time; NOTES: its output has lines "note TEXT" of what went wrong."""

    def __init__(self, name, argv, stdin=None, env=None, status=0, steady=True, notes=False):
        self.name, self.argv, self.stdin, self.env = name, argv, stdin, env or {}
        self.status, self.steady, self.notes = status, steady, notes


@functools.cache
def symbolizer(module):
    """An addr2line that reads addresses of MODULE, for as long as this program runs; None where it is not installed.
    It takes a tenth of a second to read what MODULE says of its lines, and then none."""
    if not shutil.which("addr2line"):
        return None
    return subprocess.Popen(["addr2line", "-fse", module], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, bufsize=1)


@functools.cache
def source_line(frame):
    """The function and line of FRAME, where addr2line is installed to tell."""
    module, offset = frame.rsplit("+", 1)
    process = symbolizer(module)
    if not process:
        return frame
    try:
        # The call is before the address that it returns to.
        process.stdin.write(f"{int(offset, 16) - 1:#x}\n")
        function, place = (process.stdout.readline().rstrip("\n") for _ in range(2))
    except BrokenPipeError:  # it cannot read the module
        function, place = "", ""
    return f"{function} {place}" if function not in ("", "??") else f"{os.path.basename(module)}+{offset}"


def source_lines(stack, depth=8):
    """The functions and lines of STACK, innermost first."""
    return [source_line(frame) for frame in stack[:depth]]


def first_difference(a, b):
    """The first line of B that is not A's, or the last of A that B does not have."""
    lines, others = a.splitlines(), b.splitlines()
    for line, other in zip(lines, others):
        if line != other:
            return f"{other!r} instead of {line!r}"
    return f"{len(others)} lines instead of {len(lines)}"


def spread(numbers, most):
    """At most MOST of NUMBERS, evenly spread, the first and the last among them."""
    if not most or len(numbers) <= most:
        return numbers
    return [numbers[i * (len(numbers) - 1) // (most - 1)] for i in range(most)]
