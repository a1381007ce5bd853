"""unknown_slices.py WHOLE LOST REPORT: what CPUs ran outside of the losses of LOST is drawn as in WHOLE, of which LOST is a part.

WHOLE, LOST: strata export --to perfetto, as protoc prints it. REPORT: strata report of LOST."""

import re
import sys

sys.dont_write_bytecode = True

import export_timeline  # noqa: E402


def slices(decoded):
    """Of each CPU: begin and end in ns, name."""
    began, found = {}, set()
    for mark in export_timeline.perfetto(decoded):
        cpu = re.fullmatch(r"CPU (\d+)", mark.track[0])
        if cpu and mark.kind == "B":
            began.setdefault(cpu[1], []).append(mark)
        elif cpu and mark.kind == "E" and began.get(cpu[1]):
            begin = began[cpu[1]].pop()
            found.add((int(cpu[1]), begin.ns, mark.ns, begin.name))
    return found


whole, lost = slices(sys.argv[1]), slices(sys.argv[2])
with open(sys.argv[3], encoding="utf-8") as report:
    gaps = [(int(cpu), float(since) * 1e9, float(end) * 1e9) for end, cpu, since in
            re.findall(r"^(\S+) \[(\d+)\].* LOST: \d+ events, since (\S+)$", report.read(), re.M)]
assert len(gaps) == 2 and len(whole) > 500, (gaps, len(whole))
for cpu, begin, end, name in sorted(whole - lost):
    assert any(cpu == of and begin <= until and end >= since for of, since, until in gaps), (cpu, begin, end, name)
