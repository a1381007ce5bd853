#!/usr/bin/env python3
"""The section OPTIONS of each verb's manual page is made from the declarations of its options (src/cli/options.h).

    tests/man_options.py build/tests/declared_options             compares
    tests/man_options.py build/tests/declared_options --update    writes the pages

The texts of declarations are plain. These words get a macro of mdoc(7): 'literal text', "SECTION", --option, --option=VALUE, -x,
name(7), /path, $VARIABLE, and capitals that name the option's own argument."""

import difflib
import pathlib
import re
import subprocess
import sys

MAN = pathlib.Path(__file__).parent.parent / "docs" / "man"
MARK = '.\\" Made from the declarations of the options: tests/man_options.py --update'
WORD = re.compile(r"""(\(?)('(?!\s)[^']*(?:'(?![\s.,:;)]|$)[^']*)*'(?=[\s.,:;)]|$)|"[^"]+"|\S+?)(\)?[.,:;?!]*)(?:\s+|$)""")
# A word of a macro's line that mdoc would take for a macro or a delimiter.
SPECIAL = re.compile(r"\W+|[A-Z%][a-z]|[A-Z][a-z]|.|Brq|Bro|Brc")


def escaped(text):
    text = text.replace("\\", "\\e").replace('"', "\\(dq")
    return "\\&" + text if text[:1] in (".", "'") else text


def argument(text):
    """The argument of an option: "[NAME=]PATH", "text|json", "KEY[,KEY...]"."""
    out, joined = [], False
    for part in re.findall(r"[A-Z]+|[a-z0-9_.-]*[a-z0-9_-]|\.\.\.|.", text):
        if part == "|":
            out.append("|")
            joined = False
            continue
        if part == "...":
            out.append("...")
            continue
        if joined and part != "]":
            out.append("Ns")
        out.append({"[": "Oo", "]": "Oc"}.get(part) or
                   (f"Ar {part}" if part.isupper() else f"Cm {part}" if part.isalnum() or len(part) > 1 else part))
        joined = part != "["
    return " ".join(out)


def macro(word, names):
    """The macro for a word, or None."""
    if len(word) > 2 and word[0] == word[-1] == "'":
        return "Ql " + " ".join("\\&" * bool(SPECIAL.fullmatch(w)) + escaped(w) for w in word[1:-1].split(" "))
    if len(word) > 2 and word[0] == word[-1] == '"':
        return f"Sx {word[1:-1]}"
    found = re.fullmatch(r"--([a-z-]+)(?:=(.+))?", word)
    if found:
        value = found[2] and f" Ns = Ns {argument(found[2])}"
        return f"Fl Fl {found[1]}{value or ''}"
    found = re.fullmatch(r"-([a-zA-Z])", word)
    if found:
        return f"Fl {found[1]}"
    found = re.fullmatch(r"([a-z_.-]+)\(([1-8])\)", word)
    if found:
        return f"Xr {found[1]} {found[2]}"
    if re.fullmatch(r"/\S+", word):
        return f"Pa {word}"
    if re.fullmatch(r"\$[A-Z_]+", word):
        return f"Ev {word[1:]}"
    return f"Ar {word}" if word in names else None


def mdoc(text, names=()):
    """Lines of mdoc for sentences: each on a line of its own, each macro too."""
    lines, line, opened = [], "", False

    def end():
        nonlocal line
        if line:
            lines.append(line)
        line = ""

    for before, word, after in WORD.findall(text):
        own = re.fullmatch(r"(.*\([1-8])\)([)]?[.,:;]*)", word + after)
        if own and not word.startswith("'"):
            word, after = own[1] + ")", own[2]
        found = macro(word, names)
        closes = after.startswith(")") and (opened or bool(before and found))
        if not found and not closes:
            plain = before + escaped(word) + after
            line = f"{line} {plain}" if line else plain
            if after and after[-1] in ".?!":
                end()
            continue
        if not found and closes:
            line = f"{line} {escaped(word)}".strip()
        end()
        if before and found and closes:
            lines.append(f".Pq {found}{''.join(' ' + c for c in after.removeprefix(')'))}")
            continue
        if before:
            lines.append(".Po")
            opened = True
        ends = "".join(" " + c for c in after.removeprefix(")")) if closes else "".join(" " + c for c in after)
        if found:
            lines.append(f".{found}" + ("" if closes else ends))
        if closes:
            lines.append(f".Pc{ends}")
            opened = False
    end()
    return lines


def option_lines(letter, name, value, kind, phrase, page, default, requires, excludes):
    names = set(re.findall("[A-Z]+", value))
    head = f".It Fl {letter} , Fl Fl {name}" if letter != " " else f".It Fl Fl {name}"
    if value:
        head += f" Ns Oo = Ns {argument(value)} Oc" if kind == "optional" else f" Ns = Ns {argument(value)}"
    named = phrase.split()[0][-1] in ":,"  # the names of formats
    text = [(phrase if named else phrase[0].upper() + phrase[1:]) + ("" if phrase.endswith(".") else ".")]
    text += [page] if page else []
    text += [f"The default is {default}."] if default else []
    text += {"list": ["Separate several by commas, or repeat the option."], "repeatable": ["Repeatable."]}.get(kind, [])
    text += [f"Requires {requires}."] if requires else []
    text += [f"Excludes {excludes}."] if excludes else []
    return [head] + mdoc(" ".join(text), names)


def sections(dump):
    """The lines of each verb's section."""
    made = {}
    for line in dump.splitlines():
        kind, *fields = line.split("\t")
        if kind == "verb":
            lines = made[fields[0]] = [".Sh OPTIONS", MARK]
        elif kind == "group":
            if lines[-1] != MARK:
                lines.append(".El")
            words = fields[0].split()
            title = [macro(w, ()) or "No " * bool(i and macro(words[i - 1], ())) + w for i, w in enumerate(words)]
            lines += [f".Ss {' '.join(title)}"] + mdoc(fields[1])
            lines.append(".Bl -tag -width Ds")
        else:
            lines += option_lines(*fields)
    for lines in made.values():
        lines.append(".El")
        titles = [line for line in lines if line.startswith(".Ss")]
        if len(titles) == 1:
            lines.remove(titles[0])
    return made


def main():
    update = sys.argv[2:] == ["--update"]
    made = sections(subprocess.run([sys.argv[1]], check=True, text=True, stdout=subprocess.PIPE).stdout)
    assert len(made) > 20
    differ = 0
    for verb, lines in made.items():
        path = MAN / f"strata-{verb}.1"
        old = path.read_text()
        before, rest = old.split(".Sh OPTIONS\n")
        new = before + "\n".join(lines) + "\n" + rest[rest.index(".Sh "):]
        if new == old:
            continue
        differ += 1
        if update:
            path.write_text(new)
        else:
            sys.stderr.writelines(list(difflib.unified_diff(old.splitlines(True), new.splitlines(True), path.name,
                                                            "declarations"))[:20])
    if differ and not update:
        sys.exit(f"run {sys.argv[0]} {sys.argv[1]} --update")


main()
