#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The monitor of a program (libstrata-monitor) with an allocation, a write, a descriptor, a thread that fails, at each
site.

monitors.py INJECTOR BIN MONITORED [--case=GLOB] [--kind=GLOB]

MONITORED is tests/runtime/monitored.c. Where the monitor cannot be started, the program says why and ends with status 1.
Where a session cannot go on, it is closed. The program goes on: the next session answers as ever, and SIGTERM ends the
program in order, without its sockets."""

import os
import re
import signal
import socket
import subprocess
import sys

from sweep import KINDS, SiteSweep, main
import monitor

NAMES = ("alloc", "map", "write", "short-write", "make", "open", "read", "short-read", "thread")
monitor.PATIENCE = 60
HMP_LINES = ("info trace-events serial_*", "trace-event serial_read on", "info trace-events serial_read",
             "trace-event serial_read off", "trace-file", "help trace-event")
QMP_REQUESTS = (b'{"execute":"qmp_capabilities"}',
                b'{"execute":"query-name","id":[1,{"a":"b"}]}',
                b'{"execute":"trace-event-get-state","arguments":{"name":"serial_*"}}',
                b'{"execute":"human-monitor-command","arguments":{"command-line":"info trace-events serial_read"}}')

# Events that there is no memory for as the program starts.
UNTRACED = r"\d+ of the \d+ events of monitored cannot be traced: out of memory"


def hmp_session():
    peer = monitor.Hmp("h")
    try:
        # The default name of a trace file has the process ID.
        return [re.sub(rb"trace-\d+", b"trace-PID", said) for said in (peer.greeting, *map(peer.ask, HMP_LINES))]
    finally:
        peer.close()


def qmp_session():
    peer = monitor.Qmp("q", negotiate=False)
    replies = [peer.greeting]
    try:
        for request in QMP_REQUESTS:
            peer.send(request)
            # One that cannot be parsed is answered without its id.
            replies.append(peer.until(b"\r\n"))
        return replies
    finally:
        peer.close()


SESSIONS = {"hmp": hmp_session, "qmp": qmp_session}


class Sweep(SiteSweep):
    def __init__(self, options, directory):
        super().__init__(options, directory, NAMES)
        self.program = options.monitored
        self.plain = {}
        os.chdir(directory)

    def start(self):
        return subprocess.Popen([self.program, "-t", "log=/dev/null", "-m", "unix:h", "-q", "unix:q"],
                                env=self.injector.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    @staticmethod
    def is_served():
        """Whether both sockets answer. A program that could not start its monitors has removed them."""
        for path in ("h", "q"):
            with socket.socket(socket.AF_UNIX) as look:
                try:
                    look.connect(path)
                    look.settimeout(monitor.PATIENCE)
                    if not look.recv(1):
                        return False
                except (FileNotFoundError, ConnectionRefusedError, ConnectionResetError):
                    return False
        return True

    def run(self, case, name, **armed):
        for path in ("h", "q"):
            if os.path.exists(path):
                os.remove(path)
        self.injector.state.armed = 0
        if case == "start":
            self.injector.arm(**armed)
        process = self.start()
        try:
            monitor.wait_for("the program serves or ends", lambda: process.poll() is not None or self.is_served())
            if case != "start":
                self.injector.arm(**armed)
                try:
                    said = SESSIONS[case]()
                except (EOFError, ConnectionError, AssertionError):
                    said = None
                self.injector.state.armed = 0
                if not name:
                    self.plain[case] = said
            self.injector.state.armed = 0
            return self.judge(case, name, process)
        except (TimeoutError, subprocess.TimeoutExpired):
            return "does not answer"
        except SystemExit as vain:
            return str(vain)
        finally:
            self.injector.state.armed = 0
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stderr.close()

    def judge(self, case, name, process):
        if process.poll() is not None:
            said = process.stderr.read()
            if case != "start" or not name or KINDS[name][3] is None:
                return f"the program ended with {process.returncode}: {said!r}"
            return "" if process.returncode == 1 and said else f"ended with {process.returncode}, and said {said!r}"
        # Nothing fails now.
        again = {dialect: session() for dialect, session in SESSIONS.items()}
        process.send_signal(signal.SIGTERM)
        status = process.wait(monitor.PATIENCE)
        said = process.stderr.read()
        if status != 0:
            return f"the program ended with {status}: {said!r}"
        for dialect, replies in again.items():
            if replies != self.plain.setdefault(dialect, replies) and not re.search(UNTRACED, said):
                return f"the next session of {dialect} says {replies!r}"
        left = [path for path in ("h", "q") if os.path.exists(path)]
        return f"it left {left}" if left else ""

    def all(self):
        for case in ("hmp", "qmp", "start"):
            self.case(case)


if __name__ == "__main__":
    sys.exit(main(Sweep, "monitored"))
