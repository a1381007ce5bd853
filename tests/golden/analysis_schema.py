#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What all analyses print as JSON fits data/analysis.schema.json, and has no member that is not in it.

analysis_schema.py STRATA SCHEMA LIB        in the directory with the traces"""

import json
import subprocess
import sys

sys.dont_write_bytecode = True

STRATA, SCHEMA, LIB = sys.argv[1:4]
sys.path.insert(0, LIB)
import json_schema  # noqa: E402

try:
    import jsonschema  # checks the same, if it is installed
except ImportError:
    jsonschema = None

TRACES = (["xen-4.17-all", "--cpu-vendor=amd"], ["xen-4.22-all"], ["xen-4.22-all", "--cpu-hz=2G"], ["kvm"], ["perf.ctf"],
          ["vm"], ["guest"], ["v4.simpletrace"])
COMMANDS = {
    "result": ["latency", "latency --every=0.2 --slowest=3", "latency --percentiles=50,99.9 --by=cpu,task",
               "exits", "exits --by=detail,vcpu --slowest=2", "exits --handled --no-idle", "sched", "sched --by=cpu",
               "sched --by=vcpu --slowest=3", "sched --by=domain", "sched --by=domain --xenalyze-names",
               "sched --latency", "sched --who", "sched --wakers", "sched --states", "path --slowest=3", "path --waits --slowest=2",
               "sched --states --by=cpu --slowest=2", "sched --states --by=domain", "sched --every=0.5 --by=vcpu",
               "io", "io --slowest=4 --every=0.5", "irq",
               "irq --by=cpu,layer --slowest=3", "irq --every=0.1"],
    "span": ["latency --events", "exits --events", "io --events", "irq --events", "sched --events --limit=2000", "path --events"],
    "summary": ["summary", "summary --limit=2000"],
    "stat": ["stat", "stat --by=cpu", "stat --by=task", "stat --by=layer", "stat --by=vcpu", "stat --by=source-event",
             "stat --by=event,cpu", "stat --every=0.5 --gaps=3"],
}
DIFFS = ("stat", "latency", "exits", "io", "irq", "sched")
KINDS = {"count": "integer", "duration": "integer", "time": "integer", "error": "integer", "rate": "number",
         "share": "number", "text": "string"}

with open(SCHEMA) as file:
    checker = json_schema.Checker(json.load(file))
used = {}


def values(text):
    """The JSON values of TEXT, one after the other."""
    decoder, at = json.JSONDecoder(), 0
    while text[at:].strip():
        value, at = decoder.raw_decode(text, at + len(text[at:]) - len(text[at:].lstrip()))
        yield value


def fail(command, what):
    sys.exit(f"analysis_schema: strata {command}: {what}")


def check_columns(command, result):
    """Values are of the kinds that the result states, or null where the schema has that."""
    kinds = dict(zip(result["columns"], result["kinds"], strict=True))
    for row in result["rows"]:
        for name, value in row.items():
            if name not in ("key", "series") and value is not None and not json_schema.has_type(value, KINDS[kinds[name]]):
                fail(command, f"{name} is {value!r}, not of kind {kinds[name]}")


def check(command, arguments, definition):
    done = subprocess.run([STRATA, *command.split(), "-fjson", *arguments], capture_output=True, text=True)
    command = " ".join([command, *arguments])
    if done.returncode == 1 and not done.stdout:
        return
    if done.returncode != 0 and "strata: none of the " not in done.stderr:
        fail(command, done.stderr)
    for value in values(done.stdout):
        try:
            checker.check(value, checker.definition(definition))
            # Of all that the schema allows, it is one.
            checker.check(value, checker.schema)
        except json_schema.Mismatch as mismatch:
            fail(command, mismatch)
        if jsonschema and used.get(definition, 0) < 20:
            jsonschema.validate(value, checker.schema)
        for result in [value] if definition == "result" else [part["result"] for part in value.get("results", ())]:
            check_columns(command, result)
        used[definition] = used.get(definition, 0) + 1


def check_refusals():
    """What must not fit does not: the schema would say so of a member more or less, and of another type."""
    text = subprocess.run([STRATA, "exits", "-fjson", "kvm"], capture_output=True, text=True, check=True).stdout
    for change in (lambda v: v.update(more=1), lambda v: v.pop("lost"), lambda v: v["rows"][0].update(more=1),
                   lambda v: v["rows"][0].update(n="1"), lambda v: v["rows"][0].update(part=1.0),
                   lambda v: v["lost"].update(events=-1), lambda v: v.update(unit="s"),
                   lambda v: v["rows"][0]["key"].update(reason=None)):
        value = json.loads(text)
        change(value)
        if checker.fits(value, checker.definition("result")) or checker.fits(value, checker.schema):
            fail("exits kvm", "fits although it was changed")


if jsonschema:
    jsonschema.Draft7Validator.check_schema(checker.schema)
check_refusals()
for trace in TRACES:
    for definition, commands in COMMANDS.items():
        for command in commands:
            check(command, trace, definition)
for analysis in DIFFS:
    for pair in (["vm", "vm"], ["kvm", "kvm"], ["xen-4.22-all", "xen-4.22-all"]):
        done = subprocess.run([STRATA, "diff", "-fjson", *pair, analysis], capture_output=True, text=True)
        for value in values(done.stdout):
            try:
                checker.check(value, checker.definition("diff"))
            except json_schema.Mismatch as mismatch:
                fail(f"diff {pair} {analysis}", mismatch)
            used["diff"] = used.get("diff", 0) + 1
for definition in [*COMMANDS, "diff"]:
    if used.get(definition, 0) < 5:
        fail("...", f"prints no {definition}")
