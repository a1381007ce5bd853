"""export_ctf.py REPORT BABELTRACE ERRORS: compares a report in JSON with what `babeltrace2 --clock-cycles` shows
of the CTF that the same capture was exported to, and with what it tells of losses on standard error.

babeltrace2 2.0 shows the text before instead of an empty one, so those are not compared."""
import json
import re
import sys

from ctf import Text


def same(ours, theirs):
    if ours is None:
        return theirs in (0, "", [])
    if isinstance(ours, bool):
        return int(ours) == theirs
    if isinstance(ours, float) or isinstance(theirs, float):
        return f"{ours:g}" == f"{theirs:g}"  # babeltrace2 prints six digits
    if isinstance(theirs, list):
        return (list(bytes.fromhex(ours)) if isinstance(ours, str) else ours) == theirs
    return ours == "" or ours == theirs


items = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
events = [item for item in items if "event" in item]
lines = list(open(sys.argv[2], encoding="utf-8", errors="replace"))
if len(lines) != len(events) or not lines:
    sys.exit(f"{len(events)} events, and babeltrace2 shows {len(lines)}")
for item, line in zip(events, lines):
    where = f"\n{item}\n{line}"
    head = re.match(r"\[(-?\d+)\] \(\S+\) (\S+): ", line)
    parts = []
    text = Text(line[head.end() :].rstrip("\n"))
    while text.at < len(text.text):
        parts.append(text.value())
        text.take(",")
    packet, context, fields = parts
    if int(head.group(1)) != item.get("time_ns", item.get("ticks")) or head.group(2) != item["event"]:
        sys.exit(f"time or name differs{where}")
    if packet.get("cpu_id") != item.get("cpu") or packet["source"] != item.get("source", 0):
        sys.exit(f"CPU or source differs{where}")
    if context.get("tid", -1) != item.get("pid", -1):
        sys.exit(f"thread differs{where}")
    for key, ours in ("procname", item.get("comm", "")), ("vcpu", item.get("vcpu", "")):
        if not same(str(ours), context.get(key, "")):
            sys.exit(f"{key} differs{where}")
    # What is not known is not there, at the end of an integer at least.
    ours = {re.sub(r"\W", "_", key): value for key, value in item["fields"].items()}
    while ours and list(ours.values())[-1] is None and list(ours)[-1] not in fields:
        ours.popitem()
    if fields.get("vector") == 0 and item["event"] == "intr" and ours["vector"] is None:
        sys.exit(f"a vector that is not known is 0{where}")
    for key in [key for key in fields if key not in ours and key.endswith("_length")]:
        if len(fields[key[: -len("_length")]]) != fields.pop(key):
            sys.exit(f"{key} is not the length{where}")
    if list(fields) != list(ours) or not all(same(ours[key], fields[key]) for key in ours):
        sys.exit(f"fields differ{where}")
losses = sorted(item["lost"] or 1 for item in items if "lost" in item)
told = [re.match(r"WARNING: Tracer discarded (\d+) events? ", line) for line in open(sys.argv[3])]
if None in told or sorted(int(match.group(1)) for match in told) != losses:
    sys.exit(f"losses {losses}, babeltrace2 tells {told}")
print(len(events), "events,", len(losses), "losses")
