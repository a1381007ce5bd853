# SPDX-License-Identifier: MIT
"""Traces in CTF whose events have structs in structs, variants, and arrays of more than numbers:

made_ctf_nested.py 18 DIR    CTF 1.8, little-endian
made_ctf_nested.py 18be DIR  the same, big-endian
made_ctf_nested.py 2 DIR     CTF 2: the same, and what only that has
made_ctf_nested.py 2be DIR   the same, big-endian"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True

import ctf_types as t  # noqa: E402


def events(big):
    """As LTTng's kernel tracer and barectf declare them, and further than they do."""
    u = lambda size, align=8, **more: t.Int(size, align, big=big, **more)  # noqa: E731
    kinds = [("none", 0, 0), ("v4", 1, 1), ("v6", 2, 2)]
    protocols = [("other", 0, 5), ("tcp", 6, 6), ("other", 7, 16), ("udp", 17, 17)]
    transport = {
        "other": t.Struct([]),
        "tcp": t.Struct([("source_port", u(16)), ("offset", u(4, 4)), ("flags", u(9, 1, base=16)), ("window", u(16))]),
        "udp": t.Struct([("source_port", u(16)), ("length", u(16))]),
    }
    v4 = t.Struct([("version", u(4, 4)), ("ihl", u(4, 4)), ("saddr", t.Array(u(8), 4)),
                   ("protocol", t.tag(protocols, big=big)), ("transport", t.Variant("protocol", protocols, transport))])
    v6 = t.Struct([("version", u(4, 4)), ("prio", u(4, 4)), ("saddr", t.Array(u(16), 8))])
    point = t.Struct([("x", u(16, 16, signed=True)), ("y", u(3, 1)), ("name", t.Str())], 32)
    numbers = [("small", -3, -1), ("text", 0, 7), ("real", 8, 40)]
    number = {"small": u(5, 1, signed=True), "text": t.Str(), "real": t.Float(64, 32, big)}
    listed = t.Struct([("what", t.tag(numbers, 8, True, big)), ("is", t.Variant("what", numbers, number)),
                       ("n", t.length(5, big=big)), ("inner", t.Array(u(12, 4), length="n"))])
    return [
        ("net_if_rx", t.Struct([("len", u(32)), ("network_header_type", t.tag(kinds, big=big)),
                                ("network_header", t.Variant("network_header_type", kinds,
                                                             {"none": t.Struct([]), "v4": v4, "v6": v6})),
                                ("after", u(8))])),
        ("flat", t.Struct([("a", u(8)), ("b", u(64, 64, signed=True)), ("c", t.Float(32, 8, big))])),
        ("points", t.Struct([("n", t.length(8, big=big)), ("points", t.Array(point, length="n")),
                             ("two", t.Array(point, 2)), ("last", u(7, 1))])),
        ("lists", t.Struct([("argc", t.length(16, big=big)), ("argv", t.Array(t.Str(), length="argc")),
                            ("matrix", t.Array(t.Array(u(8), 3), 2)), ("reals", t.Array(t.Float(32, 8, big), 3)),
                            ("listed", t.Array(listed, 2))])),
        ("deep", t.Struct([("a", t.Struct([("b", t.Struct([("what", t.tag(numbers, 8, True, big)),
                                                           ("c", t.Variant("what", numbers, number))])),
                                           ("n_length", t.length(4, big=big)),
                                           ("n", t.Array(u(32), length="n_length"))], 64))])),
    ]


def events2(big):
    """What CTF 2 has and CTF 1.8 has not."""
    u = lambda size, align=8, **more: t.Int(size, align, big=big, **more)  # noqa: E731
    numbers = [("low", -5, -1), ("mid", 0, 9), ("high", 10, 300), ("low", 400, 500)]
    options = {"low": t.VarInt(True), "mid": t.Str("utf-16le"), "high": t.Struct([("n", t.VarInt()), ("f", t.Float(32, 32, big))])}
    flags = [("read", 0, 0), ("write", 1, 2), ("last", 7, 7)]
    short, has = u(8), u(8, kind="boolean")
    short.some = lambda rng, scope: rng.randint(1, 5)  # babeltrace2 shows an empty BLOB as it does an empty struct
    has.some = lambda rng, scope: rng.choice([0, 0, 1, 128])
    doubled = t.length(8, big=big)
    doubled.some = lambda rng, scope: 4 * rng.randint(0, 3)
    chosen = t.VarInt(True, labels=numbers)
    chosen.some = lambda rng, scope: (lambda l: rng.randint(l[1], l[2]))(rng.choice(numbers))
    return [
        ("variable", t.Struct([("a", t.VarInt()), ("b", t.VarInt(True)), ("c", t.VarInt(base=16)),
                               ("list", t.Array(t.VarInt(True), 3))])),
        ("bits", t.Struct([("a", u(5, 1)), ("back", u(11, 1, backwards=True)), ("set", u(12, 4, kind="bit-array")),
                           ("yes", u(8, kind="boolean")), ("flags", u(8, kind="bit-map", labels=flags)),
                           ("turned", u(32, 32, signed=True, backwards=True))])),
        ("texts", t.Struct([("a", t.Str()), ("b", t.Str("utf-16be")), ("c", t.Str("utf-32le")), ("n", doubled),
                            ("d", t.Text(length="n")), ("e", t.Text(length="n", encoding="utf-32be")),
                            ("f", t.Text(16, encoding="utf-16le")), ("g", t.Text(7)),
                            ("list", t.Array(t.Str("utf-16be"), 2))])),
        ("blobs", t.Struct([("n", short), ("a", t.Blob(5)), ("b", t.Blob(length="n")), ("list", t.Array(t.Blob(2), 2))])),
        ("maybe", t.Struct([("has", has), ("a", t.Optional("has", u(16))), ("which", u(8, signed=True)),
                            ("b", t.Optional("which", t.Struct([("x", t.VarInt()), ("y", t.Str())]), [[-128, -100], [0, 90]])),
                            ("list", t.Array(t.Optional("has", u(8)), 3)), ("end", u(8))])),
        ("variant", t.Struct([("tag", chosen), ("v", t.Variant("tag", numbers, options)),
                              ("list", t.Array(t.Variant("tag", numbers, options), 2)), ("end", u(3, 1))])),
    ]


def context(big):
    """Of all events: LTTng's contexts of an application are variants like this."""
    labels = [("none", 0, 0), ("int", 1, 1), ("string", 2, 2)]
    return t.Struct([("tag", t.tag(labels, big=big)),
                     ("app", t.Variant("tag", labels, {"none": t.Struct([]), "int": t.Int(32, 8, True, big=big),
                                                       "string": t.Str()}))])


def main():
    version, directory = sys.argv[1:]
    big = version.endswith("be")
    rng = random.Random(18)
    declared, around = events(big), context(big)
    if version.startswith("2"):
        declared += events2(big)
    metadata = t.metadata2 if version.startswith("2") else t.metadata18
    os.mkdir(directory)
    with open(f"{directory}/metadata", "w", encoding="utf-8") as f:
        f.write(metadata(declared, around, big=big))
    records = []
    for i in range(300):
        number = rng.randrange(len(declared))
        records.append((1000 + i, number, around.some(rng, {}), declared[number][1].some(rng, {})))
    with open(f"{directory}/stream", "wb") as f:
        for at in range(0, len(records), 100):
            f.write(t.packet(records[at : at + 100], around, declared, big))


main()
