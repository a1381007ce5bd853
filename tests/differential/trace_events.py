#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what QEMU's tracetool and Strata take for a declaration of an event.

    trace_events.py DECLARED QEMU [COUNT [SEED]]

DECLARED is the built tests/differential/declared, QEMU a source tree of QEMU: its tracetool is run
(in this process), and its trace-events files are what is mutated, beside declarations that are made
up. By hand, as it needs QEMU's source; nothing of that is part of Strata.

It fails if tracetool refuses anything that Strata takes, or if Strata refuses something that
tracetool takes for a reason that is not in REASONS below, each with why. Of every reason some cases
are given to the C compiler, as the code that would come of them; it says how many it took.
"""
import io
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

# What Strata refuses although tracetool takes it: the beginning of the message without what is
# quoted in it, and why no use of it is lost.
REASONS = [
    ("expected the name of an event", "characters in front of the name that are blanks to Python alone, "
     "as U+00A0: whoever wrote them did not see them"),
    ("invalid name ''", "letters beyond ASCII, or a digit at the beginning: dtrace, LTTng and SystemTap "
     "make no probe of them"),
    ("unknown property", "a property of letters that Python takes for blanks between words"),
    ("the argument '' has no name", "no compiler takes the code"),
    ("expected a type and a name", "no compiler takes the code"),
    ("'' has no place in an argument", "no compiler takes the code, but for letters beyond ASCII, "
     "which no other language of the outputs takes"),
    ("an array cannot be an argument", "the code would read elements behind the array's end"),
    ("a value for an argument", "no compiler takes the code"),
    ("a ';' between arguments", "no compiler takes the code"),
    ("a '(' among the arguments", "no compiler takes the code: the arguments end at the first ')'"),
    ("'...' cannot be traced", "no compiler takes the code: it would pass '...' on"),
    ("'' is a word of C's own", "no compiler takes the code"),
    ("a second argument of the name", "no compiler takes the code"),
    ("an event with the property '' has an argument", "the same"),
    ("'' is not a C type", "no compiler takes the code; gcc takes a type of 'const' alone for int, "
     "and warns"),
    ("'' after the last '*'", "no compiler takes the code: it would pass 'const p' on"),
    ("the argument type '' is not allowed", "stars inside of a word, or TCGv outside of translated "
     "code: no compiler takes the code"),
    ("a ',' is missing between arguments", "no compiler takes the code"),
    ("a ')' is missing", "a quote in front of the ')', so that it is the format's: no compiler takes "
     "the code"),
    ("expected a format in double quotes", "text behind the arguments that tracetool drops without a "
     "word, and the format with it"),
    ("expected a string in double quotes or a macro", "no compiler takes the code; it does take a "
     "comment of C behind the format, which no other language of the outputs does"),
    ("a string that is not ended", "no compiler takes the code, or tracetool drops the format"),
    ("a string with a prefix", "no compiler takes the code: wide and narrow strings"),
    ("an escape that C does not have", "C leaves open what it means; compilers warn"),
    ("a NUL in the format", "the text would end there"),
    ("a NUL byte", "the same; outside of strings no compiler takes it"),
    ("a macro that <inttypes.h> does not have", "no compiler takes the code"),
    ("a ',' after the format", "no compiler takes two formats, or they would be one format and a "
     "value for it; tracetool makes them of an event that has no use for two"),
    ("an event with the property '' has two formats", "only one was given"),
    ("a ',' and then a", "7.2 makes two formats of it, and no backend can print them"),
    ("expected the end of the line", "more than two formats"),
    ("'%m' is not allowed", "written with flags, or in pieces, and so not seen"),
    ("the format must not end with a newline", "written in hexadecimal, or with blanks behind the "
     "format, and so not seen"),
    ("the format must not hold a newline", "the same"),
    ("the event '' is declared a second time", "no compiler takes two functions of one name"),
]

TOKENS = """int long short char bool unsigned signed const void size_t ssize_t uint64_t int8_t uintptr_t
ptrdiff_t float u32 hwaddr TCGv struct foo Error disable vcpu tcg enable a b x default class __cpu
PRIx64 PRId32 PRIu8 PRIxPTR PRIx46 HWADDR_PRIx MACRO u8 L %m %%m %d %s %p %" %% %5m %n
""".split() + list(" \t,,,***()()\"\"\"'#%;:=&[]{}\\/.-_0123") + [
    "  ", "\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1f", "\x85", "\xa0", "\u2003", "\u2028", "\ufeff",
    "\0", "\x7f", "é", "\u0661", "\\n", "\\\\n", "\\n\"", "\\t", "\\x0a", "\\012", "\\e", "\\u00e9",
    "\\q", "\\0", "...", "[4]", "/* c */", "// c", ", ", " ,", "()", "(void)", "\"\"", "\" \"", "*const ",
    " * ", "* ", "**", "const ", "\t\t", "\"a\"", "\", \"",
]


def real_lines(tree):
    lines = []
    for root, dirs, files in os.walk(tree):
        dirs[:] = [d for d in dirs if not d.startswith(".")]
        if "trace-events" in files:
            with open(os.path.join(root, "trace-events"), encoding="utf-8") as f:
                lines += [l for l in f if l.strip() and not l.startswith("#")]
    return lines


def made(rng):
    """A declaration of random parts, most of them good."""
    def blank():
        return rng.choice(["", " ", " ", " ", "  ", "\t"])

    def word_type():
        return " ".join(rng.choices(["int", "unsigned", "char", "long", "short", "const", "bool",
                                     "uint64_t", "size_t", "void", "signed", "TCGv", "u32"],
                                    k=rng.choice([1, 1, 1, 2, 2, 3])))

    def argument():
        stars = rng.choice(["", "", " *", " *", " **", "*", "* ", " * const ", " *const*"])
        return blank() + word_type() + (stars or " ") + rng.choice("abcdefghij") + blank()

    arguments = ",".join(argument() for _ in range(rng.choice([1, 1, 2, 2, 3, 4, 9, 10, 11, 12])))
    if rng.random() < 0.2:
        arguments = rng.choice(["void", " void ", "", " ", "void,int a"])
    pieces = ["\"x %d\"", "\"%s, \"", "PRIx64", "\"\"", "\"%\" PRIu32", "\"a\\n\"", "\"\\\"\"",
              "\"100%% m\"", "\"%\"", "MACRO"]
    text = blank().join(rng.choices(pieces, k=rng.choice([0, 1, 1, 2, 3])))
    if rng.random() < 0.1:
        text += rng.choice([", \"t %d\"", ",", " , \"x\""])
    return "%s%s%s(%s)%s%s%s\n" % (
        rng.choice(["", "", "", " ", "  ", "\t"]),
        rng.choice(["", "", "", "disable ", "vcpu ", "tcg ", "vcpu tcg ", "disable\tvcpu  ", "x "]),
        rng.choice(["name", "n2", "2n", "NAME_", "na-me", "é"]), arguments, blank(), text, blank())


def mutate(rng, line):
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at = rng.randrange(len(line) + 1)
        kind = rng.random()
        if kind < 0.45:
            line = line[:at] + rng.choice(TOKENS) + line[at:]
        elif kind < 0.7:
            line = line[:at] + line[at + rng.choice([1, 1, 1, 2, 5]):]
        elif kind < 0.9:
            line = line[:at] + rng.choice(TOKENS) + line[at + 1:]
        else:  # at a place that matters
            places = [m.start() for m in re.finditer(r"[(),\"* ]", line)] or [0]
            at = rng.choice(places)
            line = line[:at] + rng.choice(TOKENS) + line[at + rng.choice([0, 1]):]
    return line


def cases(tree, count, seed):
    rng = random.Random(seed)
    real = real_lines(tree)
    yield "".join(real).encode()
    for line in real:
        yield line.encode()
    for i in range(count):
        kind = i % 8
        line = made(rng) if kind < 2 else rng.choice(real)
        if kind != 0:
            line = mutate(rng, line)
        case = line.encode()
        if kind == 7:  # several lines, and bytes that are no characters
            case = b"".join([rng.choice([b"", b"# c\n", b"\n", b" \n", b"\xef\xbb\xbf", b" # c\r"]), case,
                             rng.choice([b"", b"# c", b"\n", b"\xff\n", b"#\xc3\n", b"ok(void)\n", b"\0\n"])])
            if rng.random() < 0.3:
                case = case[:-1]
        yield case


class Theirs:
    def __init__(self, tree):
        sys.path.insert(0, os.path.join(tree, "scripts"))
        import tracetool
        self.tracetool = tracetool

    def read(self, case):
        """The events, or why not."""
        try:
            return self.tracetool.read_events(io.TextIOWrapper(io.BytesIO(case), "utf-8"), "f"), None
        except Exception as e:  # whatever stops it
            return None, "%s: %s" % (type(e).__name__, str(e)[:100])


def ours(declared, version, all_cases):
    data = b"".join(struct.pack("<I", len(c)) + c for c in all_cases)
    out = subprocess.run([declared, *version], input=data, stdout=subprocess.PIPE, check=True).stdout
    return [None if l == b"ok" else l.decode(errors="replace") for l in out.split(b"\n")[:-1]]


def compiles(events):
    """Whether the C compiler takes functions that print the events."""
    code = ["#include <inttypes.h>\n#include <stdbool.h>\n#include <stdio.h>\n#include <sys/types.h>\n"
            "#define MACRO \"x\"\n#define HWADDR_PRIx \"lx\"\n"]
    for e in events:
        fmt = e.fmt if isinstance(e.fmt, str) else ", ".join(e.fmt)
        names = "".join(", " + n for n in e.args.names())
        code.append("static inline void trace_%s(%s)\n{\n    printf(\"%s \" %s \"\\n\"%s);\n}\n"
                    % (e.name, e.args, e.name, fmt.rstrip("\n"), names))
    with tempfile.NamedTemporaryFile("w", suffix=".c", encoding="utf-8") as f:
        f.write("".join(code))
        f.flush()
        return subprocess.run(["cc", "-std=gnu11", "-fsyntax-only", "-w", f.name],
                              stderr=subprocess.DEVNULL, check=False).returncode == 0


def reason(message):
    what = re.sub(r"^column \d+: ", "", message)
    for known, why in REASONS:
        pattern = re.escape(known).replace("''", "'.*?'")
        if re.match(pattern, what, re.S):
            return known, why
    return what, None


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    declared, tree = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 100000
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    with open(os.path.join(tree, "VERSION"), encoding="ascii") as f:
        version = f.read().split(".")[:2]
    theirs = Theirs(tree)
    all_cases = list(cases(tree, count, seed))
    answers = ours(declared, version, all_cases)
    assert len(answers) == len(all_cases)

    both = [0, 0]
    slipped, refused = [], {}
    for case, answer in zip(all_cases, answers):
        events, why = theirs.read(case)
        if events is None and answer is None:
            slipped.append((case, why))
        elif events is not None and answer is not None:
            refused.setdefault(reason(answer), []).append((case, answer, events))
        else:
            both[answer is not None] += 1
    print("QEMU %s: %d cases; both take %d, both refuse %d" % (".".join(version), len(all_cases), *both))

    print("\ntracetool alone refuses %d" % len(slipped))
    for case, why in slipped[:20]:
        print("  %r\n      %s" % (case, why))
    print("\nStrata alone refuses %d:" % sum(map(len, refused.values())))
    unknown = 0
    for (what, why), found in sorted(refused.items(), key=lambda x: -len(x[1])):
        sample = random.Random(seed).sample(found, min(len(found), 40))
        taken = [s for s in sample if compiles(s[2])]
        print("  %6d  %s\n          %s\n          the compiler takes %d of %d" % (
            len(found), what, why or "NOT A KNOWN REASON", len(taken), len(sample)))
        for case, answer, _ in taken[:2] or sample[:1]:
            print("          %r" % case[:200])
        unknown += why is None
    sys.exit(1 if slipped or unknown else 0)


main()
