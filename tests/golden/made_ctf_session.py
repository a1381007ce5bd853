"""Sessions of LTTng, in CTF 1.8: made_ctf_session.py DIR

rotated     two chunks in archives/ and what followed, each with a kernel's and a program's trace; 7 events of a stream were lost
            in the second chunk, and a packet is missing between the last two
snapshots   three snapshots that overlap
limited     a kernel's trace in files of a limited size and number, of two CPUs: of CPU 0 the first file was written again, 4 events
            were lost before what is left and 2 after it; of CPU 1 three were lost
empty       two chunks of a kernel of two CPUs: in the first one, all events of CPU 1 were lost, and then some between its two
            packets in the second one
events.txt  the events of each, in order: session, domain, value"""
import os
import struct
import sys

METADATA = """/* CTF 1.8 */
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
trace { major = 1; minor = 8; byte_order = le; uuid = "55555555-5555-5555-5555-5555555555%s";
        packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint64_t stream_instance_id; }; };
env { domain = "%s"; tracer_name = "lttng-%s"; tracer_major = 2; tracer_minor = 13; };
clock { name = monotonic; freq = 1000000000; offset = 0; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := ts_t;
stream {
    packet.context := struct {
        ts_t timestamp_begin; ts_t timestamp_end; uint64_t content_size; uint64_t packet_size;
        uint64_t packet_seq_num; uint64_t events_discarded; uint32_t cpu_id;
    };
    event.header := struct { uint16_t id; ts_t timestamp; };
};
event { name = "%s"; id = 1; fields := struct { uint32_t v; }; };
"""
events = []


UUIDS = {"kernel": "aa", "ust": "bb"}


def packet(cpu, number, values, discarded, kind="kernel"):
    """Value v is at v microseconds."""
    body = b"".join(struct.pack("<HQI", 1, 1000 * v, v) for v in values)
    return packet_of(cpu, number, 1000 * values[0], 1000 * values[-1] + 500, body, discarded, kind)


def packet_of(cpu, number, begin, end, body, discarded, kind="kernel"):
    bits = 8 * (28 + 52 + len(body))
    uuid = b"U" * 15 + bytes.fromhex(UUIDS[kind])
    return struct.pack("<I16sQQQQQQQI", 0xC1FC1FC1, uuid, cpu, begin, end, bits, bits, number, discarded, cpu) + body


def domain(directory, kind, name, streams):
    directory = os.path.join(sys.argv[1], directory)
    os.makedirs(os.path.join(directory, "index"))
    with open(os.path.join(directory, "metadata"), "w") as out:
        out.write(METADATA % (UUIDS[kind], kind, "modules" if kind == "kernel" else kind, name))
    for stream, packets in streams.items():
        with open(os.path.join(directory, stream), "wb") as out:
            out.write(b"".join(packets))


def note(session, kind, values):
    events.extend((v, session, kind) for v in values)


def rotated():
    ust = "ust/uid/1000/64-bit"
    chunks = ("archives/20261129T235959+0000-20261130T000000+0000-9", "archives/20261130T000000+0000-20261130T000001+0000-10", ".")
    number = discarded = 0
    for i, chunk in enumerate(chunks):
        first = 100 * i + 10
        discarded += 7 * (i == 1)
        packets = [packet(0, number, [first, first + 1], discarded), packet(0, number + 1, [first + 2, first + 3], discarded)]
        number += 2 + (i == 1)
        domain(f"rotated/{chunk}/kernel", "kernel", "k", {"channel0_0": packets})
        note("rotated", "k", range(first, first + 4))
        domain(f"rotated/{chunk}/{ust}", "ust", "u:e", {"channel0_0": [packet(0, i, [first + 5], 0, "ust")],
                                                         "channel0_1": [packet(1, i, [first + 6], 0, "ust")]})
        note("rotated", "u:e", range(first + 5, first + 7))


def empty():
    chunks = ("archives/20261129T235959+0000-20261130T000000+0000-9", ".")
    domain(f"empty/{chunks[0]}/kernel", "kernel", "k", {"channel0_0": [packet(0, 0, [10, 15], 0)],
                                                         "channel0_1": [packet_of(1, 0, 9000, 16000, b"", 5)]})
    domain(f"empty/{chunks[1]}/kernel", "kernel", "k", {"channel0_0": [packet(0, 1, [20, 30, 40], 0)],
                                                        "channel0_1": [packet(1, 1, [21, 31], 5), packet(1, 2, [41], 8)]})
    note("empty", "k", (10, 15, 20, 21, 30, 31, 40, 41))


def snapshots():
    packets = [packet(0, number, range(10 * number, 10 * number + 3), 0) for number in range(12)]
    for i, (begin, end) in enumerate(((0, 5), (2, 7), (7, 12))):
        domain(f"snapshots/snapshot-1-20261129-16210{9 - i}-{i + 9}/kernel", "kernel", "k", {"channel0_0": packets[begin:end]})
    note("snapshots", "k", (v for number in range(12) for v in range(10 * number, 10 * number + 3)))


def limited():
    files = {"channel0_0_0": [packet(0, 2, [30, 31], 6)], "channel0_0_1": [packet(0, 1, [20, 21], 4)],
             "channel0_1_0": [packet(1, 0, [22], 0), packet(1, 1, [24], 3)], "channel0_1_1": [packet(1, 2, [33], 3)]}
    domain("limited/kernel", "kernel", "k", files)
    note("limited", "k", (20, 21, 22, 24, 30, 31, 33))


def restarted():
    """Tracers that began again: the count of discarded events goes to 0, alone, with the number in a file, or in the next chunk."""
    chunks = ("archives/20261129T235959+0000-20261130T000000+0000-9", ".")
    domain(f"restarted/{chunks[0]}/kernel", "kernel", "k", {
        "channel0_0": [packet(0, 0, [10, 11], 0), packet(0, 1, [20, 21], 5), packet(0, 2, [30, 31], 0), packet(0, 0, [40, 41], 2)],
        "channel0_1": [packet(1, 7, [22], 4)]})
    domain(f"restarted/{chunks[1]}/kernel", "kernel", "k", {"channel0_0": [packet(0, 1, [50, 51], 2)],
                                                            "channel0_1": [packet(1, 3, [52, 53], 4), packet(1, 4, [60], 7)]})
    note("restarted", "k", (10, 11, 20, 21, 22, 30, 31, 40, 41, 50, 51, 52, 53, 60))


def main():
    rotated()
    restarted()
    limited()
    empty()
    snapshots()
    with open(os.path.join(sys.argv[1], "events.txt"), "w") as out:
        for value, session, kind in sorted(events):
            print(session, kind, value, file=out)


main()
