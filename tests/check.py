#!/usr/bin/env python3
"""tools/check on a pseudo terminal: no step is at the terminal or waits for somebody there, and the last line comes.

What check runs is replaced by programs that fail if their standard input is a terminal, and by a demo that, as the real
one does, waits on a terminal unless it is called with --no-view. What is tested is tools/check.

The tests that tests/plain_only and tests/plain_too name are there.

    tests/check.py TESTS    TESTS is meson-info/intro-tests.json of a plain build
"""

import json
import os
import pathlib
import platform
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 240  # seconds without a word after which check is taken to wait for ever

STEP = """#!/bin/sh
[ ! -t 0 ] || { echo "$0 $* reads the terminal"; exit 1; }
"""
DEMO = STEP + """[ ! -t 1 ] || [ "${1-}" = --no-view ] || exec sleep 100000
"""
MESON = STEP + """case $1 in
setup) mkdir -p "$2" && touch "$2/build.ninja" ;;
test)
    mkdir -p "$3/meson-logs"
    # Without --suite, each of the two runs in one build.
    case "$3 $* " in
    *" --suite "*) ;;
    "build "*" one "*) exit 1 ;;
    "build "*" two "* | "build-asan "*" one "* | "build-tsan "*) ;;
    *) exit 1 ;;
    esac
    echo '{"name": "strata:unit / one", "result": "OK", "duration": 2.5}' >"$3/meson-logs/testlog.json"
    ;;
introspect)
    case $* in
    *" build") echo '[{"name": "one", "suite": []}, {"name": "two", "suite": []}]' ;;
    *) echo '[{"name": "one", "suite": []}]' ;;
    esac
    ;;
esac
"""
FUZZ = STEP + """[ "$1" = --build ] || echo "3 passed, 0 failed"
"""


def install(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def run_on_terminal(tree, *options, path=None):
    """Runs tools/check in tree; returns its exit status and the lines that it showed."""
    environment = dict(os.environ, PATH=f"{tree / 'bin'}:{path or os.environ['PATH']}")
    ours, theirs = pty.openpty()
    check = subprocess.Popen([tree / "tools" / "check", *options], stdin=theirs, stdout=theirs, stderr=theirs,
                             env=environment, start_new_session=True)
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], LIMIT)[0]:
        try:
            read = os.read(ours, 65536)
        except OSError:  # EIO: all that had the terminal open have ended
            read = b""
        if not read:
            return check.wait(), shown.decode().replace("\r", "").splitlines()
        shown += read
    os.killpg(check.pid, 9)
    sys.exit(f"check {options} waits for ever; it showed:\n{shown.decode()}")


def check_names(tests):
    """A name of a test that there is no more would be overlooked, and the test be run once instead of twice."""
    # Of some, a plain build has that of one linkage, and a sanitized one that of another.
    there = {test["name"].removesuffix("-archive") for test in json.loads(pathlib.Path(tests).read_text())}
    for name in ["plain_only", "plain_too"]:
        lines = (TREE / "tests" / name).read_text().splitlines()
        missing = {line for line in lines if not line.startswith("#")} - there
        if platform.machine() != "x86_64":
            missing.discard("guest")
        assert not missing, f"tests/{name} names what is no test: {sorted(missing)}"


def main():
    check_names(sys.argv[1])
    if not shutil.which("jq"):
        print("SKIPPED: jq is not installed")
        return 77
    with tempfile.TemporaryDirectory() as scratch:
        tree = pathlib.Path(scratch)
        (tree / "tools").mkdir()
        for name in ["check", "test-results"]:
            shutil.copy(TREE / "tools" / name, tree / "tools" / name)
        for path, text in [("tools/format-check", STEP), ("tools/tidy-check", STEP), ("tools/demo", DEMO), ("fuzz/run", FUZZ),
                           ("bin/meson", MESON), ("bin/ninja", STEP), ("bin/clang-format-14", STEP), ("bin/clang-tidy-14", STEP),
                           ("bin/git", STEP)]:
            install(tree / path, text)
        install(tree / "build/guest/debs/complete", "")
        for name in ["plain_only", "plain_too"]:
            install(tree / "tests" / name, "# Why.\n")

        status, lines = run_on_terminal(tree)
        output = "\n".join(lines)
        assert status == 0, output
        # formatting, build, tests, demo, clang-tidy, ASan, its tests, TSan, its tests, fuzz targets and their three
        assert lines[-1] == "13 passed, 0 failed", output
        assert re.search(r"^== Plan: ", output, re.M), output
        assert re.search(r"^2 s  one \(tests\)$", output, re.M), output

        status, lines = run_on_terminal(tree, "--quick")
        assert status == 0 and lines[-1] == "4 passed, 0 failed", "\n".join(lines)

        # Without git it is not known what changed.
        (tree / "no-git").mkdir()
        for directory in os.environ["PATH"].split(":"):
            for tool in pathlib.Path(directory).glob("*"):
                if tool.name != "git" and not (tree / "no-git" / tool.name).is_symlink():
                    (tree / "no-git" / tool.name).symlink_to(tool)
        (tree / "bin/git").unlink()
        status, lines = run_on_terminal(tree, "--quick", path=tree / "no-git")
        install(tree / "bin/git", STEP)
        output = "\n".join(lines)
        assert status == 0 and lines[-1].startswith("3 passed, 0 failed"), output
        assert re.search(r"clang-tidy: git is not installed", output), output

        install(tree / "tools/demo", STEP + "exit 1\n")
        status, lines = run_on_terminal(tree)
        assert status == 1 and lines[-1] == "12 passed, 1 failed", "\n".join(lines)

        # What runs beside the tests counts, too; without a build none of its tests.
        install(tree / "tools/demo", DEMO)
        install(tree / "bin/meson", MESON.replace('"result": "OK"', '"result": "\'$(case $3 in build-asan) echo FAIL ;; *) echo OK ;; esac)\'"'))
        status, lines = run_on_terminal(tree)
        output = "\n".join(lines)
        assert status == 1 and lines[-1] == "12 passed, 1 failed", output
        assert "tests under ASan and UBSan: one: FAIL" in output, output
        install(tree / "bin/meson", MESON)
        install(tree / "bin/ninja", STEP + 'case "$*" in *build-asan*) exit 1 ;; esac\n')
        status, lines = run_on_terminal(tree)
        output = "\n".join(lines)
        assert status == 1 and lines[-1] == "11 passed, 1 failed", output
    return 0


sys.exit(main())
