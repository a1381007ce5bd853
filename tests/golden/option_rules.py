#!/usr/bin/env python3
"""Each option that is declared to require or to exclude others is refused without them, or with them."""

import lzma
import os
import re
import subprocess
import sys
import tempfile

STRATA = os.path.join(os.environ["STRATA_BIN"], "strata")
# What stands for an argument; a choice is its last word, as the first is the default.
SAMPLES = {"SIZE": "64M", "SECONDS": "1", "N": "3", "TIME|SIZE": "5m", "CONDITION": "exit", "GLOB": "sched:*",
           "TIME": "+1", "LIST": "0"}
# What else a verb needs; a case of its own by its option.
OPERANDS = {"top": [], "export": ["--to=csv", "t"], "gen": ["-fh", "--backend=nop", "-gx", "t"], "recover": [],
            "collect": ["-oo", "-esched:*", "./p"], "record": ["-oo", "--host"]}
OWN = {"host-threads": ["-oo", "--guest=a=/p"], "restart": ["--live", "--guest=a=/p"]}


with lzma.open(os.path.join(os.environ["DATA"], "xen", "xen-4.17-no-guest-class.raw.xz")) as file:
    TRACE = file.read()


def words(verb, option, arguments):
    """"--format=csv" as given, or an option with an argument of its own."""
    name, _, value = option.removeprefix("--").partition("=")
    argument = arguments[verb, name]
    if not argument:
        return [f"--{name}"]
    if not value or value.isupper():
        value = SAMPLES.get(argument, argument.split("|")[-1])
    return [f"--{name}={value}"]


def run(verb, given):
    with tempfile.TemporaryDirectory() as empty:
        with open(os.path.join(empty, "t"), "wb") as trace:
            trace.write(TRACE)
        return subprocess.run([STRATA, verb, *given], cwd=empty, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=240)


def main():
    rules, arguments, requires, verb = [], {}, {}, None
    dump = subprocess.run([sys.argv[1]], check=True, text=True, stdout=subprocess.PIPE).stdout
    for line in dump.splitlines():
        kind, *fields = line.split("\t")
        if kind == "verb":
            verb = fields[0]
        elif kind == "option":
            arguments[verb, fields[1]] = fields[2]
            requires[verb, fields[1]] = re.findall(r"--\S+[^\s,]", fields[7])[:1]
            rules += [(verb, fields[1], True, fields[7])] if fields[7] else []
            rules += [(verb, fields[1], False, other) for other in re.findall(r"--\S+[^\s,]", fields[8])]
    assert len(rules) > 60
    failed = 0
    for verb, name, is_required, other in rules:
        given = words(verb, f"--{name}", arguments)
        if not is_required:
            given += words(verb, other, arguments)
            for needed in requires[verb, name]:
                given += words(verb, needed, arguments)
        operands = OWN.get(name, OPERANDS.get(verb, ["t"]))
        if verb == "collect" and name == "restart":
            operands = ["--live", "-esched:*", "./p"]
        done = run(verb, operands + given)
        said = "require" in done.stderr if is_required else "exclude" in done.stderr
        if done.returncode not in (1, 2) or not said or not {f"--{name}", other} & set(re.findall("--[a-z-]+", done.stderr)):
            failed += 1
            print(f"strata {verb} {' '.join(given)} ({'requires' if is_required else 'excludes'} {other}): "
                  f"{done.returncode}, {done.stderr.strip()}", file=sys.stderr)
    sys.exit(f"{failed} of {len(rules)} options are not as declared" if failed else 0)


main()
