"""Small traces in CTF 1.8, each with one thing that other tracers do: made_ctf_foreign.py DIR

unended        the packet that was being written has timestamp_end 0
number8, …     packet_seq_num of 8 or 16 bits, which wraps; with packets lost, or a number that comes twice or goes back
metadata-cut   packets of metadata, without the padding of the last one
no-comment     metadata that begin without a comment
no-stream      events without a stream class
other-uuid     packets with another UUID than the metadata; other-uuid-damaged: also bytes that look like a packet of a third
restarts       a clock that starts again, in few events and in many; late: one event that is late
absolute       lengths with absolute paths, where nearer fields have the same name
counts         lengths that are a number of the environment, or an enum
no-classes     packets of a stream without event classes, and metadata without a stream
many           an event with 2000 fields
words          numbers in binary, characters, more semicolons than needed
number0        packets that all have the number 0
orders         two byte orders in one byte
version        a version that is no number of CTF
time-of-one    packets of two stream classes in one file, of which one has no time"""
import os
import struct
import sys

TYPES = """typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
"""
CLOCKED = TYPES + """trace { major = 1; minor = 8; byte_order = le; packet.header := struct { uint32_t magic; }; };
clock { name = monotonic; freq = 1000000000; offset = 0; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := ts_t;
stream {
    packet.context := struct {
        ts_t timestamp_begin; ts_t timestamp_end; uint64_t content_size; uint64_t packet_size; %s
    };
    event.header := struct { uint16_t id; ts_t timestamp; };
};
event { name = "a:b"; id = 1; fields := struct { uint32_t v; }; };
"""
COMMENT = "/* CTF 1.8 */\n"


def make(name, metadata, stream):
    directory = os.path.join(sys.argv[1], name)
    os.makedirs(directory)
    for file, data in ("metadata", metadata if isinstance(metadata, bytes) else metadata.encode()), ("stream", stream):
        with open(os.path.join(directory, file), "wb") as out:
            out.write(data)


def packet(events, begin, end, number=b""):
    body = b"".join(struct.pack("<HQI", 1, time, v) for time, v in events)
    bits = 8 * (4 + 32 + len(number) + len(body))
    return struct.pack("<IQQQQ", 0xC1FC1FC1, begin, end, bits, bits) + number + body


def numbered(name, bits, numbers):
    make(name, COMMENT + CLOCKED % f"uint{bits}_t packet_seq_num;",
         b"".join(packet([(1000 * i + 1, i)], 1000 * i, 1000 * i + 5, number.to_bytes(bits // 8, "little"))
                  for i, number in enumerate(numbers)))


def metadata_packets(text, size):
    made = b""
    for at in range(0, len(text), size - 37):
        part = text[at:at + size - 37]
        made += struct.pack("<I16sIIIBBBBB", 0x75D11D57, bytes(16), 0, 8 * (37 + len(part)), 8 * size, 0, 0, 0, 1, 8)
        made += part + bytes(size - 37 - len(part) if at + size - 37 < len(text) else 0)
    return made


def uuids():
    text = COMMENT + CLOCKED.replace("le;", 'le; uuid = "55555555-5555-5555-5555-555555555555";', 1).replace(
        "uint32_t magic;", "uint32_t magic; uint8_t uuid[16];") % ""

    def of(uuid, events):
        body = b"".join(struct.pack("<HQI", 1, time, v) for time, v in events)
        bits = 8 * (4 + 16 + 32 + len(body))
        return struct.pack("<I16sQQQQ", 0xC1FC1FC1, uuid, events[0][0], events[-1][0], bits, bits) + body

    first, second = of(b"V" * 16, [(1000, 1), (2000, 2)]), of(b"V" * 16, [(3000, 3)])
    make("other-uuid", text, first + second)
    make("other-uuid-damaged", text, first + b"damage" + of(b"W" * 16, [(2500, 99)]) + second)


def clocks():
    metadata = COMMENT + TYPES + """trace { major = 1; minor = 8; byte_order = le; };
stream { event.header := struct { uint64_t timestamp; uint8_t id; }; };
event { name = e; id = 1; fields := struct { uint32_t n; }; };
"""
    for name, times in (("restarts", (5000, 5100, 10, 20, 30, 6000)), ("late", (5000, 5200, 5100, 5300)),
                        ("restarts-often", [time for start in range(4) for time in range(1000 * start + 1, 1000 * start + 6001, 2)])):
        make(name, metadata, b"".join(struct.pack("<QBI", time, 1, n) for n, time in enumerate(times)))
    make("time-of-one", COMMENT + TYPES + """trace { major = 1; minor = 8; byte_order = le;
    packet.header := struct { uint8_t stream_id; }; };
clock { name = c; freq = 1000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.c.value; } := ts_t;
stream { id = 0; packet.context := struct { uint32_t packet_size; }; event.header := struct { ts_t timestamp; }; };
stream { id = 1; packet.context := struct { uint32_t packet_size; }; };
event { name = timed; stream_id = 0; fields := struct { uint32_t v; }; };
event { name = untimed; stream_id = 1; fields := struct { uint32_t v; }; };
""", b"".join(struct.pack("<BIQI", 0, 17 * 8, i, i) + struct.pack("<BII", 1, 9 * 8, i) for i in range(5000)))


def languages():
    head = COMMENT + TYPES + "trace { major = 1; minor = 8; byte_order = le; };\n"
    make("absolute", head + """stream { packet.context := struct { uint8_t len; }; };
event { name = e; fields := struct {
    uint8_t len; uint8_t far[stream.packet.context.len]; uint8_t near[len];
    struct { uint8_t n; uint8_t own[event.fields.inner.n]; } inner;
}; };
""", bytes([3, 1, 10, 11, 12, 20, 2, 30, 31]))
    make("counts", COMMENT + TYPES + "env { word = \"3\"; two = 2; };\n" + head[len(COMMENT + TYPES):] + """
event { name = e; fields := struct {
    string s[env.two]; enum : uint8_t { a, b } tag; uint8_t v[tag];
}; };
""", b"x\0yz\0" + bytes([1, 7]))
    make("no-classes/stream", head + "stream { packet.context := struct { uint32_t packet_size; }; };\n",
         struct.pack("<II", 32, 32))
    make("no-classes/none", head.replace("le; };", "le; packet.header := struct { uint32_t magic; }; };"),
         struct.pack("<I", 0xC1FC1FC1))
    make("many", head + "event { name = e; fields := struct {" +
         " ".join(f"uint8_t f{i};" for i in range(2000)) + "}; };\n", bytes(i % 256 for i in range(4000)))
    make("words", head.replace("le;", "le; letter = '\\n'; word = \"'\";") + """event { name = e;;; id = 0b0;
fields := struct { integer { size = 0b1000;; } v;; };; };
""", bytes([7, 8]))
    make("number0", COMMENT + CLOCKED % "uint64_t packet_seq_num;",
         b"".join(packet([(1000 * i + 1, i)], 1000 * i, 1000 * i + 5, bytes(8)) for i in range(3)))
    make("orders", head + """event { name = e; fields := struct {
    integer { size = 3; byte_order = be; } a; integer { size = 5; byte_order = le; } b; }; };
""", bytes([0xF8]))
    make("version", (head + "event { name = e; fields := struct { uint8_t v; }; };\n").replace(
        "major = 1", "major = 23452397856348975623897562893746589237"), b"1")
    make("version9", (head + "event { name = e; fields := struct { uint8_t v; }; };\n").replace(
        "major = 1", "major = 9"), b"1")


def main():
    one = packet([(1000, 1), (2000, 2)], 1000, 2000)
    make("unended", COMMENT + CLOCKED % "", one + packet([(3000, 3), (4000, 4)], 3000, 0))
    numbered("number8", 8, (254, 255, 0, 1))
    numbered("number16", 16, (65534, 65535, 0, 1))
    numbered("number8-lost", 8, (255, 2))
    numbered("number8-twice", 8, (7, 7))
    numbered("number32-back", 32, (4, 3))
    make("metadata-cut", metadata_packets((COMMENT + CLOCKED % "").encode(), 512), one)
    make("no-comment", CLOCKED % "", one)
    make("no-stream", COMMENT + TYPES + """trace { major = 1; minor = 8; byte_order = le; };
event { name = ev; fields := struct { uint8_t a; uint32_t b; string s; }; };
""", struct.pack("<BI", 7, 4711) + b"hello\0" + struct.pack("<BI", 8, 4712) + b"you\0")

    uuids()
    clocks()
    languages()


main()
