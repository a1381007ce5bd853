#!/usr/bin/env python3
"""same_tables.py: spans and states are the same numbers in `latency` and `sched`, in SQL's tables and in Python's, on made machines:
of traces that are whole, that lost events, of which a CPU is missing, ends early or begins late, with and without stated lengths of
files, of these merged and exported, and of a trace.dat that was cut. STRATA_TEST_SEED gives another machine."""
import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import strata

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), name) for name in ("simulation", "lib")]
import duckdb
import kernel_files
import machine
import same_exports
from recording import Source

STRATA = os.path.join(os.environ["STRATA_BIN"], "strata")
END = 30 * machine.MILLI
SPANS = "SELECT name, count(*) AS n, sum(duration_ns) AS sum FROM span WHERE cut IS NULL GROUP BY 1"
STATES = "SELECT kind, layer, id, state, sum(duration_ns) AS sum FROM state GROUP BY 1, 2, 3, 4"
PARTS = {"run": ("running",), "wait": ("woken", "preempted", "runnable"), "sleep": ("sleeping", "uninterruptible"),
         "interrupt": ("interrupt",), "idle": ("idle",)}


def output(*words):
    run = subprocess.run((STRATA, *words), capture_output=True, text=True, check=False)
    # With --keep-going, 1 is of parts that cannot be read.
    if run.returncode > 1:
        sys.exit(f"{' '.join(words)}: exit status {run.returncode}: {run.stderr}")
    return run.stdout


def make(path, seed, plant, states_files):
    made = machine.Machine(random.Random(seed), 2, 3, 4)
    made.run(END + machine.MILLI)
    host, guest = Source(made.host, 0, END), Source(made.guest, 0, END)
    plant(host)
    os.mkdir(path)
    kernel_files.write_manifest(path, [source.write(path) for source in (host, guest)])
    if not states_files:
        with open(f"{path}/trace.json", encoding="utf-8") as file:
            manifest = json.load(file)
        for source in manifest["sources"]:
            source.pop("files", None)
        with open(f"{path}/trace.json", "w", encoding="utf-8") as file:
            json.dump(manifest, file)


def ask(query, path):
    return map(json.loads, output("sql", "-k", "--no-causal", "--format=json", "-c", query, path).splitlines())


def rows(verb, path):
    return json.loads(output(*verb, "-k", "--no-causal", "-f", "json", path))["rows"]


def spans_of(path):
    """Numbers and sums by name: of latency, of SQL, of Python."""
    latency, python = collections.Counter(), collections.Counter()
    for row in rows(["latency"], path):
        if row["n"]:
            latency[row["key"]["name"], "n"] += row["n"]
            latency[row["key"]["name"], "sum"] += row["sum"]
    table = strata.spans(path, keep_going=True, stated_clocks=True)
    for name, cut, duration in zip(table["name"], table["cut"], table["duration_ns"]):
        if cut is None:
            python[name, "n"] += 1
            python[name, "sum"] += duration
    sql = {(row["name"], column): row[column] for row in ask(SPANS, path) for column in ("n", "sum")}
    return latency, sql, python


def states_of(path):
    """Sums by kind, layer, number and state: of SQL, of Python."""
    python = collections.Counter()
    table = strata.table(path, "state", keep_going=True, stated_clocks=True)
    for key in zip(*(table[column] for column in ("kind", "layer", "id", "state", "duration_ns"))):
        python[key[:4]] += key[4]
    return {(row["kind"], row["layer"], row["id"], row["state"]): row["sum"] for row in ask(STATES, path)}, python


def check(what, ours, theirs):
    for key in sorted(set(ours) | set(theirs), key=str):
        if ours.get(key, 0) != theirs.get(key, 0):
            sys.exit(f"{what}: {key}: {ours.get(key)}, not {theirs.get(key)}")
    return len(theirs)


def check_trace(what, path):
    latency, sql, python = spans_of(path)
    n = check(f"{what}: SQL's spans", sql, latency) + check(f"{what}: Python's spans", python, latency)
    sql, python = states_of(path)
    n += check(f"{what}: Python's states", python, sql)
    for kind, key, verb in ("thread", "pid", ["sched"]), ("cpu", "cpu", ["sched", "--by", "cpu"]):
        for row in rows(verb, path):
            number, layer = row["key"][key], row["key"]["layer"]
            if number is None or (kind == "thread" and number <= 0):
                continue
            ours = {name: sum(sql.get((kind, layer, number, state), 0) for state in PARTS[name]) for name in PARTS if name in row}
            n += check(f"{what}: {kind} {number} of {layer}", ours, {name: row[name] or 0 for name in ours})
    return n


PLANTS = {
    "whole": lambda host: None,
    "a loss": lambda host: host.lose(1, len(host.cpus[1]) // 5, len(host.cpus[1]) * 2 // 5, True),
    "no CPU 1": lambda host: host.remove_cpu(1),
    "half of CPU 1": lambda host: host.cut_cpu(1, len(host.cpus[1]) // 2),
    "CPU 1 begins late": lambda host: host.begin_late(1, len(host.cpus[1]) // 3),
}


def main():
    seed = int(os.environ.get("STRATA_TEST_SEED") or 12)
    n = 0
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        try:
            for name, plant in PLANTS.items():
                for states_files in True, False:
                    make("made", seed, plant, states_files)
                    what = f"{name}{'' if states_files else ', lengths not stated'}"
                    n += check_trace(what, "made")
                    n += same_exports.check(what, "made", output, ask)
                    output("merge", "-o", "merged", "made")
                    output("export", "-k", "--no-causal", "--to", "ctf", "-o", "exported", "made")
                    for copy in "merged", "exported":
                        n += check_trace(f"{what}, {copy}", copy)
                        check(f"{what}: {copy} states", states_of(copy)[0], states_of("made")[0])
                        check(f"{what}: {copy} spans", spans_of(copy)[0], spans_of("made")[0])
                        shutil.rmtree(copy)
                    shutil.rmtree("made")
            make("made", seed, PLANTS["whole"], True)
            output("export", "--no-causal", "--to", "trace.dat", "--layer", "host", "-o", "whole.dat", "made")
            with open("whole.dat", "rb") as whole, open("cut.dat", "wb") as cut:
                cut.write(whole.read(os.path.getsize("whole.dat") * 6 // 10))
            n += same_exports.check("cut trace.dat", "cut.dat", output, ask)
        except SystemExit as error:
            sys.exit(f"seed {seed}: {error}")
    assert n > 1000, n
    if duckdb.missing():
        print(f"same_tables: SKIPPED in part: {duckdb.missing()}", file=sys.stderr)


main()
