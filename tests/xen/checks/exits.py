#!/usr/bin/env python3
"""The recording of tests/xen/scenarios/exits.sh: strata exits prints the same rows as xenalyze."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import check  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def of_xenalyze(path):
    """Number and mean cycles of exits, by vCPU and reason, as xenalyze prints them."""
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
    check.equal("the recorder's exit status", check.text("exits.status").strip(), "0")
    trace = check.result("exits/xen/trace.raw")
    theirs = of_xenalyze(trace)
    strata = os.path.join(sys.argv[3], "strata")
    # Without trace.json the clock rate is unknown, so strata prints times in cycles.
    told = json.loads(
        subprocess.run(
            [strata, "exits", "--handled", "--by", "vcpu", "--cpu-vendor", "amd", "-f", "json", trace],
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
    )
    ours = {(row["key"]["vcpu"], row["key"]["reason"]): (row["n"], row["mean"]) for row in told["rows"]}
    check.expect("exits of two vCPUs", len({vcpu for vcpu, _ in theirs}) == 2, sorted(theirs))
    check.equal("number and mean cycles per vCPU and reason equal those of xenalyze", ours, theirs)
    # With the directory no --cpu-vendor is needed: trace.json has the vendor.
    named = subprocess.run(
        [strata, "exits", "--by", "detail", check.result("exits")], stdout=subprocess.PIPE, check=True, text=True
    ).stdout
    check.expect("exit reasons by name, with the I/O port", "ioio" in named and "port 0xe9 write" in named)


main()
check.done()
