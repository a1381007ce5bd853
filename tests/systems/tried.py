#!/usr/bin/env python3
"""The table of docs/systems.md: the tested versions, and the result of each test.

    tried.py run RESULTS TEST COMMAND...   a test: runs COMMAND, and writes the results of TEST's rows into RESULTS/TEST
    tried.py update RESULTS                puts those results into the table; other rows keep theirs
    tried.py check TESTS                   a test: the table has the rows of tried.txt, and TESTS (meson's intro-tests.json) has
                                           their tests

COMMAND prints `tried: COMPONENT VERSION` for each row of TEST. A version that is not the row's fails the test."""

import datetime
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "..", "docs", "systems.md")
HEADING = "| component | version | what is compared | test | last run |\n|---|---|---|---|---|\n"
SKIPPED = 77


def declared():
    """(test, component, version, what) of each row, as in tried.txt."""
    with open(os.path.join(HERE, "tried.txt")) as file:
        return [tuple(line.strip().split(" | ")) for line in file if not line.startswith("#")]


def page():
    """What the page has before the table, its rows, and what it has after them."""
    with open(PAGE) as file:
        before, rest = file.read().split(HEADING)
    lines = rest.splitlines(keepends=True)
    n = next((n for n, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return before, [tuple(line.strip("|\n ").split(" | ")) for line in lines[:n]], "".join(lines[n:])


def run(results, test, *command):
    rows = [row for row in declared() if row[0] == test]
    if not rows:
        sys.exit(f"{test} has no row in tried.txt")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace")
    seen = {}
    for line in process.stdout:
        print(line, end="", flush=True)
        found = re.match(r"tried: (.*) (\S+)$", line)
        if found:
            seen[found[1]] = found[2]
    status = process.wait()
    if status == SKIPPED:
        sys.exit(SKIPPED)
    for _, component, version, _ in rows:
        got = seen.get(component, "?")
        if status == 0 and not re.match(rf"{re.escape(version)}(?![0-9])", got):
            print(f"{component} {got} was tried, not {version}")
            status = 1
    os.makedirs(results, exist_ok=True)
    with open(os.path.join(results, test), "w") as file:
        for _, component, version, _ in rows:
            outcome = "passed" if status == 0 else "failed"
            file.write(f"{component} | {version} | {datetime.date.today()}, {seen.get(component, '?')}: {outcome}\n")
    sys.exit(1 if status else 0)


def update(results):
    before, rows, after = page()
    last = {(component, version, test): outcome for component, version, _, test, outcome in rows}
    for test in os.listdir(results):
        with open(os.path.join(results, test)) as file:
            for line in file:
                component, version, outcome = line.strip().split(" | ")
                last[component, version, f"`{test}`"] = outcome
    rows = [(component, version, what, f"`{test}`", last.get((component, version, f"`{test}`"), "not yet"))
            for test, component, version, what in declared()]
    # Rows of one component are together, in the order of tried.txt.
    order = list(dict.fromkeys(row[0] for row in rows))
    rows.sort(key=lambda row: order.index(row[0]))
    with open(PAGE, "w") as file:
        file.write(before + HEADING + "".join(f"| {' | '.join(row)} |\n" for row in rows) + after)


def check(tests):
    _, rows, _ = page()
    in_page = sorted(row[:4] for row in rows)
    expected = sorted((component, version, what, f"`{test}`") for test, component, version, what in declared())
    for row in sorted(set(in_page) ^ set(expected)):
        print("only in", "docs/systems.md:" if row in in_page else "tried.txt:", " | ".join(row))
    with open(tests) as file:
        known = {test["name"] for test in json.load(file)}
    missing = sorted({row[0] for row in declared()} - known)
    if missing:
        print("meson has no test", " ".join(missing))
    sys.exit(1 if in_page != expected or missing else 0)


if __name__ == "__main__":
    {"run": run, "update": update, "check": check}[sys.argv[1]](*sys.argv[2:])
