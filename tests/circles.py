#!/usr/bin/env python3
"""circles.py TABLE ARCHIVE...: no file of src/ needs, directly or through others, a file that needs it, by the symbols of the
objects in the ARCHIVEs of the build. Circles that are one idea are in TABLE, by the names of their files.

circles.py --self-test TABLE ARCHIVE...: a circle that is put into copies is found.
circles.py --list ARCHIVE...: prints all circles, and what makes them."""

import os
import subprocess
import sys


def read_objects(archives):
    """The symbols that objects define and use, by name."""
    defined, used = {}, {}
    for archive in archives:
        # Thin archives name their objects.
        out = subprocess.run(["nm", "-g", archive], capture_output=True, text=True, check=True).stdout
        name = None
        for line in out.splitlines():
            words = line.split()
            if len(words) == 1 and line.endswith(".o:"):
                name = os.path.basename(archive)[3:-2] + ":" + os.path.basename(line[:-1]).removesuffix(".c.o")
            elif len(words) == 2 and words[0] in "Uwv":
                used.setdefault(name, set()).add(words[1])
            elif len(words) == 3:
                defined.setdefault(words[2], set()).add(name)
    return defined, used


def make_graph(defined, used):
    graph = {}
    for name, symbols in used.items():
        needs = graph.setdefault(name, {})
        for symbol in symbols:
            homes = defined.get(symbol, set())
            if name in homes:
                continue
            # The same file may be in several archives.
            near = [home for home in homes if home.split(":")[0] == name.split(":")[0]] or sorted(homes)[:1]
            for home in near:
                needs.setdefault(home, set()).add(symbol)
    return graph


def find_circles(graph):
    """Sets of files that need each other (Tarjan's algorithm)."""
    number, low, stack, circles = {}, {}, [], []

    def visit(name):
        number[name] = low[name] = len(number)
        stack.append(name)
        for other in graph.get(name, ()):
            if other not in number:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], number[other])
        if low[name] == number[name]:
            at = stack.index(name)
            if len(stack) - at > 1:
                circles.append(frozenset(stack[at:]))
            del stack[at:]

    sys.setrecursionlimit(10000)
    for name in sorted(graph):
        if name not in number:
            visit(name)
    return circles


def file_of(name):
    return name.split(":")[1].split("_.._")[-1]


def read_table(path):
    """Lines "FILE...: why they are one idea"; # begins a comment."""
    rows = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.split("#")[0].strip()
            if line:
                names, colon, why = line.partition(":")
                assert colon and why.strip(), f"{path}: say why: {line}"
                rows.append(frozenset(names.split()))
    return rows


def show(graph, circle, out):
    print(" ".join(sorted(file_of(name) for name in circle)), file=out)
    for name in sorted(circle):
        for other, symbols in sorted(graph[name].items()):
            if other in circle:
                print(f"  {file_of(name)} needs {file_of(other)}: {', '.join(sorted(symbols)[:6])}", file=out)


def check(graph, table):
    """Whether each circle is in TABLE."""
    new = [circle for circle in find_circles(graph) if not any({file_of(n) for n in circle} <= row for row in table)]
    for circle in new:
        print("these files need each other in a circle:", file=sys.stderr)
        show(graph, circle, sys.stderr)
    return not new


def main():
    words = sys.argv[1:]
    option = words.pop(0) if words[0].startswith("--") else None
    table = read_table(words.pop(0)) if option != "--list" else []
    defined, used = read_objects(words)
    assert len(used) > 10, "no objects"
    graph = make_graph(defined, used)
    if option == "--list":
        for circle in sorted(find_circles(graph), key=sorted):
            show(graph, circle, sys.stdout)
        return
    if not check(graph, table):
        sys.exit("cut the circle, or say in tests/circles.txt why it is one idea")
    if option == "--self-test":
        # The lowest file that another needs calls that one.
        lowest, user = next((other, name) for name in sorted(graph) for other in graph[name] if not graph.get(other))
        graph.setdefault(lowest, {})[user] = {"symbol"}
        assert not check(graph, table), "the circle is not found"


main()
