"""A host that speaks the agent's own protocol, messages as strata-agent-protocol(5) has them, written a second time so that each checks the other."""
import ctypes
import hashlib
import hmac
import os
import select
import socket
import struct
import time

from frames import *
from tracefs import check, wait_for

zstd = ctypes.CDLL("libzstd.so.1")
zstd.ZSTD_decompress.restype = ctypes.c_size_t
zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]


def unzstd(data, size):
    out = ctypes.create_string_buffer(size)
    check(zstd.ZSTD_decompress(out, size, data, len(data)) == size, "a frame does not unpack")
    return out.raw


class Body:
    def __init__(self, data):
        self.data, self.at = data, 0

    def get(self, code):
        values = struct.unpack_from("<" + code, self.data, self.at)
        self.at += struct.calcsize("<" + code)
        return values[0] if len(values) == 1 else values

    def bytes(self, n):
        check(self.at + n <= len(self.data), "a body is shorter than it says")
        self.at += n
        return self.data[self.at - n:self.at]

    def text(self):
        return self.bytes(self.get("H")).decode()

    def rest(self):
        return self.bytes(len(self.data) - self.at)

    def done(self):
        check(self.at == len(self.data), "a body is longer than it says")


class Gone(Exception):
    pass


class Host:
    """One connection, and what came of a session, over several connections."""

    def __init__(self, connection, before=None):
        self.socket = connection
        self.buffer = b""
        self.sent = self.received = 0
        self.compressed = 0
        self.metas = before.metas if before else {}
        self.facts = before.facts if before else {}
        self.pages = before.pages if before else {}
        self.next_page = before.next_page if before else {}
        self.gaps = before.gaps if before else 0
        self.status = None
        self.open_file = None

    def close(self):
        self.socket.close()

    def send(self, kind, body=b""):
        self.socket.sendall(frame(kind, body, self.sent))
        self.sent += 1

    def more(self, seconds):
        ready, _, _ = select.select([self.socket], [], [], seconds)
        check(ready, f"nothing has come for {seconds} s")
        try:
            piece = self.socket.recv(1 << 20)
        except ConnectionResetError:
            piece = b""
        if not piece:
            raise Gone()
        self.buffer += piece

    def next(self, seconds=60):
        """The next frame: type and body. Frames are whole, right, and numbered."""
        while len(self.buffer) < 32:
            self.more(seconds)
        magic, kind, flags, size, unpacked, sequence, body_sum, header_sum = struct.unpack_from("<4sHHIIQII", self.buffer)
        check(magic == b"SGL1" and header_sum == checksum(self.buffer[:28]), f"no header: {self.buffer[:32]}")
        check(sequence == self.received, f"frame {sequence} came, {self.received} should")
        self.received += 1
        while len(self.buffer) < 32 + size:
            self.more(seconds)
        body, self.buffer = self.buffer[32:32 + size], self.buffer[32 + size:]
        check(body_sum == checksum(body), "the checksum of a body is wrong")
        if flags == 1:
            self.compressed += 1
            body = unzstd(body, unpacked)
        check(flags in (0, 1) and len(body) == unpacked, "flags or length are wrong")
        return kind, Body(body)

    def wait(self, wanted, seconds=60):
        """The body of the next frame of that type; data and the like that come before it are taken in. FAILED is returned when it is not what is wanted as an OSError."""
        while True:
            kind, body = self.next(seconds)
            if kind == wanted:
                return body
            if kind == META:
                self.on_meta(body)
            elif kind == DATA:
                self.on_data(body)
            elif kind == STATUS:
                self.on_status(body)
            elif kind == FAILED:
                raise OSError(body.get("i"), body.text(), body.text())
            else:
                check(kind in (PONG,), f"message {kind} came instead of {wanted}")

    def on_meta(self, body):
        kind, path, last = body.get("H"), body.text(), body.get("B")
        if self.open_file is None:
            self.open_file = (kind, path)
            if kind != FACT:
                self.metas[path] = b""
        check(self.open_file == (kind, path), f"{path} comes in the midst of {self.open_file}")
        if kind == FACT:
            self.facts[path] = body.rest().decode()
        else:
            self.metas[path] += body.rest()
        if last:
            self.open_file = None

    def on_data(self, body):
        cpu, n, first = body.get("IIQ")
        pages = body.rest()
        check(len(pages) == n * self.page_size, "DATA holds another number of pages than it says")
        check(first >= self.next_page.get(cpu, 0), f"CPU {cpu}: page {first} came twice")
        self.gaps += first - self.next_page.get(cpu, 0)
        self.next_page[cpu] = first + n
        self.pages[cpu] = self.pages.get(cpu, b"") + pages

    def on_status(self, body):
        body.get("Q")
        names = ("online", "pages_read", "pages_sent", "bytes_queued", "times_full", "entries", "overrun", "dropped",
                 "commit_overrun", "read_events")
        self.status = {}
        for _ in range(body.get("I")):
            cpu = body.get("I")
            self.status[cpu] = dict(zip(names, body.get("B9Q")))
        body.done()

    def hello(self, lowest=1, highest=2):
        self.nonce = os.urandom(16)
        self.send(HELLO, struct.pack("<HH", lowest, highest) + self.nonce)
        while True:
            # What comes before it is of another conversation.
            kind, body = self.next()
            if kind == FAILED:
                raise OSError(body.get("i"), body.text(), body.text())
            if kind == HELLO:
                check(body.get("H") == min(highest, 2), "another version was chosen")
                if body.bytes(16) == self.nonce:
                    break
        self.agent_nonce = body.bytes(16)
        self.needs_auth = body.get("B")
        self.agent = body.text()
        self.session = body.bytes(16)
        self.release, self.machine, self.boot_id = body.text(), body.text(), body.text()
        self.memory_page, self.long_size, self.big_endian, self.possible = body.get("IBBI")
        self.online = [body.get("I") for _ in range(body.get("I"))]
        self.clocks = body.text().split()
        self.clock = body.text()
        body.done()

    def auth(self, key):
        def proof(*parts):
            return hmac.new(key, b"".join(parts), hashlib.sha256).digest()

        self.send(AUTH, proof(b"strata host", self.agent_nonce, self.nonce))
        body = self.wait(AUTH)
        check(body.rest() == proof(b"strata agent", self.nonce, self.agent_nonce), "the agent's proof is wrong")

    def setup(self, events, buffer_kib=0, queue_kib=0, keep=0, clock="", level=0, wants=6):
        body = struct.pack("<III", buffer_kib, queue_kib, keep) + text(clock) + struct.pack("<BBI", level, wants, len(events))
        for event, event_filter in events:
            body += text(event) + text(event_filter)
        self.send(SETUP, body)
        body = self.wait(READY)
        self.n_events, self.trace_clock, self.hz, self.page_size = body.get("I"), body.text(), body.get("Q"), body.get("I")
        self.cpus = [body.get("I") for _ in range(body.get("I"))]
        body.done()
        self.pages, self.next_page, self.gaps = {}, {}, 0

    def start(self):
        self.send(START)
        return self.wait(STARTED).get("Q")

    def stop(self):
        self.send(STOP)
        return self.wait(STOPPED).get("Q")

    def flush(self, token):
        self.send(FLUSH, struct.pack("<Q", token))
        body = self.wait(FLUSHED)
        check(body.get("Q") == token, "FLUSHED answers another FLUSH")
        return body.get("Q")

    def resume(self, before):
        self.page_size = before.page_size
        body = before.session + struct.pack("<I", len(self.next_page))
        for cpu, page in self.next_page.items():
            body += struct.pack("<IQ", cpu, page)
        self.send(RESUME, body)
        return self.wait(STARTED).get("Q")

    def ping(self):
        """What the guest's clocks showed, and the host's before and behind."""
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        token = int.from_bytes(os.urandom(8), "little")
        self.send(PING, struct.pack("<QQ", token, before))
        while True:
            body = self.wait(PONG)
            got, host_time, came, sent, raw, realtime = body.get("6Q")
            body.done()
            if got == token:
                check(host_time == before, "PONG tells another host time than PING did")
                return before, came, sent, time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def connect(path):
    """Where an agent listens, or is about to."""
    connected = []

    def attempt():
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            s.close()
            return False
        connected.append(s)
        return True

    wait_for(attempt, f"somebody to listen at {path}")
    return Host(connected[0])
