# SPDX-License-Identifier: MIT
"""Types of CTF: how a trace's metadata declares them, in TSDL (1.8) and in JSON (2), and what their values are in a packet.

A type has tsdl(name), its declaration; json(), its field class; align; write(bits, value); and some(rng, scope), a value.
SCOPE has the values of the struct's members before it: lengths and tags are found there by name."""
import json
import struct


class Bits:
    """A packet: bits after each other, in the byte order of each field."""

    def __init__(self):
        self.bytes = bytearray()
        self.at = 0

    def align(self, bits):
        self.at = (self.at + bits - 1) // bits * bits
        while len(self.bytes) * 8 < self.at:
            self.bytes.append(0)

    def put(self, value, size, big, backwards=False):
        for i in range(size):
            if self.at % 8 == 0:
                self.align(8)
            if len(self.bytes) * 8 <= self.at:
                self.bytes.append(0)
            bit = value >> (size - 1 - i if big != backwards else i) & 1
            self.bytes[self.at // 8] |= bit << (7 - self.at % 8 if big else self.at % 8)
            self.at += 1

    def put_bytes(self, data):
        self.align(8)
        for byte in data:
            self.put(byte, 8, False)


def order(big, two=False):
    return ("big-endian" if big else "little-endian") if two else "be" if big else "le"


class Int:
    def __init__(self, size, align=8, signed=False, base=10, big=False, labels=None, kind=None, backwards=False,
                 roles=None):
        self.size, self.align, self.signed, self.base, self.big = size, align, signed, base, big
        self.labels = labels  # [(label, low, high)]
        self.kind = kind  # of CTF 2: "bit-array", "bit-map", "boolean"
        self.backwards = backwards
        self.roles = roles

    def tsdl(self, name):
        text = (f"integer {{ size = {self.size}; align = {self.align}; signed = {'true' if self.signed else 'false'}; "
                f"base = {self.base}; byte_order = {order(self.big)}; }}")
        if self.labels:
            labels = ", ".join(f'"_{label}" = {low} ... {high}' for label, low, high in self.labels)
            text = f"enum : {text} {{ {labels} }}"
        return f"{text} {name}"

    def json(self):
        what = self.kind or ("signed-integer" if self.signed else "unsigned-integer")
        made = {"type": f"fixed-length-{what}", "length": self.size, "alignment": self.align,
                "byte-order": order(self.big, True)}
        if self.backwards:
            made["bit-order"] = "first-to-last" if self.big else "last-to-first"
        if not self.kind:
            made["preferred-display-base"] = self.base
        if self.labels:
            made["flags" if self.kind else "mappings"] = ranges_by_label(self.labels)
        if self.roles:
            made["roles"] = self.roles
        return made

    def write(self, bits, value):
        bits.align(self.align)
        bits.put(value & (1 << self.size) - 1, self.size, self.big, self.backwards)

    def some(self, rng, scope):
        value = rng.getrandbits(self.size)
        if self.labels and not self.kind and rng.random() < 0.8:
            _, low, high = rng.choice(self.labels)
            return rng.randint(low, high)
        if rng.random() < 0.3:
            value &= 7
        return value - (1 << self.size) if self.signed and value >> self.size - 1 else value


def ranges_by_label(labels):
    made = {}
    for label, low, high in labels:
        made.setdefault(label, []).append([low, high])
    return made


class VarInt:
    align = 8

    def __init__(self, signed=False, base=10, labels=None, roles=None):
        self.signed, self.base, self.labels, self.roles = signed, base, labels, roles

    def json(self):
        made = {"type": f"variable-length-{'signed' if self.signed else 'unsigned'}-integer",
                "preferred-display-base": self.base}
        if self.labels:
            made["mappings"] = ranges_by_label(self.labels)
        if self.roles:
            made["roles"] = self.roles
        return made

    def write(self, bits, value):
        out = []
        while True:
            low, value = value & 0x7F, value >> 7
            done = value == 0 and not (self.signed and low & 0x40) or self.signed and value == -1 and low & 0x40
            out.append(low | (0 if done else 0x80))
            if done:
                break
        bits.put_bytes(out)

    def some(self, rng, scope):
        value = rng.getrandbits(rng.choice([1, 7, 8, 14, 32, 63, 64]))
        if self.labels and rng.random() < 0.8:
            _, low, high = rng.choice(self.labels)
            return rng.randint(low, high)
        return value - (1 << 63) if self.signed and value >> 63 else -value if self.signed and rng.random() < 0.5 else value


class Float:
    def __init__(self, size, align=8, big=False):
        self.size, self.align, self.big = size, align, big

    def tsdl(self, name):
        digits = {32: (8, 24), 64: (11, 53)}[self.size]
        return (f"floating_point {{ exp_dig = {digits[0]}; mant_dig = {digits[1]}; align = {self.align}; "
                f"byte_order = {order(self.big)}; }} {name}")

    def json(self):
        return {"type": "fixed-length-floating-point-number", "length": self.size, "alignment": self.align,
                "byte-order": order(self.big, True)}

    def write(self, bits, value):
        bits.align(self.align)
        raw = struct.pack({16: ">e", 32: ">f", 64: ">d"}[self.size], value)
        bits.put(int.from_bytes(raw, "big"), self.size, self.big)

    def some(self, rng, scope):
        return rng.randint(-1000, 1000) / 8


class Str:
    """Ends at a NUL; in CTF 2 of any encoding."""
    align = 8

    def __init__(self, encoding="utf-8"):
        self.encoding = encoding

    def tsdl(self, name):
        return f"string {name}"

    def json(self):
        return {"type": "null-terminated-string", "encoding": self.encoding}

    def write(self, bits, value):
        bits.put_bytes((value + "\0").encode(self.encoding))

    def some(self, rng, scope):
        return words(rng)


def words(rng):
    return "".join(rng.choice("abcxyz019 _-äß€\U0001f600" if rng.random() < 0.2 else "abcdefgh") for _ in range(rng.randint(1, 9)))


class Text:
    """N bytes, or as many as the member LENGTH says."""
    align = 8

    def __init__(self, n=None, length=None, encoding="utf-8"):
        self.n, self.length, self.encoding = n, length, encoding

    def tsdl(self, name):
        return f"integer {{ size = 8; align = 8; signed = false; encoding = UTF8; }} {name}[{count_of(self)}]"

    def json(self):
        made = {"type": f"{'dynamic' if self.length else 'static'}-length-string", "encoding": self.encoding}
        return {**made, **length_of(self)}

    def write(self, bits, value):
        bits.put_bytes(value)

    def some(self, rng, scope):
        n = scope[self.length] if self.length else self.n
        unit = {"utf-8": 1, "utf-16le": 2, "utf-16be": 2, "utf-32le": 4, "utf-32be": 4}[self.encoding]
        raw = "".join(rng.choice("abcdefgh") for _ in range(max(n // unit, 1) - 1)).encode(self.encoding)
        return (raw + bytes(n))[:n]


def count_of(of):
    return f"_{of.length}" if of.length else of.n


def length_of(of):
    return {"length-field-location": {"path": [of.length]}} if of.length else {"length": of.n}


class Blob:
    align = 8

    def __init__(self, n=None, length=None, roles=None):
        self.n, self.length, self.roles = n, length, roles

    def json(self):
        made = {"type": f"{'dynamic' if self.length else 'static'}-length-blob", **length_of(self)}
        return {**made, "roles": self.roles} if self.roles else made

    def write(self, bits, value):
        bits.put_bytes(value)

    def some(self, rng, scope):
        return bytes(rng.getrandbits(8) for _ in range(scope[self.length] if self.length else self.n))


class Array:
    """N elements, or as many as the member LENGTH says."""

    def __init__(self, element, n=None, length=None):
        self.element, self.n, self.length = element, n, length

    @property
    def align(self):
        return self.element.align

    def tsdl(self, name):
        return self.element.tsdl(f"{name}[{count_of(self)}]")

    def json(self):
        return {"type": f"{'dynamic' if self.length else 'static'}-length-array",
                "element-field-class": self.element.json(), **length_of(self)}

    def write(self, bits, value):
        bits.align(self.align)
        for element in value:
            self.element.write(bits, element)

    def some(self, rng, scope):
        return [self.element.some(rng, scope) for _ in range(scope[self.length] if self.length else self.n)]


class Struct:
    def __init__(self, members, least=1):
        self.members = members  # [(name, type)]
        self.least = least

    @property
    def align(self):
        return max([self.least] + [type.align for _, type in self.members])

    def tsdl(self, name):
        inside = " ".join(f"{type.tsdl('_' + member)};" for member, type in self.members)
        return f"struct {{ {inside} }} align({self.least}) {name}"

    def json(self):
        return {"type": "structure", "minimum-alignment": self.least,
                "member-classes": [{"name": name, "field-class": type.json()} for name, type in self.members]}

    def write(self, bits, value):
        bits.align(self.align)
        for name, type in self.members:
            type.write(bits, value[name])

    def some(self, rng, scope):
        made = {}
        for name, type in self.members:
            # What is inside sees what is before it outside.
            made[name] = type.some(rng, {**scope, **made})
        return made


class Variant:
    """The option whose label the enum called TAG has; in CTF 2 the option of whose ranges it is."""
    align = 1

    def __init__(self, tag, labels, options):
        self.tag, self.labels, self.options = tag, labels, options  # options: {label: type}

    def tsdl(self, name):
        options = " ".join(f"{type.tsdl('_' + label)};" for label, type in self.options.items())
        return f"variant <_{self.tag}> {{ {options} }} {name}"

    def json(self):
        ranges = ranges_by_label(self.labels)
        return {"type": "variant", "selector-field-location": {"path": [self.tag]},
                "options": [{"name": label, "selector-field-ranges": ranges[label], "field-class": type.json()}
                            for label, type in self.options.items()]}

    def write(self, bits, value):
        label, inner = value
        self.options[label].write(bits, inner)

    def some(self, rng, scope):
        for label, low, high in self.labels:
            if low <= scope[self.tag] <= high:
                return label, self.options[label].some(rng, scope)
        raise ValueError(f"no option for {scope[self.tag]}")


class Optional:
    align = 1

    def __init__(self, tag, type, ranges=None):
        self.tag, self.type, self.ranges = tag, type, ranges

    def json(self):
        made = {"type": "optional", "selector-field-location": {"path": [self.tag]}, "field-class": self.type.json()}
        return {**made, "selector-field-ranges": self.ranges} if self.ranges else made

    def write(self, bits, value):
        if value is not None:
            self.type.write(bits, value)

    def some(self, rng, scope):
        tag = scope[self.tag]
        there = any(low <= tag <= high for low, high in self.ranges) if self.ranges else tag
        return self.type.some(rng, scope) if there else None


def tag(labels, size=8, signed=False, big=False):
    """An enum that is always one of its labels."""
    made = Int(size, 8, signed, labels=labels, big=big)
    made.some = lambda rng, scope: (lambda l: rng.randint(l[1], l[2]))(rng.choice(labels))
    return made


def length(size=8, most=4, big=False):
    made = Int(size, 8 if size % 8 == 0 else 1, big=big)
    made.some = lambda rng, scope: rng.randint(0, most)
    return made


def metadata18(events, context=None, big=False):
    """EVENTS: [(name, Struct of fields)]."""
    text = f"""/* CTF 1.8 */
typealias integer {{ size = 32; align = 8; signed = false; }} := uint32_t;
trace {{ major = 1; minor = 8; byte_order = {order(big)}; packet.header := struct {{ uint32_t magic; uint32_t stream_id; }}; }};
clock {{ name = "monotonic"; freq = 1000000000; }};
typealias integer {{ size = 64; align = 8; signed = false; map = clock.monotonic.value; }} := time_t;
stream {{ id = 0; packet.context := struct {{ uint32_t content_size; uint32_t packet_size; uint32_t cpu_id; }};
  event.header := struct {{ uint32_t id; time_t timestamp; }};
"""
    if context:
        text += f"  event.context := {context.tsdl('').strip()};\n"
    text += "};\n"
    for number, (name, fields) in enumerate(events):
        text += f'event {{ id = {number}; name = "{name}"; stream_id = 0; fields := {fields.tsdl("").strip()}; }};\n'
    return text


def metadata2(events, context=None, big=False):
    u32 = lambda role: Int(32, 8, big=big, roles=[role] if role else None)  # noqa: E731
    fragments = [
        {"type": "preamble", "version": 2, "uuid": list(range(16))},
        {"type": "trace-class", "environment": {"hostname": "here", "tracer_name": "made"},
         "packet-header-field-class": Struct([("magic", u32("packet-magic-number")), ("id", u32("data-stream-class-id"))]).json()},
        {"type": "clock-class", "id": "clock", "name": "monotonic", "frequency": 1000000000},
        {"type": "data-stream-class", "id": 0, "default-clock-class-id": "clock",
         "packet-context-field-class": Struct([("content", u32("packet-content-length")), ("total", u32("packet-total-length")),
                                               ("cpu_id", u32(None))]).json(),
         "event-record-header-field-class": Struct([
             ("id", u32("event-record-class-id")),
             ("time", Int(64, 8, big=big, roles=["default-clock-timestamp"]))]).json()},
    ]
    if context:
        fragments[-1]["event-record-common-context-field-class"] = context.json()
    for number, (name, fields) in enumerate(events):
        fragments.append({"type": "event-record-class", "id": number, "data-stream-class-id": 0, "name": name,
                          "payload-field-class": fields.json()})
    return "".join("\x1e" + json.dumps(fragment, ensure_ascii=False) + "\n" for fragment in fragments)


def packet(records, context=None, events=None, big=False, cpu=1):
    """RECORDS: [(time, number of the event, values of the context, values of the fields)]."""
    bits = Bits()
    for value in (0xC1FC1FC1, 0, 0, 0, cpu):
        bits.put(value, 32, big)
    for time, number, values, fields in records:
        bits.align(8)
        bits.put(number, 32, big)
        bits.put(time, 64, big)
        if context:
            context.write(bits, values)
        events[number][1].write(bits, fields)
    content = bits.at
    bits.align(64)
    for place, value in ((8, content), (12, len(bits.bytes) * 8)):
        bits.bytes[place : place + 4] = value.to_bytes(4, "big" if big else "little")
    return bytes(bits.bytes)
