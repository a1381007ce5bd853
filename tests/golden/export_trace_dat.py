"""export_trace_dat.py REPORT TRACE_CMD AGAIN: compares a report in JSON with what `trace-cmd report -R -t` shows of
the trace.dat that the same trace was exported to, and with what strata reads of that.

trace-cmd shows raw memory of single bytes as text, so of such it is what strata reads that counts."""
import json
import re
import sys


def identifier(name):
    name = re.sub(r"\W", "_", name, flags=re.ASCII)
    return name if re.match(r"[A-Za-z_]", name) and not name.startswith("common_") else "_" + name


def numbers(text):
    """What TEXT may mean: print formats have "%x" as well as "%d"."""
    found = set()
    for base in 10, 16:
        try:
            found.add(int(text, base) % 2**64)
        except ValueError:
            pass
    return found


def shown(ours, text):
    """Whether TEXT is how trace-cmd shows the value OURS."""
    if ours is None:
        return text in ("0", "", "0x0", "ARRAY[]")
    if isinstance(ours, list):
        return re.fullmatch(r"ARRAY\[.*\]", text)
    if isinstance(ours, float):
        return float(text) == ours
    if isinstance(ours, int):
        # trace-cmd 3.3 shows an address that has no symbol in parentheses.
        return numbers(re.sub(r"^ ?\((0x\w+)\)$", r"\1", text)) & {int(ours) % 2**64, int(ours) % 2**32}
    return ours.strip() == text.strip() or "\\x" in repr(ours) or "\ufffd" in ours or re.fullmatch("([0-9a-f]{2})*", ours)


def same(ours, again):
    if ours is None:
        return again in (0, "", [])
    if isinstance(ours, float) or (isinstance(ours, int) and isinstance(again, str)):
        return float(again) == ours
    if isinstance(ours, int) and isinstance(again, int):
        return ours % 2**64 == again % 2**64
    # A kernel's format tells neither that bytes are numbers nor that elements have signs.
    if isinstance(ours, list) and isinstance(again, str):
        return bytes(value % 256 for value in ours).hex() == again
    if isinstance(ours, list):
        return any([value % 2**bits for value in ours] == again for bits in (16, 32, 64))
    return ours == again


def show(what):
    return str(what)[:1000]


items = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
again = [json.loads(line) for line in open(sys.argv[3], encoding="utf-8")]
events = [item for item in items if "event" in item]
events_again = [item for item in again if "event" in item]
lines = [line.rstrip("\n") for line in open(sys.argv[2], encoding="utf-8", errors="replace", newline="\n")]
dropped = [re.fullmatch(r" *(?:\S+: *)?CPU:(\d+) \[(?:(\d+) )?EVENTS DROPPED\]", line) for line in lines]
lost = sorted((int(match[1]), int(match[2] or -1)) for match in dropped if match)
lines = [line for line, match in zip(lines, dropped)
         if not match and not re.match(r"cpus=\d+$|CPU \d+ is empty$|^\S+: +CPU \d+ is empty$", line)]
if not len(events) == len(events_again) == len(lines) or not events:
    sys.exit(f"{len(events)} events, trace-cmd shows {len(lines)}, strata {len(events_again)}")
for item, line, read in zip(events, lines, events_again):
    # trace-cmd 3.3 shows flags, "[000] d..2. 12.5:"; where the event has none, "[000]-0x0 12.5:".
    where = f"\n{show(item)}\n{show(line)}\n{show(read)}"
    head = re.match(r" *(?:\w+: )? *(.*)-(-?\d+) +\[(\d+)\]\S* +(?:\S+ +)?([\d.]+): +(\w+): *", line)
    time = item.get("time_ns", item.get("ticks"))
    if not head or int(head[4].replace(".", "")) != time or read.get("time_ns", read.get("ticks")) != time:
        sys.exit(f"time differs{where}")
    if head[5] != re.sub(r"\W", "_", item["event"]) or read["event"] != head[5]:
        sys.exit(f"name differs{where}")
    if "cpu" in item and (int(head[3]) != item["cpu"] or read["cpu"] != item["cpu"]):
        sys.exit(f"CPU differs{where}")
    comm, pid = item.get("comm"), item.get("pid", 0)
    if "vcpu" in item and "pid" not in item:
        comm, pid = item["vcpu"], read["pid"]
    # Two kernels' names of one number are joined.
    if int(head[2]) != pid or read["pid"] != pid or (
            (comm or ("<...>" if pid else "<idle>")) not in head[1].split("|")):
        sys.exit(f"thread differs{where}")
    fields = {identifier(name): value for name, value in item["fields"].items()}
    if list(read["fields"]) != list(fields) or not all(same(fields[name], read["fields"][name]) for name in fields):
        sys.exit(f"fields differ in what strata reads{where}")
    pattern = " ?".join(re.escape(name) + "=(.*?)" for name in fields)
    match = re.fullmatch(" ?" + pattern + " *", line[head.end():], flags=re.S)
    if not match or not all(map(shown, fields.values(), match.groups())):
        sys.exit(f"fields differ in what trace-cmd shows{where}")
losses = sorted((item["cpu"], -1 if item["lost"] is None else item["lost"]) for item in items if "lost" in item)
losses_again = sorted((item["cpu"], -1 if item["lost"] is None else item["lost"]) for item in again if "lost" in item)
# trace-cmd shows a loss when an event of that CPU comes behind it.
seen = sorted((item["cpu"], -1 if item["lost"] is None else item["lost"]) for n, item in enumerate(items) if "lost" in item and
              any("event" in later and later["cpu"] == item["cpu"] for later in items[n:]))
if losses != losses_again or lost != seen:
    sys.exit(f"losses {losses}, trace-cmd tells {lost}, strata {losses_again}")
print(len(events), "events,", len(losses), "losses")
