"""Runs the examples of the README and of the guide and compares what they print.

    tests/readme.py DIR [--update] PAGE...    compare; DIR is where the commands run
                                              --update: write what they print into the pages

An example is a fenced block marked `console`: lines that begin with "$ " are commands, run by one
shell per page from the first block to the last; the lines after a command are its output (with standard
error), of a terminal of 100 columns. A line "..." stands for any number of lines. --update keeps as many lines above and below a
"..." as there were.

A table whose head is "question", "command" has commands in its last column; those that end by themselves have to succeed.

A fenced block marked `python NAME` is written into the file DIR/NAME before the commands run.
"""

import difflib
import os
import re
import subprocess
import sys

ELISION = "..."
MARK = "@@end-of-example@@"


def examples(text):
    """Yields (command, expected lines, start, end) with the place of the output in TEXT."""
    for block in re.finditer(r"^```console\n(.*?)^```$", text, re.M | re.S):
        lines = list(re.finditer(r".*\n", block.group(1)))
        i = 0
        while i < len(lines):
            command = lines[i].group()
            if not command.startswith("$ "):
                sys.exit(f"'{command.strip()}' comes after no command")
            i += 1
            while command.endswith("\\\n"):
                command += lines[i].group()
                i += 1
            first = i
            while i < len(lines) and not lines[i].group().startswith("$ "):
                i += 1
            start = block.start(1) + (lines[first].start() if first < len(lines) else lines[-1].end())
            end = block.start(1) + lines[i - 1].end() if i > first else start
            yield command[2:].rstrip("\n"), text[start:end].splitlines(), start, end


def table_commands(text):
    """The commands of tables of questions, without those that go on until they are ended."""
    for table in re.finditer(r"^\| question \| command \|\n\|[-|]+\n((?:\|.*\n)+)", text, re.M):
        for row in table.group(1).splitlines():
            command = re.fullmatch(r"\|.*\| `([^|]*)` \|", row)
            if not command:
                sys.exit(f"no command: {row}")
            if not re.match(r"strata (top|view) ", command.group(1)):
                yield command.group(1)


def failing(path, text, directory):
    """How many of these commands there are, and how many fail."""
    commands = list(table_commands(text))
    failed = 0
    for command in commands:
        done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              cwd=directory, text=True)
        if done.returncode != 0:
            failed += 1
            print(f"{path}: $ {command}\nexit status {done.returncode}: {done.stdout}")
    return len(commands), failed


def run(commands, directory):
    """The output lines of each command, all run by one shell."""
    script = "".join(f"{{ {command}\n}} 2>&1 </dev/null\nprintf '\\n%s %d\\n' {MARK} $?\n" for command in commands)
    out = subprocess.run(["sh"], input=script, stdout=subprocess.PIPE, cwd=directory, text=True, check=True,
                         env=os.environ | {"COLUMNS": "100"}).stdout
    pieces = re.split(rf"\n{MARK} (\d+)\n", out)
    return [piece.removesuffix("\n").splitlines() for piece in pieces[:-1:2]]


def matches(expected, got):
    if ELISION not in expected:
        return expected == got
    at = expected.index(ELISION)
    head, tail = expected[:at], expected[at + 1:]
    return len(got) >= len(head) + len(tail) and got[:at] == head and (not tail or got[-len(tail):] == tail)


def shortened(expected, got):
    """GOT, cut where EXPECTED is."""
    if ELISION not in expected or len(got) <= len(expected):
        return got
    at = expected.index(ELISION)
    below = len(expected) - at - 1
    return got[:at] + [ELISION] + (got[-below:] if below else [])


def check(path, directory, update):
    """How many examples PATH has, and how many print something else."""
    text = open(path, encoding="utf-8").read()
    for block in re.finditer(r"^```python ([\w.-]+)\n(.*?)^```$", text, re.M | re.S):
        with open(os.path.join(directory, block.group(1)), "w", encoding="utf-8") as file:
            file.write(block.group(2))
    found = list(examples(text))
    outputs = run([command for command, *_ in found], directory)
    if len(outputs) != len(found):
        sys.exit(f"{path}: {len(found)} examples, but only {len(outputs)} ran to their end")

    wrong = 0
    for (command, expected, start, end), got in reversed(list(zip(found, outputs))):
        if matches(expected, got):
            continue
        wrong += 1
        if update:
            text = text[:start] + "".join(line + "\n" for line in shortened(expected, got)) + text[end:]
        else:
            print(f"{path}: $ {command}")
            print("\n".join(difflib.unified_diff(expected, shortened(expected, got), path, "printed", lineterm="")))
    if update:
        open(path, "w", encoding="utf-8").write(text)
        return len(found), wrong
    n_commands, failed = failing(path, text, directory)
    return len(found) + n_commands, wrong + failed


def main():
    directory, *pages = sys.argv[1:]
    update = "--update" in pages
    counts = [check(page, directory, update) for page in pages if page != "--update"]
    found, wrong = (sum(numbers) for numbers in zip(*counts))
    if not found:
        sys.exit("there are no examples")
    if update:
        print(f"{wrong} of {found} examples updated")
    elif wrong:
        sys.exit(f"{wrong} of {found} examples fail or print something else; tests/golden/readme.sh --update updates them")
    else:
        print(f"{found} examples")


main()
