"""export_ctf.py REPORT BABELTRACE ERRORS AGAIN METADATA: compares a report in JSON with what `babeltrace2 --clock-cycles` shows
of the CTF that the same trace was exported to, with what it tells of losses on standard error, and with the report
of that CTF: in it, each event has the layer, group, thread and vCPU that it had.

babeltrace2 2.0 shows the text before instead of an empty one, so those are not compared."""
import collections
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


def full_name(item):
    return item["group"] + ":" + item["event"] if "group" in item else item["event"]


items = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
events = [item for item in items if "event" in item]
layers = [name for _, name in re.findall(r'source_(\d+)_layer = "(\w+)";', open(sys.argv[5], encoding="ascii").read())]
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
    packet, context, *of_event, fields = parts
    if of_event:
        context |= of_event[0]
    if int(head.group(1)) != item.get("time_ns", item.get("ticks")) or head.group(2) != full_name(item):
        sys.exit(f"time or name differs{where}")
    if packet.get("cpu_id") != item.get("cpu") or packet["source"] != item.get("source", packet["source"]):
        sys.exit(f"CPU or source differs{where}")
    if layers[packet["source"]] != item["layer"]:
        sys.exit(f"layer differs{where}")
    if context.get("tid", -1) != item.get("pid", -1):
        sys.exit(f"thread differs{where}")
    if not same(item.get("comm", ""), context.get("procname", "")):
        sys.exit(f"procname differs{where}")
    if context.get("vcpu") != item.get("vcpu"):  # a number or a name, and none where there is none
        sys.exit(f"vcpu differs{where}")
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
losses = sorted(item["lost"] or 0 for item in items if "lost" in item)
told = [re.match(r"WARNING: Tracer discarded (\d+) (events?|packets?) ", line) for line in open(sys.argv[3])]
if None in told or sorted(0 if match.group(2) == "packet" else int(match.group(1)) for match in told) != losses:
    sys.exit(f"losses {losses}, babeltrace2 tells {told}")


def who(item):
    return tuple(item.get(key) for key in ("layer", "group", "event", "cpu", "pid", "comm", "vcpu"))


again = [json.loads(line) for line in open(sys.argv[4], encoding="utf-8")]
if len(again) != len(items):
    sys.exit(f"{len(items)} items, and strata reads {len(again)}")
for stamp in "time_ns", "ticks":
    if any(stamp in item for item in items):
        break
before = collections.Counter((item[stamp], who(item)) for item in events)
after = collections.Counter((item[stamp], who(item)) for item in again if "event" in item)
if before != after:
    sys.exit(f"strata reads otherwise: {list((before - after).items())[:3]} as {list((after - before).items())[:3]}")
print(len(events), "events,", len(losses), "losses")
