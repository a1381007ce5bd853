#!/bin/sh
# All event formats of a real kernel, with events of random values: their text is what trace-cmd shows.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

command -v trace-cmd >/dev/null || { echo "SKIPPED: trace-cmd is not installed"; exit 77; }
. "$here/../lib/kernel_capture.sh"
kernel_capture local local all
[ "$(python3 "$here/kernel_formats.py" local/guest)" -eq 1336 ]

# It shows times as ticks now and then where memory that it has not set is not 0 (3.1.6).
env -u MALLOC_PERTURB_ trace-cmd report -N -t made.dat 2>err >theirs
"$STRATA_BIN/strata" report made.dat 2>err >ours
"$STRATA_BIN/strata" report -f json made.dat 2>/dev/null >ours.json
# Formats with errors, of which only the fields are shown: one line, about the first.
[ "$(grep -c FAILED ours)" -eq 33 ]
[ "$(grep -c 'cannot parse the print format' err)" -eq 1 ]
grep -q "^strata: made.dat: format of intel_iommu:prq_report:[0-9]*: cannot parse the print format at .*; events of this format, and of 10 others, " err
python3 - <<'END'
import json
import re

# TASK-PID [CPU] TIME: NAME: TEXT. A line that does not begin so is the rest of an event, of whose line breaks Strata makes
# blanks.
def events(path, head):
    found, pid = {}, None
    for line in open(path, errors="surrogateescape"):
        match = re.match(head, line)
        if match:
            pid = int(match["pid"])
            found[pid] = (match["name"], match["text"].rstrip("\n"))
        elif pid in found:
            found[pid] = (found[pid][0], found[pid][1] + " " + line.rstrip("\n"))
    return found

theirs = events("theirs", r" *<\.\.\.>-(?P<pid>\d+) +\[000\] +(?:\S+ +)?[\d.]+: (?P<name>\w+): *(?P<text>.*\n)")
ours = events("ours", r"[\d.]+ \[000\] +(?:\S+-)?(?P<pid>\d+) (?P<name>\w+):? ?(?P<text>.*\n)")
# Of a stack trace trace-cmd shows 8 entries, whatever it has.
different = {"kernel_stack"}
# It does not parse a tab in a format, groups operators otherwise than C, and takes these names for 0.
different |= {"ma_op", "ma_read", "ma_write", "aer_event", "mm_page_alloc_extfrag", "spi_setup", "timer_start",
              "xen_mc_batch", "xen_mc_extend_args", "xen_mc_flush_reason", "xen_mc_issue"}
assert len(ours) == len(theirs) == 4008, (len(ours), len(theirs))

# Arrays are shown as the kernel shows them; trace-cmd does so since 3.3 and wrote them as "1 2" before.
def old(text):
    return re.sub(r"\{((?:0x[0-9a-f]+,?)*)\}", lambda m: " ".join(str(int(n, 16)) for n in m[1].split(",") if n), text)

is_old = not any(re.search(r"\{0x[0-9a-f]+,0x", text) for _, text in theirs.values())
wrong = [(theirs[pid], ours[pid]) for pid in ours
         if (theirs[pid][0], theirs[pid][1].strip()) != (ours[pid][0], ours[pid][1].strip())
         and not (is_old and theirs[pid][1].strip() == old(ours[pid][1]).strip())
         and ours[pid][0] not in different]
for expected, got in wrong[:20]:
    print(f"{got[0]}\n  theirs {expected}\n  ours   {got[1]}")
assert not wrong, f"{len(wrong)} events differ"

# What the last ones should be, of the fields.
RIGHT = {
    "timer_start": lambda f: "flags=" + "|".join(c for i, c in enumerate("MDPI") if f["flags"] >> 18 + i & 1),
    "spi_setup": lambda f: f"setup mode {f['mode'] & 3}",
    "aer_event": lambda f: "severity=" + {2: "Corrected", 1: "Fatal"}.get(f["severity"], "Uncorrected, non-fatal"),
    "xen_mc_batch": lambda f: "LAZY_" + {1: "MMU", 2: "CPU"}.get(f["mode"], "NONE"),
    "xen_mc_issue": lambda f: "LAZY_" + {1: "MMU", 2: "CPU"}.get(f["mode"], "NONE"),
    "xen_mc_flush_reason": lambda f: "reason " + {0: "NONE", 1: "BATCH", 2: "ARGS", 3: "CALLBACK"}.get(f["reason"], "??"),
    "ma_op": lambda f: f"\tNode: 0x{f['node']:x} ({f['min']} {f['max']}) range: {f['index']}-{f['last']}",
}
seen = set()
for line in open("ours.json"):
    item = json.loads(line)
    if item.get("event") in RIGHT:
        part = RIGHT[item["event"]](item["fields"])
        text = ours[item["pid"]][1]
        assert re.search(re.escape(part) + r"(?![\w|])", text), (item["event"], part, text)
        seen.add(item["event"])
assert seen == set(RIGHT), seen
END
