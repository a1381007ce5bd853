#!/usr/bin/env python3
"""The commands in the examples of the manual are commands: their options and operands are accepted. They are started in an empty
directory, where no trace is; a recording only prints its configuration."""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

STRATA = os.path.join(os.environ["STRATA_BIN"], "strata")
MAN = pathlib.Path(__file__).parent.parent.parent / "docs" / "man"
# What these do is not limited to a directory.
LEFT_OUT = {"agent", "recover", "help"}


def lines_of(page):
    """The lines of literal text, continued lines joined."""
    text = page.read_text()
    text = re.sub(r"\\\(dq", '"', text).replace("\\&", "").replace("\\e\n", " ").replace("\\e", "\\").replace("\\-", "-")
    literal, joined = False, ""
    for line in text.splitlines():
        if line.startswith(".Dl "):
            yield line[4:]
        elif line.startswith(".Bd -literal"):
            literal = True
        elif line == ".Ed":
            literal = False
        elif literal:
            joined += line
            if joined.count('"') % 2 or joined.count("'") % 2:
                joined += "\n"
                continue
            yield joined
            joined = ""


def commands(line):
    """The words of each `strata VERB …` in a line for a shell."""
    line = re.sub(r"^(\w*[$#] |)", "", line)
    found = re.match(r"(?:[A-Z_]+=\S+ )*strata ([a-z]+)\b", line)
    if not found or found[1] in LEFT_OUT:
        return
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = []
    for word in lexer:
        if word in ("|", "&", ">", "<", ">>", "||", "&&", "#", ";"):
            break
        words.append(word)
    yield words[words.index("strata") + 1:]


def arguments(words):
    """The same, so that nothing waits or records."""
    if words[0] == "record":
        at = words.index("--") if "--" in words else len(words)
        return words[:at] + ["--print-config"] + words[at:]
    if words[0] == "collect" and not any(w.startswith("--print-") for w in words):
        return words + ["--time=0.01", "--key=/dev/null"]
    return words


def main():
    tried, failed = 0, 0
    with tempfile.TemporaryDirectory() as empty:
        for page in sorted(MAN.glob("*.[1-8]")):
            for line in lines_of(page):
                for words in commands(line):
                    if "..." in words:
                        continue
                    tried += 1
                    environment = {**os.environ, "HOME": empty, "XDG_RUNTIME_DIR": empty, "TERM": "dumb"}
                    done = subprocess.run([STRATA, *arguments(words)], cwd=empty, stdin=subprocess.DEVNULL, env=environment,
                                          capture_output=True, text=True, timeout=240)
                    if done.returncode == 2 and words[0] != "top":
                        failed += 1
                        print(f"{page.name}: {line}\n  {done.stderr.strip()}", file=sys.stderr)
    assert tried > 100, tried
    sys.exit(f"{failed} of {tried} examples are not accepted" if failed else 0)


main()
