"""export_simpletrace.py BEFORE AFTER: two reports in JSON, the second of what the first was exported to as
simpletrace."""
import json
import re
import sys

before, after = ([json.loads(line) for line in open(path)] for path in sys.argv[1:])
if len(before) != len(after) or not before:
    sys.exit(f"{len(before)} lines became {len(after)}")
texts = 0
for n, (a, b) in enumerate(zip(before, after)):
    where = f"line {n + 1}:\n{a}\n{b}"
    time = a.get("time_ns", a.get("ticks"))
    if time != b["time_ns"] or a.get("pid", 0) != b.get("pid", 0):
        sys.exit(f"time or thread differs, {where}")
    if "lost" in a:
        if (a["lost"] or 0) != b.get("lost"):
            sys.exit(f"a loss differs, {where}")
        continue
    if not re.fullmatch(re.sub(r"\W", "_", a["event"]) + r"(_\d+)?", b["event"]):
        sys.exit(f"the name differs, {where}")
    x, y = list(a["fields"].values()), list(b["fields"].values())
    if len(x) != len(y):
        sys.exit(f"the number of arguments differs, {where}")
    for v, w in zip(x, y):
        if isinstance(v, (float, list)) or (isinstance(v, str) and v != w):
            # As text: what is in it is compared as numbers.
            texts += 1
            if isinstance(v, float):
                if abs(float(w) - v) > abs(v) * 1e-6:
                    sys.exit(f"{v} became {w}, {where}")
                continue
            wanted = list(bytes.fromhex(v)) if isinstance(v, str) else v
            if [int(i, 0) for i in re.findall(r"-?\w+", w)] != wanted:
                sys.exit(f"{v} became {w}, {where}")
        elif v != w and not (v is None and w in (0, "")) and int(v) % 2**64 != int(w) % 2**64:
            sys.exit(f"{v} became {w}, {where}")
print(len(before), "compared,", texts, "as text")
