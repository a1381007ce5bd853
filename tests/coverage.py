#!/usr/bin/env python3
"""What each test alone runs, for the choice of those that ASan and UBSan need not repeat (tests/plain_only).

    meson setup build-cov -Db_coverage=true -Doptimization=1 && ninja -C build-cov
    tests/coverage.py run build-cov DIR [TEST...]    each test by itself; its counters are kept in DIR/TEST
    tests/coverage.py order DIR TIMES                prints which test to leave out first, which next, and what is lost

TIMES is the testlog.json of a run under ASan. What is compared are gcov's counters of branches (arcs) that are not 0: finer
than lines. Of processes that are killed, or may open no file, gcov knows nothing. The format is gcc's, gcov-io.h: words of
32 bits, of this machine's order.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import struct
import subprocess
import sys

MAGIC = b"adcg"
FUNCTION, ARCS = 0x01000000, 0x01A10000


def arcs(path):
    """The numbers of (function, arc) that ran."""
    data = path.read_bytes()
    if data[:4] != MAGIC:
        sys.exit(f"{path}: not a file of counters of a machine like this one")
    at, function = 16, 0
    while at + 8 <= len(data):
        tag, size = struct.unpack_from("<Ii", data, at)
        at += 8
        if tag == 0:
            break
        if tag == FUNCTION and size >= 12:
            function = struct.unpack_from("<I", data, at)[0]
        elif tag == ARCS and size > 0:
            for i, n in enumerate(struct.unpack_from(f"<{size // 8}Q", data, at)):
                if n:
                    yield function, i
        # A negative size: all counters are 0, and none follows.
        at += max(size, 0)


def read_counters(directory, numbers):
    ran = set()
    for path in directory.rglob("*.gcda"):
        for key in arcs(path):
            ran.add(numbers.setdefault((path.name, *key), len(numbers)))
    return ran


def run(build, directory, names):
    build, directory = pathlib.Path(build).resolve(), pathlib.Path(directory).resolve()

    def one(name):
        to = directory / name
        to.mkdir(parents=True, exist_ok=True)
        ran = subprocess.run(["meson", "test", "-C", build, "--no-rebuild", "-t", "10", "--logbase", f"cov-{name}", name],
                             env={**os.environ, "SANITIZED": "yes", "GCOV_PREFIX": str(to)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return name, ran.returncode

    if not names:
        listed = json.loads(subprocess.run(["meson", "introspect", "--tests", build], check=True,
                                           stdout=subprocess.PIPE).stdout)
        names = [test["name"] for test in listed]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() + 1) as pool:
        for name, status in pool.map(one, names):
            print(name, "" if status == 0 else f"ends with status {status}", flush=True)


def order(directory, times):
    seconds = {}
    for line in open(times):
        test = json.loads(line)
        suite, name = test["name"].split(" / ")
        if "golden" in suite:
            seconds[name] = test["duration"]
    numbers = {}
    ran = {path.name: read_counters(path, numbers) for path in sorted(pathlib.Path(directory).iterdir())}
    count = collections.Counter(arc for arcs in ran.values() for arc in arcs)
    left = {name for name in ran if name in seconds}
    lost = saved = 0
    while left:
        alone = {name: sum(count[arc] == 1 for arc in ran[name]) for name in left}
        name = min(left, key=lambda name: alone[name] / seconds[name])
        left.remove(name)
        count.subtract(ran[name])
        lost += alone[name]
        saved += seconds[name]
        print(f"{name}: {alone[name]} of {len(numbers)} arcs, {seconds[name]:.1f} s; "
              f"up to here {100 * lost / len(numbers):.2f} %, {saved:.0f} s")


if len(sys.argv) > 3 and sys.argv[1] == "run":
    run(sys.argv[2], sys.argv[3], sys.argv[4:])
elif len(sys.argv) > 3 and sys.argv[1] == "order":
    order(sys.argv[2], sys.argv[3])
else:
    sys.exit(__doc__)
