# SPDX-License-Identifier: MIT
"""Exports of a trace have its spans, states and losses: SQLite's file read by sqlite3, Parquet's by DuckDB, Perfetto's by protoc, and a
trace.dat of each layer by strata itself."""
import collections
import os
import shutil
import sqlite3
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "golden"), os.path.join(HERE, "lib")]
import duckdb  # noqa: E402
import export_timeline  # noqa: E402

SPANS = "SELECT name, count(*) AS n, sum(duration_ns) AS sum FROM {span} WHERE cut IS NULL GROUP BY 1"
STATES = "SELECT kind, layer, id, state, sum(duration_ns) AS sum FROM {state} GROUP BY 1, 2, 3, 4"
LOSSES = "SELECT cpu, time_ns, since_ns, lost FROM {loss}"
CPUS = "SELECT layer, id, state, begin_ns, end_ns FROM {state} WHERE kind = 'cpu'"


def by_key(rows):
    """Sums by what they are of, but for those of 0."""
    return {tuple(row[:-1]): int(row[-1]) for row in rows if int(row[-1])}


def sqlite(export, _):
    export("sqlite", "out")
    db = sqlite3.connect("out")
    tables = {name: name for name in ("span", "state", "loss")}
    answers = [db.execute(query.format(**tables)).fetchall() for query in (SPANS, STATES, LOSSES)]
    db.close()
    return answers


def parquet(export, _):
    export("parquet", "out", "--host-name=made")
    tables = {name: f"read_parquet('out/{name}/**/*.parquet')" if os.path.isdir(f"out/{name}") else
              "(SELECT NULL AS cpu, NULL AS time_ns, NULL AS since_ns, NULL AS lost WHERE false)" for name in ("span", "state", "loss")}
    return [duckdb.query(query.format(**tables), ".") for query in (SPANS, STATES, LOSSES)]


def slices_of_cpus(export):
    """What is drawn on the tracks of CPUs, outermost: (begin, end, name) by layer and CPU."""
    export("perfetto", "out")
    with open("out", "rb") as file, open("decoded", "wb") as decoded:
        subprocess.run(["protoc", "--decode=perfetto.protos.Trace", "-I", os.path.join(HERE, "../src/export/timeline"), "perfetto.proto"],
                       stdin=file, stdout=decoded, check=True)
    slices, begun, last = collections.defaultdict(list), collections.defaultdict(list), 0
    for mark in export_timeline.perfetto("decoded"):
        track, last = tuple(mark.track), max(last, mark.ns)
        if mark.kind == "B":
            begun[track].append(mark)
        elif mark.kind == "E":
            begin = begun[track].pop()
            if not begun[track]:
                slices[track].append((begin.ns, mark.ns, begin.name))
    for track, marks in begun.items():
        if marks:
            slices[track].append((marks[0].ns, last, marks[0].name))
    os.remove("decoded")
    return slices


def check_perfetto(what, export, states):
    """A slice of what runs is only where the CPU runs, and `unknown` only where its state is. What runs on after a loss without a switch
    has no slice."""
    slices, n = slices_of_cpus(export), collections.Counter()
    for layer, cpu, state, begin, end in states:
        middle = (begin + end) // 2
        here = [name for track, drawn in slices.items() if track[0] == f"CPU {cpu}" and layer in " ".join(track[1:])
                for since, until, name in drawn if since <= middle < until]
        is_unknown = "unknown" in here
        is_drawn = any(name != "unknown" for name in here)
        if begin == end or state not in ("running", "idle", "unknown"):
            continue
        if (is_drawn and state != "running") or (is_unknown and state != "unknown"):
            sys.exit(f"{what}: Perfetto: CPU {cpu} of {layer} is {state} at {middle}, and {here} is drawn")
        n[state] += is_drawn or state != "running"
    assert n["running"] > 20 and n["idle"] > 5, n
    return sum(n.values())


def check(what, path, output, ask):
    """OUTPUT runs strata, ASK a query of its own SQL. Returns how many numbers were compared."""
    tables = {name: name for name in ("span", "state", "loss")}
    wanted = [[tuple(row.values()) for row in ask(query.format(**tables), path)] for query in (SPANS, STATES)]
    # Of what is not known, JSON has no member.
    wanted.append([tuple(row.get(name) for name in ("cpu", "time_ns", "since_ns", "lost")) for row in ask(LOSSES.format(**tables), path)])

    def export(form, out, *options):
        output("export", "-k", "--no-causal", "--to", form, *options, "-o", out, path)

    n = 0
    for read in sqlite, *([parquet] if not duckdb.missing() else []):
        for mine, theirs in zip(read(export, path), wanted):
            mine, theirs = (collections.Counter(tuple(map(str, row)) for row in rows) for rows in (mine, theirs))
            if mine != theirs:
                sys.exit(f"{what}: {read.__name__}: {sorted((mine - theirs).elements())[:3]}, not {sorted((theirs - mine).elements())[:3]}")
            n += len(theirs)
        shutil.rmtree("out", ignore_errors=True)
        if os.path.exists("out"):
            os.remove("out")
    n += check_perfetto(what, export, [tuple(row.values()) for row in ask(CPUS.format(**tables), path)])
    os.remove("out")
    for layer in {row[1] for row in wanted[1]}:
        export("trace.dat", "out", f"--layer={layer}")
        # A trace.dat does not say that its kernel is a guest's.
        mine = by_key((kind, *rest) for kind, _, *rest in (row.values() for row in ask(STATES.format(**tables), "out")))
        theirs = by_key((kind, *rest) for kind, of, *rest in wanted[1] if of == layer)
        if mine != theirs:
            sys.exit(f"{what}: trace.dat of {layer}: {sorted(set(mine.items()) ^ set(theirs.items()), key=str)[:4]}")
        n += len(theirs)
        os.remove("out")
    return n
