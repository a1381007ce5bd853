#!/usr/bin/env python3
"""The recording of tests/xen/scenarios/exits.sh: strata exits prints the same rows as xenalyze."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import check  # noqa: E402
import peer  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def of_xenalyze(path):
    """Number and mean cycles of exits, by vCPU and reason, as xenalyze prints them, and of being blocked and preempted."""
    readable = check.result("readable.raw")
    svm_mode = peer.svm_mode(check.xenalyze)
    subprocess.run([sys.executable, os.path.join(HERE, "..", "for_xenalyze.py"), path, readable,
                    *([] if svm_mode else ["--vendors"])], check=True)
    done = subprocess.run(
        [check.xenalyze, *svm_mode, "--summary", readable],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )
    rows, states, dom, vcpu = {}, {}, None, None
    for line in done.stdout.splitlines():
        # An exit that xenalyze has no name for is shown with its number.
        line = re.sub("^ +141 ", " VMEXIT_XSETBV ", line)
        match = re.match(r"\|-- Domain (\d+)|-- v(\d+) --| VMEXIT_(\w+) +(\d+) +[\d.]+s +[\d.]+% +(\d+) cyc", line)
        state = re.match(r" +(blocked|preempt): +(\d+) +[\d.]+s +(\d+)", line)
        if state and vcpu:
            states[vcpu, {"blocked": "sleeping", "preempt": "preempted"}[state[1]]] = int(state[2]), int(state[3])
        if not match:
            continue
        if match[1]:
            dom, vcpu = match[1], None
        elif match[2]:
            vcpu = f"d{dom}v{match[2]}"
        else:
            rows[vcpu, match[3].lower()] = int(match[4]), int(match[5])
    return rows, states


def of_strata(strata, verb, column, trace):
    """The same, as a verb of Strata prints it. Without trace.json the clock rate is unknown, so it prints times in cycles."""
    told = json.loads(subprocess.run([strata, *verb, "--by", "vcpu", "-f", "json", trace], stdout=subprocess.PIPE, check=True)
                      .stdout)
    return {(row["key"]["vcpu"], row["key"][column]): (row["n"], row["mean"]) for row in told["rows"]}


def main():
    check.equal("the recorder's exit status", check.text("exits.status").strip(), "0")
    trace = check.result("exits/xen/trace.raw")
    theirs, states = of_xenalyze(trace)
    strata = os.path.join(sys.argv[3], "strata")
    ours = of_strata(strata, ["exits", "--handled", "--cpu-vendor", "amd"], "reason", trace)
    check.expect("exits of two vCPUs", len({vcpu for vcpu, _ in theirs}) == 2, sorted(theirs))
    check.equal("number and mean cycles per vCPU and reason equal those of xenalyze", ours, theirs)
    # xenalyze follows vCPUs of its "default domain" and of idle ones, too. Its guests have not run before they are recorded.
    guests = [f"d{dom}v0" for dom in (1, 2)]
    ours = of_strata(strata, ["sched", "--states"], "state", trace)
    check.expect("states of two vCPUs", {vcpu for vcpu, _ in states} >= set(guests), sorted(states))
    check.equal("number and mean cycles of being blocked and preempted equal those of xenalyze",
                {key: row for key, row in ours.items() if key[0] in guests and key[1] in ("sleeping", "preempted")},
                {key: row for key, row in states.items() if key[0] in guests})
    # With the directory no --cpu-vendor is needed: trace.json has the vendor.
    named = subprocess.run(
        [strata, "exits", "--by", "detail", check.result("exits")], stdout=subprocess.PIPE, check=True, text=True
    ).stdout
    check.expect("exit reasons by name, with the I/O port", "ioio" in named and "port 0xe9 write" in named)


main()
check.done()
