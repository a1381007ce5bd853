#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The public headers: any two of them can be included together, in either order, in C and in C++; and each
library exports what its headers declare with STRATA_API, no more and no less, as its symbol map lists it.

    tests/public_headers.py BUILD
"""
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = TREE / "include"
# Headers and symbol map of each library.
LIBRARIES = {
    "src/reader/libstrata-read.so": (["read.h"], "src/reader/libstrata-read.map"),
    "src/runtime/libstrata.so": (["trace.h", "ring.h"], "src/runtime/libstrata.map"),
    "src/monitor/libstrata-monitor.so": (["monitor.h"], "src/monitor/libstrata-monitor.map"),
}
failures = []


def compile_pairs(scratch):
    headers = sorted(path.name for path in (INCLUDE / "strata").glob("*.h"))
    languages = [("gcc", "c", ["-std=c11"]), ("g++", "c++", ["-std=c++11"])]
    for compiler, language, options in languages:
        # One translation unit per pair; one call of the compiler for all of them.
        sources = []
        for first, second in itertools.permutations(headers, 2):
            source = scratch / f"{first}-{second}.{'c' if language == 'c' else 'cc'}"
            source.write_text(f"#include <strata/{first}>\n#include <strata/{second}>\n")
            sources.append(source)
        result = subprocess.run(
            [compiler, *options, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{INCLUDE}", *sources],
            capture_output=True, text=True)
        if result.returncode != 0:
            failures.append(f"two headers do not compile together as {language}:\n{result.stderr[:4000]}")
    assert len(headers) >= 7, headers


def declared(header):
    text = re.sub(r"/\*.*?\*/", "", (INCLUDE / "strata" / header).read_text(), flags=re.S)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    names = set()
    for match in re.finditer(r"\bSTRATA_API\b([^;{]*)[;{]", text):
        declaration = re.sub(r"__attribute__\s*\(\(.*?\)\)\s*\)?", "", match.group(1))
        name = re.search(r"\b(strata_\w+)\s*\(", declaration) or re.search(r"\b(strata_\w+)\s*$", declaration)
        names.add(name.group(1))
    return names


def listed(path):
    """The symbols of a map, each of which must stand by itself, in a node named after a version."""
    names = set()
    for line in (TREE / path).read_text().splitlines():
        line = line.strip()
        if re.fullmatch(r"STRATA_[A-Z]+_\d+\.\d+ \{|global:|local:|\*;|\}( STRATA_[A-Z]+_\d+\.\d+)?;|", line):
            continue
        if not re.fullmatch(r"strata_\w+;", line):
            failures.append(f"{path}: '{line}' is neither a symbol nor a version")
        names.add(line.rstrip(";"))
    return names


def exported(path):
    options = ["-D"] if path.suffix == ".so" else ["-g"]
    lines = subprocess.run(["nm", *options, "--defined-only", path], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    symbols = [line.split() for line in lines if len(line.split()) == 3]
    return {name.split("@")[0] for _, kind, name in symbols if kind != "A"}


def check_symbols(build):
    for library, (headers, symbol_map) in LIBRARIES.items():
        wanted = set.union(*(declared(header) for header in headers))
        assert len(wanted) > 5, library
        archive = library.replace(".so", ".a")
        for what, names in ((symbol_map, listed(symbol_map)), (library, exported(build / library)),
                            (archive, exported(build / archive))):
            for name in sorted(wanted - names):
                failures.append(f"{what} lacks {name}, which {' or '.join(headers)} declares")
            for name in sorted(names - wanted):
                failures.append(f"{what} has {name}, which no header declares")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        compile_pairs(pathlib.Path(scratch))
    check_symbols(pathlib.Path(sys.argv[1]))
    if failures:
        sys.exit("\n".join(failures))
    print("headers compile in pairs; libraries export what they declare")


main()
