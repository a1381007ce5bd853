#!/usr/bin/env python3
"""What tests/xen/scenarios/exits.sh left: strata exits has the rows that xenalyze has, of the same trace."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import check  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def of_xenalyze(path):
    """By vCPU and reason: number, and mean cycles."""
    readable = check.result("readable.raw")
    subprocess.run([sys.executable, os.path.join(HERE, "..", "for_xenalyze.py"), path, readable], check=True)
    done = subprocess.run(
        [check.xenalyze, "--svm-mode", "--summary", readable], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    rows, dom, vcpu = {}, None, None
    for line in done.stdout.splitlines():
        match = re.match(r"\|-- Domain (\d+)|-- v(\d+) --| VMEXIT_(\w+) +(\d+) +[\d.]+s +[\d.]+% +(\d+) cyc", line)
        if not match:
            continue
        if match[1]:
            dom = match[1]
        elif match[2]:
            vcpu = f"d{dom}v{match[2]}"
        else:
            rows[vcpu, match[3].lower()] = int(match[4]), int(match[5])
    return rows


def main():
    check.equal("the recorder's status", check.text("exits.status").strip(), "0")
    trace = check.result("exits/xen/trace.raw")
    theirs = of_xenalyze(trace)
    strata = os.path.join(sys.argv[3], "strata")
    # The file alone: its clock's rate is not known then, so that times are cycles.
    told = json.loads(
        subprocess.run(
            [strata, "exits", "--handled", "--by", "vcpu", "--cpu-vendor", "amd", "-f", "json", trace],
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
    )
    ours = {(row["key"]["vcpu"], row["key"]["reason"]): (row["n"], row["mean"]) for row in told["rows"]}
    check.expect("there are exits of two guests", len({vcpu for vcpu, _ in theirs}) == 2, sorted(theirs))
    check.equal("rows as xenalyze has them", ours, theirs)
    # The recording as a directory names the reasons by itself.
    named = subprocess.run(
        [strata, "exits", "--by", "detail", check.result("exits")], stdout=subprocess.PIPE, check=True, text=True
    ).stdout
    check.expect("names and details", "ioio" in named and "port 0xe9 write" in named)


main()
check.done()
