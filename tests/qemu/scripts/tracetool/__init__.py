# SPDX-License-Identifier: MIT
"""Stands for QEMU's package of that name: what a backend in Python takes from it, and nothing more."""

import re

_file = None


def out_open(path):
    global _file
    _file = open(path, "w", encoding="utf-8")


def out(*lines, **values):
    for line in lines:
        _file.write(line % values + "\n")


class Arguments(list):
    """Pairs of type and name."""

    def __str__(self):
        return ", ".join(t + ("" if t.endswith("*") else " ") + n for t, n in self) or "void"

    def names(self):
        return [name for _, name in self]

    def rust_decl_extern(self):
        return ", ".join(f"_{name}: {type_}" for type_, name in self)

    def rust_call_extern(self):
        return ", ".join("_" + name for name in self.names())


class Event:
    QEMU_DSTATE = "_TRACE_%(NAME)s_DSTATE"

    def __init__(self, line, lineno, filename):
        found = re.match(r"((?:\w+ )*)(\w+)\(([^)]*)\)\s*(\".*)?", line)
        self.properties = found[1].split()
        self.name = found[2]
        self.args = Arguments()
        self.fmt = found[4] or ""
        self.lineno = lineno
        self.filename = filename
        if "vcpu" in self.properties:
            self.args.append(("void *", "__cpu"))
            self.fmt = '"cpu=%p "' + self.fmt
        for argument in found[3].split(","):
            if argument.strip() != "void":
                self.args.append(re.match(r"\s*(.*?[ *])\s*(\w+)$", argument).groups())
        self.args[:] = [(type_.rstrip(), name) for type_, name in self.args]

    def api(self, name="trace_%(name)s"):
        return name % {"name": self.name, "NAME": self.name.upper()}


def read_events(path):
    with open(path, encoding="utf-8") as file:
        return [Event(line, number, path) for number, line in enumerate(file, 1)
                if line.strip() and not line.startswith("#")]
