#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Talks to monitors: those of tests/runtime/monitored.c and, for comparison, a real QEMU's.

    monitor.py hmp PATH             sends standard input as lines, each when the prompt is there, and
                                    prints what is said
    monitor.py CHECK MONITORED      one of the checks below, in the current folder: it starts the program
    monitor.py qemu MONITORED QEMU  asks both the same, by QMP and HMP, and compares
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

PATIENCE = 120  # seconds; only a test that fails waits for so long


class Peer:
    """A connection, to a UNIX socket's path or a port of this machine."""

    def __init__(self, where):
        end = time.monotonic() + PATIENCE
        while True:
            self.socket = socket.socket(socket.AF_UNIX if isinstance(where, str) else socket.AF_INET)
            self.socket.settimeout(PATIENCE)
            try:
                self.socket.connect(where if isinstance(where, str) else ("127.0.0.1", where))
                break
            except (FileNotFoundError, ConnectionRefusedError, BlockingIOError):
                self.socket.close()
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)
        self.got = b""

    def send(self, data):
        self.socket.sendall(data)

    def until(self, mark):
        """What comes up to MARK, and MARK."""
        while mark not in self.got:
            more = self.socket.recv(65536)
            if not more:
                raise EOFError(f"ended after {self.got!r}, waiting for {mark!r}")
            self.got += more
        n = self.got.index(mark) + len(mark)
        data, self.got = self.got[:n], self.got[n:]
        return data

    def rest(self):
        """What comes up to the end."""
        while True:
            more = self.socket.recv(65536)
            if not more:
                data, self.got = self.got, b""
                return data
            self.got += more

    def close(self):
        self.socket.close()


class Hmp(Peer):
    PROMPT = b"(qemu) "

    def __init__(self, where):
        super().__init__(where)
        self.greeting = self.until(self.PROMPT)

    def ask(self, line):
        self.send(line.encode() + b"\n")
        said = self.until(self.PROMPT)
        # QEMU shows what is typed, over and over.
        return said.split(b"\x1b[K")[-1].removeprefix(b"\r\n")


class Qmp(Peer):
    def __init__(self, where, negotiate=True):
        super().__init__(where)
        self.greeting = json.loads(self.until(b"\r\n"))
        self.n = 0
        if negotiate:
            assert self.ask(b'{"execute":"qmp_capabilities"}') == [{"return": {}}]

    def ask(self, data):
        """All replies to DATA, which holds whole messages: up to the reply to a message of ours that follows."""
        self.n += 1
        mark = f"mark-{self.n}"
        self.send(data + b'\n{"execute":"query-version","id":"%s"}' % mark.encode())
        replies = []
        while True:
            reply = json.loads(self.until(b"\r\n"))
            if reply.get("id") == mark:
                return replies
            if "event" not in reply:
                replies.append(reply)

    def call(self, command, **arguments):
        request = {"execute": command, "arguments": {k.replace("_", "-"): v for k, v in arguments.items()}}
        (reply,) = self.ask(json.dumps(request).encode())
        return reply["return"]


class Program:
    def __init__(self, *arguments, stdin=subprocess.DEVNULL):
        self.process = subprocess.Popen(arguments, stdin=stdin)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def alive(self):
        return self.process.poll() is None


def same(what, got, want):
    if got != want:
        sys.exit(f"monitor.py: {what}:\n  got  {got!r}\n  want {want!r}")


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"monitor.py: waited in vain: {what}")
        time.sleep(0.02)


def reserved_port():
    """A socket that keeps its port: while it exists, only a program that asks for this port gets it."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", 0))
    return s


# ---- Checks of our own program ----


def check_transports(monitored):
    """UNIX and TCP sockets, several monitors in a program; threads and a main loop."""
    for extra in ([], ["-l"]):
        reserved = reserved_port()
        port = reserved.getsockname()[1]
        with reserved, Program(monitored, *extra, "-n", "us", "-t", "log=/dev/null", "-m", "unix:h,server,nowait",
                               "-q", f"tcp::{port}", "-q", "unix:q") as program:
            hmp = Hmp("h")
            same("greeting", hmp.greeting, b"us monitor - type 'help' for more information\r\n(qemu) ")
            same("mode", oct(os.stat("h").st_mode), oct(0o140600))
            hmp.ask("trace-event serial_read on")
            for where in (port, "q"):
                qmp = Qmp(where)
                same("state", qmp.call("trace-event-get-state", name="serial_read"),
                     [{"name": "serial_read", "vcpu": False, "state": "enabled"}])
            # Byte by byte.
            for byte in b'{"execute":"query-name","id":1}':
                qmp.send(bytes([byte]))
            same("bytes", json.loads(qmp.until(b"\r\n")), {"return": {"name": "us"}, "id": 1})
            # quit ends the session, and not the program.
            qmp.send(b'{"execute":"quit"}')
            same("quit", qmp.rest(), b'{"return": {}}\r\n')
            hmp.send(b"quit\n")
            same("quit", hmp.rest(), b"")
            same("alive", program.alive(), True)
        same("sockets are removed", [os.path.exists("h"), os.path.exists("q")], [False, False])


def check_sockets(monitored):
    """What is in the way of a socket."""
    with open("file", "w"):
        pass
    stale = socket.socket(socket.AF_UNIX)
    stale.bind("s")
    stale.close()
    with Program(monitored, "-m", "unix:s"):
        Hmp("s").ask("info")
        for where, why in (("unix:s", "Address already in use"), ("unix:file", "File exists"),
                           ("unix:" + "x" * 108, "File name too long"), ("somewhere", "Invalid argument"),
                           ("unix:nowhere/s", "No such file or directory")):
            run = subprocess.run([monitored, "-m", where], stderr=subprocess.PIPE, text=True, check=False)
            same(where, (run.returncode, run.stderr), (1, f"monitored: {where}: {why}\n"))
        Hmp("s").ask("info")


def check_many(monitored):
    """Sixteen sessions at a time; the next one waits for one of them to end."""
    for extra in ([], ["-l"]):
        with Program(monitored, *extra, "-q", "unix:q"):
            peers = [Qmp("q") for _ in range(16)]
            late = socket.socket(socket.AF_UNIX)
            late.connect("q")
            for qmp in peers:
                same("served", qmp.call("query-name"), {"name": "monitored"})
            late.settimeout(0.2)
            try:
                same("not yet", late.recv(1), b"nothing")
            except socket.timeout:
                pass
            peers[3].close()
            late.settimeout(PATIENCE)
            same("now", late.recv(7), b'{"QMP":')
            late.close()


def check_rude(monitored):
    """Who does not read, and who goes away in the middle, is no trouble to others or the program."""
    for extra in ([], ["-l"]):
        with Program(monitored, *extra, "-m", "unix:h", "-q", "unix:q") as program:
            deaf = Peer("h").socket
            deaf.settimeout(0.5)
            sent = 0
            try:
                while sent < 64 << 20:
                    sent += deaf.send(b"help\n" * 1000)
            except socket.timeout:
                pass
            if sent >= 64 << 20:
                sys.exit("monitor.py: unread replies accumulate")
            same("others", Hmp("h").ask("info trace-events serial_read"), b"serial_read : state 0\r\n(qemu) ")
            deaf.close()
            for _ in range(50):
                for where, what in (("h", b"help\n" * 100), ("q", b'{"execute":')):
                    peer = Peer(where)
                    peer.send(what)
                    peer.close()
            Hmp("h").ask("info")
            Qmp("q").call("query-name")
            same("alive", program.alive(), True)


def check_stdio(monitored):
    """In the place of a terminal: pipes, files, and no reader."""
    lines = b"info trace-events serial_*\ntrace-event serial_read on\ninfo trace-events serial_read\nquit\nhelp\n"
    want = (b"us monitor - type 'help' for more information\r\n> serial_read : state 0\r\nserial_write : state 0\r\n"
            b"serial_update_parameters : state 0\r\n> > serial_read : state 1\r\n> ")
    arguments = [monitored, "-n", "us", "-p", "> ", "-t", "log=/dev/null", "-m", "stdio", "-l", "-e"]
    run = subprocess.run(arguments, input=lines, stdout=subprocess.PIPE, check=False)
    same("by pipes", (run.returncode, run.stdout), (0, want))
    with open("lines", "wb") as f:
        f.write(lines.replace(b"quit\nhelp\n", b""))
    with open("lines", "rb") as stdin, open("said", "wb") as stdout:
        run = subprocess.run(arguments, stdin=stdin, stdout=stdout, check=False)
    with open("said", "rb") as f:
        same("by files", (run.returncode, f.read()), (0, want))
    # The other end of standard output is closed: an error of the session, no SIGPIPE.
    r, w = os.pipe()
    os.close(r)
    run = subprocess.run(arguments, input=b"help\n", stdout=w, check=False)
    os.close(w)
    same("no reader", run.returncode, 0)


def check_trace_file(monitored):
    """trace-file, and that what it says is so."""

    def size(path):
        return os.stat(path).st_size if os.path.exists(path) else -1

    def sleeps(program):
        # Of its main thread, one for each value.
        with open(f"/proc/{program.process.pid}/task/{program.process.pid}/status", encoding="ascii") as f:
            return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", f.read(), re.M)[1])

    here = os.path.realpath(".")
    with Program(monitored, "-m", "unix:h") as program:
        hmp = Hmp("h")
        default = f"{here}/trace-{program.process.pid}"
        status = f'Trace file "{default}" %s.\r\n(qemu) '
        nothing = b"(qemu) "
        same("before", hmp.ask("trace-file"), (status % "off").encode())
        # As by -trace: an event that is on has a file to go to.
        same("on", hmp.ask("trace-event serial_write on"), nothing)
        same("by default", hmp.ask("trace-file"), (status % "on").encode())
        wait_for("the default file grows", lambda: (hmp.ask("trace-file flush"), size(default) > 200)[1])
        same("set", hmp.ask("trace-file set one.st"), nothing)
        same("where", hmp.ask("trace-file"), f'Trace file "{here}/one.st" on.\r\n(qemu) '.encode())
        wait_for("one.st grows", lambda: (hmp.ask("trace-file flush"), size("one.st") > 200)[1])
        same("off", hmp.ask("trace-file off"), nothing)
        before = size("one.st")
        slept = sleeps(program)
        wait_for("it goes on counting", lambda: sleeps(program) > slept + 50)
        same("flush", hmp.ask("trace-file flush"), nothing)
        same("nothing is written", size("one.st"), before)
        same("status", hmp.ask("trace-file"), f'Trace file "{here}/one.st" off.\r\n(qemu) '.encode())
        same("on again", hmp.ask("trace-file on"), nothing)
        wait_for("one.st grows on", lambda: (hmp.ask("trace-file flush"), size("one.st") > before)[1])
        same("wrong", hmp.ask("trace-file set /nonexistent/x"),
             b"Error opening trace file /nonexistent/x: No such file or directory\r\n(qemu) ")
        same("then", hmp.ask("trace-file"), b'Trace file "/nonexistent/x" off.\r\n(qemu) ')
        same("still", hmp.ask("trace-file on"),
             b"Error opening trace file /nonexistent/x: No such file or directory\r\n(qemu) ")
        same("word", hmp.ask("trace-file mend").split(b"\r\n")[0], b'unexpected argument "mend"')
        same("two", hmp.ask('trace-file set "two words"'), nothing)
        same("made when on", os.path.exists("two words"), False)
        same("two", hmp.ask("trace-file on"), nothing)
        wait_for("two words", lambda: (hmp.ask("trace-file flush"), size("two words") > 200)[1])
        hmp.ask("trace-event serial_write off")
    # A program with rings alone: the directory.
    with Program(monitored, "-b", "ring", "-m", "unix:h", "-q", "unix:q"):
        qmp = Qmp("q")
        same("set", qmp.call("human-monitor-command", command_line="trace-file set native"), "")
        same("on", qmp.call("human-monitor-command", command_line="trace-file on"), "")
        qmp.call("trace-event-set-state", name="serial_write", enable=True)
        wait_for("native", lambda: (Hmp("h").ask("trace-file flush"), size("native/stream-0") > 200)[1])
    same("metadata", os.path.exists("native/metadata"), True)
    # A program without files of records, whose lines of text can be moved.
    with Program(monitored, "-b", "log", "-m", "unix:h"):
        hmp = Hmp("h")
        same("none", hmp.ask("trace-file"),
             b"This program has no trace file: none of its events have the backend ring or simple\r\n(qemu) ")
        same("logfile", hmp.ask("logfile a,b"), b"(qemu) ")
        same("made", os.path.exists("a,b"), True)
        same("logfile", hmp.ask("logfile"),
             b'logfile: filename expected\r\nTry "help logfile" for more information\r\n(qemu) ')


def check_buffer(monitored):
    """info trace: what a flight recorder holds, and goes on to hold."""

    def values(said):
        lines = said.decode().split("\r\n")
        same("the prompt", lines.pop(), "(qemu) ")
        for line in lines:
            match = re.fullmatch(r"[0-9]+@[0-9]+\.[0-9]{6}:serial_write value ([0-9]+)", line)
            if not match:
                sys.exit(f"monitor.py: no event: {line!r}")
            yield int(match[1])

    with Program(monitored, "-t", "mode=overwrite,ring=64k,subbuffer=4k,simple=st", "-m", "unix:h"):
        hmp = Hmp("h")
        same("empty", hmp.ask("info trace"), b"(qemu) ")
        hmp.ask("trace-event serial_write on")
        last = 0

        def values_now():
            return list(values(hmp.ask("info trace")))

        # Until the ring went round: each time a run of numbers without a gap up to the newest.
        while last < 6000:
            seen = values_now()
            if seen:
                same("no gap", seen, list(range(seen[0], seen[-1] + 1)))
                if seen[-1] < last:
                    sys.exit(f"monitor.py: {seen[-1]} is older than {last}")
                last = seen[-1]
            time.sleep(0.2)
        hmp.ask("trace-event serial_write off")
        # (One that saw before that it was on may yet come.)
        wait_for("the same again", lambda: values_now() == values_now())
        seen = values_now()
        if len(seen) < 1000 or seen[0] == 1:
            sys.exit(f"monitor.py: the ring holds {seen[0]} to {seen[-1]}")


# ---- The same as QEMU ----

QMP_REQUESTS = rb"""
{"execute":"nonsense","id":"x"}
{"execute":"trace-event-get-state"}
{"execute":"trace-event-get-state","arguments":{}}
{"execute":"trace-event-get-state","arguments":{"name":1}}
{"execute":"trace-event-get-state","arguments":{"name":null}}
{"execute":"trace-event-get-state","arguments":{"name":"serial_*"}}
{"execute":"trace-event-get-state","arguments":{"name":"serial_read","x":1}}
{"execute":"trace-event-get-state","arguments":{"name":"serial_read","vcpu":0}}
{"execute":"trace-event-get-state","arguments":{"name":"serial_read","vcpu":"a"}}
{"execute":"trace-event-get-state","arguments":{"name":"nosuch"}}
{"execute":"trace-event-get-state","arguments":{"name":"nosuch*"}}
{"execute":"trace-event-get-state","arguments":{"name":""}}
{"execute":"trace-event-get-state","arguments":{"name":"a\"b"}}
{"execute":"trace-event-set-state","arguments":{"name":"nosuch","enable":true}}
{"execute":"trace-event-set-state","arguments":{"name":"nosuch*","enable":true}}
{"execute":"trace-event-set-state","arguments":{"name":"","enable":true}}
{"execute":"trace-event-set-state","arguments":{"name":"serial_read"}}
{"execute":"trace-event-set-state","arguments":{"enable":true}}
{"execute":"trace-event-set-state","arguments":{}}
{"execute":"trace-event-set-state","arguments":{"name":"serial_read","enable":1}}
{"execute":"trace-event-set-state","arguments":{"name":"serial_read","enable":"on"}}
{"execute":"trace-event-set-state","arguments":{"name":"serial_read","enable":true,"ignore-unavailable":0}}
{"execute":"trace-event-set-state","arguments":{"name":"serial_read","enable":true,"ignore-unavailable":true}}
{"execute":"trace-event-get-state","arguments":{"name":"serial_re*"}}
{"execute":"trace-event-set-state","arguments":{"name":"serial_read","enable":false}}
{"execute":"trace-event-get-state","arguments":{"name":"serial_re*"}}
{"execute":"trace-event-set-state","arguments":{"name":"serial_read","enable":true,"foo":{}}}
{"execute":"trace-event-set-state","arguments":{"name":"serial_read","enable":false,"vcpu":0}}
{"execute":"trace-event-set-state","arguments":[]}
{"execute":"trace-event-set-state","arguments":null}
{"execute":1}
{"execute":null}
{"id":1}
{}
[]
1
"a"
true
null
{"execute":"query-version","foo":1,"id":7}
{"exec-oob":"query-version"}
{"execute":"query-version","arguments":{"a":1}}
{"execute":"query-version","arguments":{"a":{"b":1}}}
{"execute":"qmp_capabilities"}
{"execute":"qmp_capabilities","arguments":{"enable":"oob"}}
{"execute":"human-monitor-command","arguments":{"command-line":"info trace-events serial_re*"}}
{"execute":"human-monitor-command","arguments":{"command-line":"trace-event"}}
{"execute":"human-monitor-command","arguments":{"command-line":""}}
{"execute":"human-monitor-command","arguments":{"command-line":"nonsense 1"}}
{"execute":"human-monitor-command","arguments":{"command-line":"info nonsense"}}
{"execute":"human-monitor-command","arguments":{"command-line":"logfile /nonexistent/log"}}
{"execute":"human-monitor-command","arguments":{"command-line":"x","cpu-index":"a"}}
{"execute":"human-monitor-command","arguments":{}}
{'execute':'nonsense','id':'single'}
{"execute":"nonsense","id":"it's \" \u00e9 \ud83d\ude00 / \u0000"}
{"execute":"nonsense","id":[1e5,-0,0.1,100.0,9223372036854775807,true,null,{"b":1,"a":2}]}
{"execute":"nonsense","id":1,"id":2}
{"execute":"nonsense","id":%d}
{"execute":"nonsense",}
{"execute" "nonsense"}
{"execute":"nonsense","id":"\uD800"}
{"execute":"nonsense","id":"\uFFFF"}
{"execute":"nonsense","id":"\uD83D\u0041"}
{"execute":"nonsense","id":"\u12"}
{"execute":"nonsense","id":"\q"}
{"execute":"nonsense","id":tru}
{"execute":"nonsense","id":01}
{"execute":"nonsense","id":1.}
{"execute":"nonsense","id":1e}
{"execute":"nonsense","id":-x}
{"execute":"x\u0000y"}
{"execute":"x\"y\\z\ttab"}
{"ex\u00e9cute":"e"}
{"execute":"quit","arguments":{"a\nb":1}}
{1:2}
{"a":1 "b":2}
[1 2]
[1,]
[,1]
{,}
{"a"}
{"a":}
]
:
[}
{]
"abc
1.
[--1]
[.5]
[+1]
[1x]
[0x10]
[True]
[nulll]
[a-b]
[a_b]
@a 1
@a"x"
@a,
@a[]
@a nonsense
@@{"execute":"nonsense"}
{"a":1 @ , "b":2} {"execute":"nonsense"}
[1.5e]{"execute":"nonsense"}
nonsense{"execute":"nonsense"}
1"a"2
[[1,2],[3}]
{"a":{"b":1,"b":2}}
"""

# What has bytes in it that are no text.
QMP_BYTES = [
    b'["\xc3\xa9"]', b'["\xc0\x80"]', b'["\xed\xa0\x80"]', b'["\xf4\x90\x80\x80"]', b'["\xc3"]', b'["\xc3(\xa9"]',
    b'["\xef\xbf\xbf"]', b'["\xfd"]', b'["\xfe"]', b'["\xff"]', b'["a\x01b"]', b'["\x09"]', b"\x00", b"{\x00}",
    b"[1\x002]", b"\x04", b"\xff[]", b"[" * 1024 + b"]" * 1024, b"[" * 1025 + b"]" * 1025,
    b'{"execute" :\t"nonsense" , "id":\r\n [ ] }\r\n',
]

HMP_LINES = """
info trace-events serial_re*
trace-event serial_read on
info trace-events serial_read
trace-event serial_read off
info   trace-events   serial_read  
trace-event nosuch on
trace-event nosuch* on
trace-event serial_read foo
trace-event serial_read on 0
trace-event serial_read on x
trace-event serial_read on 0 1
trace-event serial_read on 99999999999
trace-event serial_read on 99999999999999999999
trace-event serial_read on -1
info trace-events nosuch
info trace-events nosuch*
info trace-events serial_read 0
info trace-events serial_read x y
trace-event
trace-event serial_read
trace-event "serial_read" off
trace-event "a\\nb" on
trace-event x"y on
trace-event -x on
trace-event serial_read on off
trace-event serial_read TRUE
trace-event serial_read off; info trace-events
nonsense
info nonsense
help nonsense
help info nonsense
help help
? help

   
# comment
info version x
quit x
logfile
logfile /nonexistent/log
"""


def without_order(reply):
    """What QEMU keeps in another order."""
    value = reply.get("return")
    if isinstance(value, list):
        value.sort(key=lambda event: event["name"])
    return reply


def check_qemu(monitored, qemu):
    options = ["-machine", "none", "-S", "-display", "none", "-nodefaults"]
    with Program(monitored, "-m", "unix:our-h", "-q", "unix:our-q", "-t", "log=/dev/null"), \
            Program(qemu, *options, "-qmp", "unix:q,server=on,wait=off", "-monitor", "unix:h,server=on,wait=off"):
        for where in ("our-q", "q"):
            qmp = Qmp(where, negotiate=False)
            same("greeting", sorted(qmp.greeting["QMP"]), ["capabilities", "version"])
            same("version", sorted(qmp.greeting["QMP"]["version"]), ["package", "qemu"])
            same("qemu", sorted(qmp.greeting["QMP"]["version"]["qemu"]), ["major", "micro", "minor"])
            qmp.send(b'{"execute":"query-version","id":0}{"execute":"nonsense"}')
            early = [json.loads(qmp.until(b"\r\n")) for _ in range(2)]
            qmp.close()
            if where == "our-q":
                wanted = early
        same("too early", wanted, early)
        ours, theirs = Qmp("our-q"), Qmp("q")
        requests = QMP_REQUESTS.strip(b"\n").split(b"\n") + QMP_BYTES
        for request in requests:
            # Whatever it leaves open, a line's end and this bring both back.
            request += b"\n"
            same(request, [without_order(r) for r in ours.ask(request)], [without_order(r) for r in theirs.ask(request)])
        same("commands", [name for name in (c["name"] for c in ours.call("query-commands"))
                          if name not in {c["name"] for c in theirs.call("query-commands")}], [])
        our_hmp, their_hmp = Hmp("our-h"), Hmp("h")
        lines = HMP_LINES.strip("\n").split("\n")
        for line in lines:
            same(line, our_hmp.ask(line), their_hmp.ask(line))
        ours.send(b'{"execute":"quit"}')
        theirs.send(b'{"execute":"quit"}')
        same("quit", json.loads(ours.rest()),
             [r for r in map(json.loads, theirs.rest().splitlines()) if "event" not in r][0])
        print(f"{len(requests)} requests and {len(lines)} lines: the same")


def main():
    what, where, *more = sys.argv[1:]
    if what == "hmp":
        hmp = Hmp(where)
        sys.stdout.buffer.write(hmp.greeting)
        for line in sys.stdin:
            sys.stdout.buffer.write(hmp.ask(line.rstrip("\n")))
    else:
        globals()["check_" + what](os.path.realpath(where), *more)


if __name__ == "__main__":
    main()
