"""Frames of the agent's own protocol as strata-agent-protocol(5) has them, written a second time, for a host and an agent of the tests."""
import struct

(HELLO, AUTH, SETUP, META, READY, START, STARTED, STOP, STOPPED, DATA, STATUS, ASK_STATUS, PING, PONG, FAILED, BYE,
 RESUME, FLUSH, FLUSHED) = range(1, 20)
FILE, KALLSYMS, FACT = 1, 2, 3


def mix(h, word):
    h = (h ^ word) * 0x9e3779b97f4a7c15 & 0xffffffffffffffff
    return h ^ h >> 32


def sum_up(total, lanes):
    for lane in lanes:
        total = mix(total, lane)
    return total & 0xffffffff


def checksum(data):
    lanes = [1, 2, 3, 4]
    for i, (word,) in enumerate(struct.iter_unpack("<Q", data + bytes(-len(data) % 8))):
        lanes[i % 4] = mix(lanes[i % 4], word)
    return sum_up(len(data), lanes)


def text(s):
    s = s.encode() if isinstance(s, str) else s
    return struct.pack("<H", len(s)) + s


def frame(kind, body=b"", sequence=0, flags=0, unpacked=None, sum_of_body=None):
    head = struct.pack("<4sHHIIQI", b"SGL1", kind, flags, len(body), len(body) if unpacked is None else unpacked,
                       sequence, checksum(body) if sum_of_body is None else sum_of_body)
    return head + struct.pack("<I", checksum(head)) + body
