# SPDX-License-Identifier: MIT
"""What the benchmarks' command lines have in common."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

from measure import Failed

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def parser(document, short):
    """DOCUMENT is the help, SHORT what --short makes small."""
    made = argparse.ArgumentParser(description=document, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--short", action="store_true", help=short)
    made.add_argument("--bin", metavar="DIR", default=os.path.join(ROOT, "build", "bin"))
    return made


def reading_parser(document, short):
    """The same of one that reads inputs (inputs.py)."""
    made = parser(document, short)
    made.add_argument("--data", metavar="DIR", default=os.path.join(ROOT, "tests", "data"))
    made.add_argument("--cache", metavar="DIR", default=os.path.join(ROOT, "build", "bench"))
    return made


def tracing_parser(document, short):
    """The same of one whose programs write traces."""
    made = parser(document, short)
    made.add_argument("--trace", metavar="DIR", default="/dev/shm", help="where traces go (/dev/shm)")
    return made


def processor():
    """Its model, and its MHz as far as the kernel knows it."""
    facts = {}
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            key, _, value = line.partition(":")
            facts.setdefault(key.strip(), value.strip())
    name = facts.get("model name") or facts.get("CPU part") or "unknown"
    numbers = [f"{key} {facts[key]}" for key in ("cpu family", "model", "stepping") if key in facts]
    mhz = [f"{float(facts['cpu MHz']):.0f} MHz"] if "cpu MHz" in facts else []
    return f"{name} ({', '.join(numbers + mhz)}), {os.cpu_count()} CPUs, {os.uname().sysname} {os.uname().release}"


def version(folder):
    """That of the tree, where it is one; else that of the strata in FOLDER."""
    told = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    if told.returncode != 0:
        told = subprocess.run([os.path.join(folder, "strata"), "--version"], capture_output=True, text=True, check=False)
    return told.stdout.split("\n", 1)[0]


def report_failures(name, function, *failures):
    """The exit status of FUNCTION(); that it raises one of FAILURES is printed."""
    try:
        return function() or 0
    except (Failed, *failures) as e:
        print(f"bench/{name}: {e}", file=sys.stderr)
        return 1


def in_directories(name, options, make):
    """Runs MAKE(options, work, traces).run() with two directories of its own, for programs and for traces."""
    options.bin = os.path.abspath(options.bin)
    work = tempfile.mkdtemp(prefix=f"bench-{name}-")
    traces = tempfile.mkdtemp(prefix=f"bench-{name}-", dir=options.trace)
    try:
        return report_failures(name, make(options, work, traces).run)
    finally:
        shutil.rmtree(work)
        shutil.rmtree(traces)


def run(argv, env=None, cwd=None):
    """What ARGV, which is not traced but by ENV, prints; None: it is skipped."""
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True, cwd=cwd,
        env={**{k: v for k, v in os.environ.items() if k != "STRATA_TRACE"}, **(env or {})},
    )  # fmt: skip
    if done.returncode == 77:
        return None
    if done.returncode != 0:
        raise Failed(f"{' '.join(argv[:3])} ended with {done.returncode}: {done.stderr.strip()[:2000]}")
    return done.stdout
