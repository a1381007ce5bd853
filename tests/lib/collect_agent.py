#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An agent of a guest that is none: it listens on a socket, speaks the agent's protocol
(strata-agent-protocol(5)), and behaves or misbehaves as BEHAVIOUR says.

    collect_agent.py SOCKET BEHAVIOUR [KEYFILE]
    collect_agent.py FOLDER old             by the old protocol
    collect_agent.py FOLDER good N          N agents, on FOLDER/1, FOLDER/2, …
"""
import hmac
import os
import socket
import struct
import sys
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../agent"))
from frames import *


class Repeated:
    """Bytes that are sent repeatedly after 16 others, of which the last 8 change; so only one lane changes of the
    checksum."""

    def __init__(self, head, data):
        self.data = data
        words = [word for word, in struct.iter_unpack("<Q", head + data)]
        self.size = 8 * len(words)
        self.lanes = [1, 2, 3, 4]
        for i, word in enumerate(words):
            self.lanes[i % 4] = mix(self.lanes[i % 4], word)
        self.words = words[5::4]

    def checksum_behind(self, head):
        lane = mix(2, struct.unpack("<QQ", head)[1])
        for word in self.words:
            lane = mix(lane, word)
        return sum_up(self.size, [self.lanes[0], lane, *self.lanes[2:]])


HEADER_PAGE = """\
\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
"""
FORMAT = """\
name: beat
ID: 300
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:u64 count;\toffset:8;\tsize:8;\tsigned:0;

print fmt: "count=%llu", REC->count
"""
# Names and texts that command a terminal.
HOSTILE_FORMAT = FORMAT.replace('"count=%llu", REC->count', '"%c%c1m%c", 0xc2, 0x9b, 0x9b')
PER_PAGE = 100


def guest_time():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def page(first, n=PER_PAGE, at=None):
    """A ring-buffer page with N beats that count from FIRST."""
    records = b""
    for i in range(n):
        # Four words of payload; a microsecond apart.
        records += struct.pack("<IHBBiQ", 1000 << 5 | 4, 300, 0, 0, 42, first + i)
    return struct.pack("<QQ", at or 1000000 * (first + 1), len(records)) + records.ljust(4080, b"\0")


class Agent:
    def __init__(self, path, behaviour, key):
        self.path, self.behaviour, self.key = path, behaviour, key
        self.session = b"session-" + b"%8d" % os.getpid()
        self.boot_id = "boot-1"
        self.listener = socket.socket(socket.AF_UNIX)
        # Who sees it can connect.
        self.listener.bind(path + ".new")
        self.listener.listen()
        os.rename(path + ".new", path)
        self.beats = [0, 0]
        self.pages = [0, 0]
        self.connections = 0

    def send(self, kind, body=b"", flags=0, unpacked=None, sum_of_body=None):
        self.stream.sendall(frame(kind, body, self.number, flags, unpacked, sum_of_body))
        self.number += 1

    def send_for_ever(self, frames):
        """As fast as the collector reads: the test is of its limits, not of our speed."""
        while True:
            self.stream.sendall(frames)

    def wait_for(self, condition):
        """Until CONDITION is true; pings are answered meanwhile."""
        while not condition():
            ping = self.receive(0.1)
            if ping:
                self.ping(ping[1])

    def receive(self, wait=None):
        """The next frame, or None when WAIT seconds have passed; EOFError at the end."""
        self.stream.settimeout(wait)
        try:
            while len(self.buffer) < 32 or \
                    len(self.buffer) < 32 + struct.unpack_from("<I", self.buffer, 8)[0]:
                more = self.stream.recv(65536)
                if not more:
                    raise EOFError
                self.buffer += more
        except (TimeoutError, BlockingIOError):
            return None
        finally:
            self.stream.settimeout(None)
        kind, _, size = struct.unpack_from("<HHI", self.buffer, 4)
        assert self.buffer[:4] == b"SGL1"
        assert struct.unpack_from("<I", self.buffer, 28)[0] == checksum(self.buffer[:28])
        body, self.buffer = self.buffer[32:32 + size], self.buffer[32 + size:]
        return kind, body

    def meta(self, path, content, kind=1):
        content = content.encode() if isinstance(content, str) else content
        half = len(content) // 2
        self.send(META, struct.pack("<H", kind) + text(path) + b"\0" + content[:half])
        self.send(META, struct.pack("<H", kind) + text(path) + b"\1" + content[half:])

    def data(self, cpu, n=1, beats=PER_PAGE):
        pages = b"".join(page(self.beats[cpu] + i * PER_PAGE, beats) for i in range(n))
        self.send(DATA, struct.pack("<IIQ", cpu, n, self.pages[cpu]) + pages)
        self.beats[cpu] += (n - 1) * PER_PAGE + beats
        self.pages[cpu] += n

    def status(self, overrun=0):
        body = struct.pack("<QI", guest_time(), 2)
        for cpu in range(2):
            body += struct.pack("<IB9Q", cpu, 1, self.pages[cpu], self.pages[cpu], 0, 0, 0, overrun,
                                0, 0, self.beats[cpu])
        self.send(STATUS, body)

    def hello(self, body):
        self.host_nonce, self.nonce = body[4:20], os.urandom(16)
        self.send(HELLO, struct.pack("<H", 1) + self.host_nonce + self.nonce +
                  (b"\1" if self.key else b"\0") + text("0.0.0") + self.session.ljust(16)[:16] +
                  text("6.1.0") + text("x86_64") + text(self.boot_id) +
                  struct.pack("<IBBIIII", 4096, 8, 0, 2, 2, 0, 1) + text("local mono_raw") +
                  text("mono_raw"))

    def auth(self, body):
        expected = hmac.digest(self.key, b"strata host" + self.nonce + self.host_nonce, "sha256")
        if body != expected:
            self.send(FAILED, struct.pack("<i", 13) + text("the key is another one") + text(""))
            return
        self.send(AUTH, hmac.digest(self.key, b"strata agent" + self.host_nonce + self.nonce,
                                    "sha256"))

    def setup(self):
        b = self.behaviour
        if b == "refuses":
            self.send(FAILED, struct.pack("<i", 22) + text("no event is called so") +
                      text("look into events/"))
            return
        if b == "silent-setup":
            open("set-up", "w").close()
            time.sleep(1000)
        if b == "endless-meta":
            self.send_for_ever(frame(META, struct.pack("<H", 1) + text("kallsyms") + b"\0" + b"x" * 65536))
        if b == "endless-files":
            self.send_for_ever(frame(META, struct.pack("<H", 1) + text("trace_clock") + b"\1") * 1000)
        for path in {
                "path-up": ["../../evil"], "path-absolute": ["/tmp/evil"],
                "path-other": ["events/x/y/enable"], "path-dots": ["events/../../evil/format"],
                "path-pages": ["cpu0.raw"], "path-empty": [""],
                "path-long": ["events/" + "a" * 400 + "/b/format"],
        }.get(b, []):
            self.meta(path, "evil")
        if b == "two-files":
            self.send(META, struct.pack("<H", 1) + text("trace_clock") + b"\0")
            self.send(META, struct.pack("<H", 1) + text("saved_cmdlines") + b"\0")
        self.meta("events/header_page", HEADER_PAGE)
        self.meta("events/toy/beat/format", HOSTILE_FORMAT if b == "hostile" else FORMAT)
        self.meta("trace_clock", "local global [mono_raw]\n")
        self.meta("saved_cmdlines", "42 \x1b[1m\u009b\u202e\x7f\n" if b == "hostile" else "42 =heart\n" if b == "formula" else "42 heart\n")
        if b == "good":
            self.meta("pid_filter", "42" if self.key else "0", 3)
        if b in ("colourful", "hostile"):
            self.meta("problem", "\033[31m red \007", 3)
        clock = "local" if b == "no-clock" else "mono_raw"
        self.send(READY, struct.pack("<I", 1) + text(clock) +
                  struct.pack("<QIIII", 10**9, 4096, 2, 0, 1))

    def ping(self, body):
        now = 0 if self.behaviour == "no-clock" else guest_time()
        self.send(PONG, body + struct.pack("<4Q", now, now and guest_time(), guest_time(),
                                           time.time_ns()))

    def start(self):
        b = self.behaviour
        if b == "garbage":
            self.stream.sendall(os.urandom(1 << 20))
        self.send(STARTED, struct.pack("<Q", guest_time()))
        if b == "deaf":
            # From here on a ping, of which one is due all the time, cannot be sent to it.
            self.stream.shutdown(socket.SHUT_RD)
        for _ in range(3):
            self.data(0)
            self.data(1, 2)
            if b == "deaf":
                time.sleep(0.2)
        if b == "deaf":
            self.status()
            self.send(BYE)
            sys.exit(0)
        if b == "wrong-length":
            self.send(DATA, struct.pack("<IIQ", 0, 1, 3) + b"x" * 100)
        if b == "wrong-cpu":
            self.send(DATA, struct.pack("<IIQ", 4096, 1, 0) + page(0))
        if b == "wrong-type":
            self.send(99)
        if b == "data-in-zstd":
            self.send(DATA, os.urandom(1000), 1, 4112)
        if b == "many-cpus":
            self.data(0)
            self.data(1)
            for cpu in range(2, 4096):
                self.send(DATA, struct.pack("<IIQ", cpu, 1, 0) + page(0))
        if b == "problems":
            for i in range(5000):
                self.send(META, struct.pack("<H", 3) + text("problem") + b"\1" + b"problem %d" % i)
        if b == "fills":
            self.wait_for(lambda: os.path.exists("fill"))
        if b in ("flood", "much", "fills"):
            number = 3
            pages = Repeated(struct.pack("<IIQ", 0, 15, 0), page(0) * 15)
            while b == "flood" or number < 15000:
                head = struct.pack("<IIQ", 0, 15, number)
                self.send(DATA, head + pages.data, sum_of_body=pages.checksum_behind(head))
                number += 15
            self.pages[0] = number
        if b == "flip":
            # A frame with a page that is damaged on the way.
            self.number += 1
            head = b"SGL1" + struct.pack("<HHIIQI", DATA, 0, 4112, 4112, 7, 0)
            self.stream.sendall(head + struct.pack("<I", checksum(head)) + b"\0" * 4112)
            self.pages[0] += 1
            self.beats[0] += PER_PAGE
            self.data(0)
        if b in ("reconnect", "reboot", "new-agent", "forgets") and self.connections == 1:
            # A busy collector does not wait for an answer before it traces; the clock of this boot is known now or never.
            if b == "reboot" and os.path.isdir("out"):
                self.wait_for(lambda: os.path.exists("out/guest-v/clock-pairs"))
            # A page is lost with the connection.
            self.pages[0] += 1
            self.beats[0] += PER_PAGE
            raise EOFError
        if b == "mute":
            time.sleep(100)
        if b == "torn":
            # Once it is known to trace: a file is begun, then nothing makes sense, then nothing comes.
            self.wait_for(lambda: "v: traces" in open("told").read())
            self.send(META, struct.pack("<H", 1) + text("saved_cmdlines") + b"\0half")
            self.stream.sendall(b"x" * 100)
            while True:
                self.receive()

    def stop(self):
        b = self.behaviour
        if b == "never-stops":
            while True:
                self.data(0)
                time.sleep(0.01)
        if b == "mute-stop":
            time.sleep(100)
        self.data(1, 1, 7)
        self.meta("saved_cmdlines", "42 =heart2\n" if b == "formula" else "42 heart2\n")
        self.status(5 if b == "overrun" else 0)
        self.send(STOPPED, struct.pack("<Q", guest_time()))

    def resume(self, body):
        if self.behaviour == "forgets" or body[:16] != self.session.ljust(16)[:16]:
            self.send(FAILED, struct.pack("<i", 2) + text("there is no such session") + text(""))
            self.pages = [0, 0]
            return
        self.send(STARTED, struct.pack("<Q", guest_time()))
        self.data(0)

    def serve(self):
        self.stream, _ = self.listener.accept()
        self.connections += 1
        self.number, self.buffer = 0, b""
        if self.behaviour == "reboot" and self.connections == 2:
            self.boot_id, self.session, self.pages = "boot-2", b"another", [0, 0]
        if self.behaviour == "new-agent" and self.connections == 2:
            self.session, self.pages = b"another", [0, 0]
        if self.behaviour == "left-over":
            # The rest of a frame that was meant for another host.
            self.stream.sendall(b"SGL1 and so on" * 1000)
            self.send(STOPPED, struct.pack("<Q", 1))
        while True:
            kind, body = self.receive()
            if kind == HELLO:
                self.hello(body)
            elif kind == AUTH:
                self.auth(body)
            elif kind == SETUP:
                self.setup()
            elif kind == PING:
                self.ping(body)
            elif kind == START:
                self.start()
            elif kind == STOP:
                self.stop()
            elif kind == RESUME:
                self.resume(body)
            elif kind == BYE:
                self.send(BYE)
                return False


def old(folder):
    """Writes pages by the old protocol into the FIFOs of FOLDER, in pieces of any size."""
    control = open(folder + "/agent-ctl-path.in", "rb", buffering=0)
    while control.read(2) != b"1\n":
        pass
    ports = [open(f"{folder}/trace-path-cpu{cpu}.out", "wb", buffering=0) for cpu in range(2)]
    for cpu, port in enumerate(ports):
        pages = b"".join(page(cpu * 1000 + i * PER_PAGE) for i in range(5))
        for at in range(0, len(pages), 999):
            port.write(pages[at:at + 999])
    # The rest, of which the host gets to know when it has said stop: that protocol tells no end, so that whoever is
    # slow loses it. Here the host is stopped meanwhile.
    while not os.path.exists(folder + "/rest"):
        time.sleep(0.01)
    ports[1].write(page(1000 + 5 * PER_PAGE, 7))
    open(folder + "/written", "w").close()
    if control.read(2) != b"0\n":
        sys.exit("it was not stopped")


def main():
    path, behaviour = sys.argv[1:3]
    if behaviour == "old":
        old(path)
        return
    if len(sys.argv) > 3 and sys.argv[3].isdigit():
        for i in range(int(sys.argv[3])):
            threading.Thread(target=run, args=(Agent(f"{path}/{i + 1}", behaviour, None),)).start()
        return
    key = open(sys.argv[3], "rb").read().strip() if len(sys.argv) > 3 else None
    run(Agent(path, behaviour, key))


def run(agent):
    for _ in range(40):
        try:
            if not agent.serve():
                return
        except (EOFError, BrokenPipeError, ConnectionResetError):
            agent.stream.close()


if __name__ == "__main__":
    main()
