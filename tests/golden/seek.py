"""seek.py [--bytes N] STRATA [OPTION...] TRACE: compares `report --from A --until B` with what lies from A to B in the
whole report, for random A and B. N: the most bytes that one of a thousandth of the time may read."""

import csv
import io
import os
import random
import subprocess
import sys
from decimal import Decimal

bytes_max = None
if sys.argv[1] == "--bytes":
    bytes_max = int(sys.argv[2])
    del sys.argv[1:3]
strata, arguments = sys.argv[1], sys.argv[2:]
TRIES = 1 if "SANITIZED" in os.environ else 4
# What the children of this shell have read counts as its own once they have ended.
COUNTED = """
count() { while read -r key value; do [ "$key" = rchar: ] && echo "$value"; done </proc/$$/io; }
before=$(count)
"$@" || exit
echo $(($(count) - before)) >&2
"""


def report(*options):
    command = [strata, "report", "-f", "csv", *options, *arguments]
    done = subprocess.run(["sh", "-c", COUNTED, "sh", *command], capture_output=True, text=True, check=True)
    count = int(done.stderr.split()[-1])
    head, *rows = csv.reader(io.StringIO(done.stdout))
    return head, rows, count


head, whole, whole_bytes = report()
TIME, LOST = head.index("time"), head.index("lost")
# As numbers once, for all limits.
times = [Decimal(row[TIME]) if row[TIME] else None for row in whole]
timed = [row[TIME] for row in whole if row[TIME]]
assert len(timed) > 100, f"{len(timed)} rows: too few to choose limits from"
numbers = random.Random(1)
limits = sorted(numbers.sample(range(len(timed)), 2 * TRIES))
pairs = [(timed[limits[i]], timed[limits[i + 1]]) for i in range(0, 2 * TRIES, 2)]
pairs.append((timed[0], timed[-1]))
pairs.append((timed[-1], timed[-1]))
# Short ones, anywhere.
short = len(timed) // 1000
for _ in range(2 * TRIES):
    begin = numbers.randrange(len(timed) - short)
    pairs.append((timed[begin], timed[begin + short]))
most = 0
for number, (begin, end) in enumerate(pairs):
    first, last = Decimal(begin), Decimal(end)
    expected = [row for row, time in zip(whole, times) if time is None or first <= time <= last]
    names, shown, count = report("--from", begin, "--until", end)
    # A loss that has begun by then, and not ended.
    if len(shown) > len(expected) and (shown[-1][TIME], shown[-1][LOST]) == (end, "unknown") and any(
            row[LOST] for row, time in zip(whole, times) if time is not None and time > last):
        shown.pop()
    if names != head or shown != expected:
        first = next((pair for pair in zip(shown, expected) if pair[0] != pair[1]), None)
        sys.exit(f"from {begin} until {end}: {len(shown)} rows, not {len(expected)}; first difference: {first}")
    if number >= TRIES + 1:
        most = max(most, count)
if bytes_max is not None and most > bytes_max:
    sys.exit(f"{most} bytes were read for a thousandth of the time, of {whole_bytes}; {bytes_max} would do")
