"""unknown_slices.py STRATA WHOLE LOST: what CPUs ran outside of the losses of LOST is drawn as in WHOLE, of which LOST is a part."""

import json
import re
import subprocess
import sys

STRATA, WHOLE, LOST = sys.argv[1:4]
HZ = ["--cpu-hz", "2.4G"]


def strata(*args):
    return subprocess.run([STRATA, *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout


def slices(trace):
    """Of each CPU: begin and end in us, name."""
    cpus, began, found = {}, {}, set()
    for event in json.loads(strata("export", "--to", "chrome", *HZ, trace))["traceEvents"]:
        track = event.get("tid")
        if event["name" if "name" in event else "ph"] == "thread_name" and re.fullmatch(r"CPU \d+", event["args"]["name"]):
            cpus[track] = int(event["args"]["name"][4:])
        elif track in cpus and event["ph"] == "B":
            began.setdefault(track, []).append(event)
        elif track in cpus and event["ph"] == "E" and began.get(track):
            begin = began[track].pop()
            found.add((cpus[track], begin["ts"], event["ts"], begin["name"]))
    return found


whole, lost = slices(WHOLE), slices(LOST)
gaps = [(int(cpu), float(since) * 1e6, float(end) * 1e6) for end, cpu, since in
        re.findall(r"^(\S+) \[(\d+)\].* LOST: \d+ events, since (\S+)$", strata("report", *HZ, LOST), re.M)]
assert len(gaps) == 2 and len(whole) > 500, (gaps, len(whole))
for cpu, begin, end, name in sorted(whole - lost):
    assert any(cpu == of and begin <= until and end >= since for of, since, until in gaps), (cpu, begin, end, name)
