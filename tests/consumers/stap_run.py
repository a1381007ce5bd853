# SPDX-License-Identifier: MIT
"""Runs the tapsets that `strata gen` makes as SystemTap would: probes hit with the arguments that
probes.c calls them with. SystemTap itself can check a tapset anywhere, but runs it only where it can
build a module for the kernel.

    stap_run.py PREFIX KIND TAPSET... >OUTPUT     KIND: "log", "simpletrace"

Knows as much of the language as the tapsets use, and stops at anything else."""

import re
import struct
import sys

MASK = (1 << 64) - 1
PID, TID, NS = 4711, 4712, 1700000000123456789

# What probes.c calls, in its order; text stands for the address of it.
HITS = [
    ("nothing", []),
    ("numbers", [-8, 208, -1600, 65000, -320000, 0xDEADBEEF, -64000000000, 0xFEDCBA9876543210, 1, 4096]),
    ("ten", [1, -2, 3, -4, 5, -6, 7, -8, 9, -10]),
    ("texts", ["a name", "other", 0x1234, "address"]),
    ("texts", [0, 0, 0, 0]),
    ("words", [1, 0x22, "self", 4, 5, 6, 7]),
    ("types", [MASK, ord("c"), 0x7F00, 0x7F08, -1, 4000000000, -5]),
    ("stars", [6, "right", 3, "cut off"]),
    ("linux", [7]),
    ("last__one", [0xFFFFFFFF00000000, -1]),
]


class Memory:
    """Texts at addresses."""

    def __init__(self):
        self.texts = {}

    def put(self, text):
        address = 0x500000 + 0x1000 * len(self.texts)
        self.texts[address] = text
        return address


def signed(value):
    value &= MASK
    return value - (1 << 64) if value >> 63 else value


def unquote(text):
    def meaning(match):
        c = match.group(1)
        return {"n": "\n", "t": "\t"}.get(c) or (chr(int(c, 8)) if c.isdigit() else c)

    return re.sub(r'\\([0-7]{3}|.)', meaning, text[1:-1])


def tokens(text):
    pattern = r'\s*(?:("(?:[^"\\]|\\.)*")|(0x[0-9a-fA-F]+|\d+)|(\$?[A-Za-z_]\w*)|(<<|>>|[-+*/%&?:(),=]))'
    at = 0
    text = text.strip()
    while at < len(text):
        match = re.compile(pattern).match(text, at)
        if not match:
            sys.exit(f"stap_run: not understood: {text[at:]}")
        yield match.group(match.lastindex), match.lastindex
        at = match.end()
    yield None, 0


class Probe:
    """One hit of a probe: variables, and what the tapset says to do with them."""

    def __init__(self, memory, arguments):
        self.memory = memory
        self.names = {f"$arg{i + 1}": a for i, a in enumerate(arguments)}
        self.out = b""

    # Expressions, by precedence: ?:, &, shifts, sums, products.
    def evaluate(self, text):
        self.tokens = list(tokens(text))
        self.at = 0
        value = self.choice()
        if self.tokens[self.at][0] is not None:
            sys.exit(f"stap_run: not understood: {text}")
        return value

    def peek(self):
        return self.tokens[self.at][0]

    def take(self, wanted=None):
        token, kind = self.tokens[self.at]
        if wanted and token != wanted:
            sys.exit(f"stap_run: '{token}' instead of '{wanted}'")
        self.at += 1
        return token, kind

    def choice(self):
        value = self.chain(0)
        if self.peek() != "?":
            return value
        self.take()
        yes = self.choice()
        self.take(":")
        no = self.choice()
        return yes if value else no

    LEVELS = [("&",), ("<<", ">>"), ("+", "-"), ("*", "/", "%")]

    def chain(self, level):
        if level == len(self.LEVELS):
            return self.primary()
        value = self.chain(level + 1)
        while self.peek() in self.LEVELS[level]:
            operator = self.take()[0]
            right = self.chain(level + 1)
            value = signed({"&": lambda a, b: a & b, "<<": lambda a, b: a << b,
                            ">>": lambda a, b: a >> b, "+": lambda a, b: a + b,
                            "-": lambda a, b: a - b, "*": lambda a, b: a * b,
                            "/": lambda a, b: a // b, "%": lambda a, b: a % b}[operator](value, right))
        return value

    def primary(self):
        token, kind = self.take()
        if token == "(":
            value = self.choice()
            self.take(")")
            return value
        if kind == 1:
            return unquote(token)
        if kind == 2:
            return signed(int(token, 0))
        if self.peek() != "(":
            return self.names[token]
        self.take()
        arguments = []
        while self.peek() != ")":
            arguments.append(self.choice())
            if self.peek() == ",":
                self.take()
        self.take()
        return self.call(token, arguments)

    def call(self, name, arguments):
        if name == "user_string_n":
            return self.memory.texts.get(arguments[0], "?")[: arguments[1]]
        if name == "strlen":
            return len(arguments[0])
        if name == "printf":
            return self.printf(arguments[0], arguments[1:])
        return {"pid": PID, "tid": TID, "gettimeofday_ns": NS, "gettimeofday_us": NS // 1000}[name]

    def printf(self, text, values):
        values = iter(values)

        def convert(match):
            flags, width, precision, conversion = match.groups()
            if conversion == "%":
                return "%"
            width = next(values) if width == "*" else width
            precision = next(values) if precision == ".*" else precision and int(precision[1:] or 0)
            value = next(values)
            if isinstance(value, str) != (conversion == "s"):
                sys.exit(f"stap_run: %{conversion} of {value!r}")
            if conversion == "b":
                code = {"1": "B", "2": "H", "4": "I", "8": "Q"}[width]
                return struct.pack("=" + code, value & ((1 << 8 * int(width)) - 1)).decode("latin-1")
            if conversion == "s":
                value = value[:precision] if precision is not None else value
            elif conversion == "c":
                value = chr(value & 0xFF)
            elif conversion == "p":
                value = "%#x" % (value & MASK)
            else:
                value = value if conversion in "di" else value & MASK
                value = f"%{flags}{'.%d' % precision if precision is not None else ''}{conversion}" % value \
                    if not width else f"%{flags}{width}{conversion}" % value
                return value
            return f"%{'-' if '-' in flags else ''}{width or ''}s" % value

        self.out += re.sub(r"%([-+ #0]*)(\d+|\*)?(\.(?:\d+|\*)?)?([a-zA-Z%])", convert, text).encode("latin-1")
        if next(values, None) is not None:
            sys.exit(f"stap_run: more values than conversions: {text}")

    def run(self, body):
        body = re.sub(r"try \{(.*?)\} catch \{\s*\}", r"\1", body, flags=re.S)
        for statement in filter(str.strip, body.split(";\n")):
            assigned = re.match(r"\s*([A-Za-z_]\w*) = (.*)", statement, flags=re.S)
            if assigned:
                self.names[assigned.group(1)] = self.evaluate(assigned.group(2))
            else:
                self.evaluate(statement)


def main():
    prefix, kind, *tapsets = sys.argv[1:]
    text = "".join(open(path, encoding="latin-1").read() for path in tapsets)
    probes = {}
    for match in re.finditer(r"^probe (\S+) = ([^\n]*)\n\{\n(.*?)^\}", text, flags=re.S | re.M):
        if match.group(1) in probes:
            sys.exit(f"stap_run: {match.group(1)} twice")
        probes[match.group(1)] = (match.group(2), match.group(3))

    memory = Memory()
    for name, arguments in HITS:
        probe = Probe(memory, [memory.put(a) if isinstance(a, str) else signed(a) for a in arguments])
        point, body = probes[f"{prefix}.{name}"]
        if not point.endswith(f'.mark("{name}")'):
            sys.exit(f"stap_run: {prefix}.{name} is {point}")
        probe.run(body)
        point, body = probes[f"{prefix}.{kind}.{name}"]
        if point != f"{prefix}.{name} ?":
            sys.exit(f"stap_run: {prefix}.{kind}.{name} is {point}")
        probe.run(body)
        sys.stdout.buffer.write(probe.out)
    if f"{prefix}.never" in probes:
        sys.exit("stap_run: a disabled event has a probe")


main()
