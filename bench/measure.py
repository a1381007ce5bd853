# SPDX-License-Identifier: MIT
"""Running a program, what it cost, and tables of that."""

import os
import re
import subprocess
import tempfile
import time

from aims import reach


class Failed(Exception):
    """A program that ended badly; the text says which and how."""


class Cost:
    """CPU seconds (user and system), the largest resident set in MiB, and elapsed seconds of one run."""

    def __init__(self, cpu, memory, elapsed=0.0):
        self.cpu = cpu
        self.memory = memory
        self.elapsed = elapsed


def run(cost, argv):
    """Runs ARGV with its output thrown away; COST is the built bench/cost.c."""
    fd_read, fd_write = os.pipe()
    with tempfile.TemporaryFile() as err, open(fd_read, encoding="ascii") as told:
        begin = time.monotonic()
        # `cost` writes to descriptor 3, whatever number the pipe has here.
        child = subprocess.Popen(
            ["/bin/sh", "-c", f'exec "$@" 3>&{fd_write}', "sh", cost, *argv],
            stdin=subprocess.DEVNULL,
            stderr=err,
            pass_fds=[fd_write],
        )
        os.close(fd_write)
        words = told.read().split()
        child.wait()
        if len(words) != 3 or words[2] != "0":
            err.seek(0)
            said = err.read(2000).decode(errors="replace").strip()
            status = words[2] if len(words) == 3 else "no status"
            raise Failed(f"{os.path.basename(argv[0])} ended with {status}: {said}")
    return Cost(float(words[0]), int(words[1]) / 1024, time.monotonic() - begin)


def output(argv):
    """What ARGV prints."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise Failed(f"{os.path.basename(argv[0])} ended with {done.returncode}: {said}")
    return done.stdout


def best(cost, programs, rounds):
    """Runs all of PROGRAMS (name -> (argv, most rounds)) in turn, ROUNDS times, so that a slow spell
    of the machine hits all alike. name -> the cheapest Cost, with the least elapsed time of all, or the Failed."""
    costs = {}
    for i in range(rounds):
        for name, (argv, most) in programs.items():
            if i >= most or isinstance(costs.get(name), Failed):
                continue
            try:
                one = run(cost, argv)
            except Failed as e:
                costs[name] = e
                continue
            before = costs.get(name, one)
            if one.cpu <= before.cpu:
                costs[name] = one
            costs[name].elapsed = min(one.elapsed, before.elapsed)
    return costs


class Table:
    """Rows of text under headings; numbers to the right. A row with an aim says whether it is reached."""

    def __init__(self, headings=("",)):
        self.headings = (*headings, "aim", "reached")
        self.rows = []
        self.about = ""

    def title(self, text):
        self.rows.append(text)
        self.about = re.split(r"[;(:]", text)[0].strip()

    def cells(self, *cells, aim=None, measured=None, figure=None):
        """CELLS: a text for each heading, the last may be left out. AIM: an Aim for MEASURED, a number, that bench/all
        shows as FIGURE."""
        row = list(cells) + [""] * (len(self.headings) - len(cells))
        if aim:
            row[-2], row[-1] = str(aim), reach(f"{self.about}: {cells[0].strip()}", measured, aim, figure)
        self.rows.append(row)

    def note(self, text):
        self.rows.append("    " + text)

    def __str__(self):
        cells = [r for r in self.rows if not isinstance(r, str)]
        used = [i for i in range(len(self.headings)) if i == 0 or any(r[i] for r in cells)]
        widths = {i: max(len(r[i]) for r in [*cells, self.headings]) for i in used}

        def line(r):
            right = (r[i].rjust(widths[i]) for i in used[1:])
            return "  ".join(["  " + r[0].ljust(widths[0]), *right]).rstrip()

        out = [line(self.headings)]
        for r in self.rows:
            if isinstance(r, str):
                out.append(r if r.startswith(" ") else "\n" + r)
            else:
                out.append(line(r))
        return "\n".join(out)


class CostTable(Table):
    """What programs cost that take events."""

    def __init__(self):
        super().__init__(("", "events", "CPU s", "events/s", "peak MiB", "ratio"))

    def row(self, name, events=None, cost=None, ratio=None, aim=None, measured=None):
        """AIM is for MEASURED, or else for RATIO."""
        cells = [name, "", "", "", "", ""]
        if events is not None:
            cells[1] = f"{events:,}"
        if isinstance(cost, Failed):
            cells[2] = "failed"
        elif cost:
            cells[2] = f"{cost.cpu:.3f}"
            cells[3] = f"{events / cost.cpu / 1e6:.2f} M" if cost.cpu > 0 else ""
            cells[4] = f"{cost.memory:.0f}"
        if ratio is not None:
            cells[5] = f"{ratio:.1f} x" if ratio >= 1 else f"{ratio:.2f} x"
        if isinstance(cost, Failed):
            aim = None
        self.cells(*cells, aim=aim, measured=ratio if measured is None else measured)
