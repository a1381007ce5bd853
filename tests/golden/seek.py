"""seek.py STRATA [OPTION...] TRACE: compares `report --from A --until B` with what lies from A to B in the whole report."""

import csv
import io
import random
import subprocess
import sys
from decimal import Decimal

strata, arguments = sys.argv[1], sys.argv[2:]
TRIES = 8


def report(*options):
    done = subprocess.run(
        [strata, "report", "-f", "csv", *options, *arguments], capture_output=True, text=True, check=True
    )
    return list(csv.DictReader(io.StringIO(done.stdout)))


whole = report()
timed = [row["time"] for row in whole if row["time"]]
assert len(timed) > 100, f"{len(timed)} rows: too few to choose limits from"
numbers = random.Random(1)
limits = sorted(numbers.sample(range(len(timed)), 2 * TRIES))
pairs = [(timed[limits[i]], timed[limits[i + 1]]) for i in range(0, 2 * TRIES, 2)]
pairs.append((timed[0], timed[-1]))
pairs.append((timed[-1], timed[-1]))
for begin, end in pairs:
    expected = [
        row for row in whole if not row["time"] or Decimal(begin) <= Decimal(row["time"]) <= Decimal(end)
    ]
    shown = report("--from", begin, "--until", end)
    if shown != expected:
        first = next((pair for pair in zip(shown, expected) if pair[0] != pair[1]), None)
        sys.exit(f"from {begin} until {end}: {len(shown)} rows, not {len(expected)}; first difference: {first}")
