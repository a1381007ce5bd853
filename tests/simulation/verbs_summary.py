"""The values of `strata summary`, as JSON and as text, compared with those of the verbs, which other checks compare with the truth,
and what `strata diff` says of two traces."""

import json
import re
import shlex

from verbs_row import require

def words(key):
    """A row's key, without the numbers of its names."""
    return json.dumps({k: v for k, v in key.items() if not k.endswith("_value")})


UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
# Headings of text, and the columns in JSON.
COLUMNS = {"N": "n", "N/s": "rate", "SUM": "sum", "SHARE%": "share", "P50": "p50", "P99": "p99", "MAX": "max", "ERROR": "error",
           "RUN": "run", "WAIT": "wait", "SLEEP": "sleep", "PART": "part", "DELAY-P99": "delay_p99", "BUSY%": "busy_share",
           "IRQ%": "interrupt_share", "IDLE%": "idle_share", "?%": "unknown_share", "RUN%": "run_share", "WAIT%": "wait_share",
           "SLEEP%": "sleep_share", "WAKE-P50": "wake_p50", "WAKE-P99": "wake_p99", "WAKE-MAX": "wake_max", "PREEMPT-N": "preempt_n",
           "PREEMPT-SUM": "preempt_sum", "PREEMPT-MAX": "preempt_max", "GUEST%": "guest_share", "VMM%": "vmm_share",
           "STOLEN%": "stolen_share", "ST-IDLE%": "stolen_idle_share", "STOLEN?%": "stolen_unknown_share", "HALTED%": "halted_share",
           "PART%": "part", "SLOW%": "slow_part", "REST%": "rest_part"}


def number_of(cell):
    """(value, by how much it may be rounded), or None for '-' and '?'."""
    match = re.fullmatch(r"(?:~?±)?(-?[\d.]+)(ns|us|ms|s)?", cell)
    if not match:
        return None
    digits, unit = match[1], UNITS.get(match[2], 1)
    step = 10 ** -len(digits.partition(".")[2]) if "." in digits else 1
    return float(digits) * unit, step * unit


def check_cell(what, heading, cell, row):
    column = COLUMNS[heading]
    if heading == "N" and "n" not in row:
        column = "runs"
    true, number = row.get(column), number_of(cell)
    if heading == "ERROR" and cell == "-":
        # Text leaves out an error of up to 1 % of the median (strata-analysis(7)).
        require(not true or true <= 0.01 * row["p50"] + 1, f"{what}: no error", row)
        return
    if number is None:
        if heading == "ERROR" and cell == "-" and true and true * 100 < row["p50"]:
            return  # it does not show in the digits of the row
        require(cell == "?" if column in row and true is None else cell in "-?" and not true, f"{what}: {heading} '{cell}'", true, row)
        return
    scale = 100 if heading.endswith("%") or heading == "PART" else 1
    require(true is not None and abs(number[0] - true * scale) <= 0.51 * number[1] + abs(true) * scale * 1e-5, f"{what}: {heading} '{cell}'", true)


def check_table(what, lines, result):
    """The lines of a table are the first of RESULT's rows, up to its notes, and state how many more there are."""
    rows = result["rows"]
    heads = [(match[0], match.end()) for match in re.finditer(r"\S+", lines[0])]
    first = next(i for i, (head, _) in enumerate(heads) if head in COLUMNS)
    n = 0
    for line, row in zip(lines[1:], rows):
        if line.startswith("    ") or not line.strip() or line in result["notes"]:
            break
        n += 1
        at = heads[first - 1][1]
        for head, end in heads[first:]:
            cells = line[at:end].split()
            require(cells, f"{what}: {head} has no cell", line)
            check_cell(f"{what}: {row['key']}", head, cells[-1], row)
            at = end
    more = next((int(match[1]) for line in lines[n + 1:] if (match := re.fullmatch(r" +(\d+) more rows?", line))), 0)
    require(n + more == len(rows) and (n > 0 or not rows), f"{what}: {n} rows and {more} more of {len(rows)}", lines[:n + 3])


def check_text(text, results):
    sections = {}
    for section in text.split("\n\n"):
        lines = section.splitlines()
        head = re.match(r"[^:]+: strata (.*)", lines[0]) if lines else None
        if head:
            sections[head[1]] = [line for line in lines[1:] if not line.startswith("over time")]
    for result in results:
        lines = next((lines for command, lines in sections.items() if command.rpartition(" ")[0] == result["command"]), None)
        # Tasks of Xen are its vCPUs, which have a table.
        if result["result"]["rows"] and (lines or result["command"] != "sched" or "hypervisor" not in text):
            require(lines, f"summary: no table of {result['command']}", list(sections))
            check_table(f"summary: {result['command']}", lines, result["result"])


def check_findings(summary):
    """What stands out has the numbers of its row, and the unknown share of its sources."""
    rows = {}
    for result in summary["results"]:
        for row in result["result"]["rows"]:
            rows.setdefault((result["result"]["analysis"], words(row["key"])), []).append(row)
    shares = {}
    for source in summary["sources"]:
        shares[source["layer"]] = source["unknown_share"]
    for finding in summary["findings"]:
        if "column" not in finding:
            continue
        same = [row for row in rows.get((finding["analysis"], words(finding["key"])), []) if row.get(finding["column"]) == finding["value"]]
        require(same, "summary: what stands out is in no row", finding)
        stated = finding["unknown_share"]
        if "unknown_share" in same[0]:
            require(any(row["unknown_share"] == stated for row in same), "summary: what is unknown", finding, same)
        elif finding["key"].get("layer") or finding["analysis"] == "exits":
            layer = finding["key"].get("layer", "hypervisor" if "hypervisor" in shares else "host")
            # Stages between layers are those of two.
            require(any(abs(stated - share) <= 1e-5 for name, share in shares.items() if name == layer or layer == "guest"),
                    "summary: what is unknown", finding, shares)
        else:
            require(any(abs(stated - share) <= 1e-5 for share in shares.values()), "summary: what is unknown", finding, shares)
        in_text = re.search(r"; ([\d.]+)% of its time is unknown", finding["text"])
        require((in_text is not None) == (stated >= 0.01) and (not in_text or abs(float(in_text[1]) - 100 * stated) <= 0.051),
                "summary: what is unknown, in words", finding)


def check_summary(case):
    summary = case.json("summary")
    for result in summary["results"]:
        alone = case.json(*shlex.split(result["command"]))
        require(alone == result["result"] or (not alone and not result["result"]["rows"]), f"summary: {result['command']} says otherwise",
                *(f"{k}: {alone[k]} {result['result'].get(k)}" for k in alone or {} if alone[k] != result["result"].get(k)))
    for source in summary["sources"]:
        n = case.n_events(source["source"])
        require(source["events"] == n, "summary: events", source, n)
        covered = source["covered_ns"]
        if covered:
            require(abs(source["rate"] - n * 1e9 / covered) <= 1e-5 * source["rate"], "summary: rate", source)
        require(sum(point[1] for point in source["series"]) == n, "summary: events over time", source)
    check_findings(summary)
    check_text(case.run("summary", "--wide", "--no-causal"), summary["results"])


METRICS = "rate", "mean", "p50", "p99", "max"


def check_side(what, row, side, true):
    for metric in METRICS:
        value = row.get(f"{metric}_{side}_ns", row.get(f"{metric}_{side}"))
        if value is not None:
            require(true.get(metric) is not None and abs(value - true[metric]) <= 1e-5 * abs(true[metric]) + 1, f"{what}: {metric} of {side}", row, true)


def by_key(result):
    return {words(row["key"]): row for row in result["rows"]} if result else {}


def is_whole(case):
    return not any(truth.is_near_gap(truth.first, truth.last) for truth in case.truths.values()) and not (case.vmm and case.vmm.gaps)


def check_diff(case, other):
    """The values of both traces are those of the verbs, the changes are those of the values, and a trace does not differ from itself."""
    for verb in "exits", "latency", "irq", "io":
        mine, others = by_key(case.json(verb)), by_key(other.json_once(verb))
        for b, path in (others, other.path), (mine, case.path):
            sides = {"a": case, "b": case if b is mine else other}
            if not mine or not b:
                continue
            out = case.run("diff", "-f", "json", "--no-causal", case.path, path, verb, is_last=True)
            for row in json.loads(out)["rows"] if out else []:
                key, what = json.dumps(row["key"]), f"diff {case.path} {path} {verb} {row['key']}"
                for side, rows in ("a", mine), ("b", b):
                    if key in rows:
                        check_side(what, row, side, rows[key])
                    else:
                        # What is not in a trace of which a part is missing may be in that part.
                        may_be = row["verdict"] == "unknown" and not is_whole(sides[side])
                        require(may_be or row["verdict"] == f"only_{'b' if side == 'a' else 'a'}", f"{what}: verdict", row)
                for metric in METRICS:
                    low, change, high = (row.get(f"{metric}_{name}") for name in ("low", "change", "high"))
                    if change is not None:
                        first, second = (row.get(f"{metric}_{side}_ns", row.get(f"{metric}_{side}")) for side in "ab")
                        require(abs(first * (1 + change) - second) <= 1e-4 * max(first, second) + 1, f"{what}: change", row)
                    if low is not None and high is not None:
                        require(low <= change + 1e-6 and change - 1e-6 <= high, f"{what}: interval of {metric}", row)
                require(b is not mine or row["verdict"] in ("same", "unknown"), f"{what}: differs from itself", row)
