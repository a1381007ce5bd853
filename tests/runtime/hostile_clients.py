"""Clients of a control socket that do what they should not; after each an honest one is served."""

import os
import socket
import sys
import time

folder = os.open(os.path.dirname(sys.argv[1]), os.O_RDONLY)
path = f"/proc/self/fd/{folder}/{os.path.basename(sys.argv[1])}"  # which may be long


def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    s.settimeout(60)
    return s


def reply(f):
    status = f.readline().split()
    if not status:
        return None
    assert status[0] in (b"ok", b"error"), status
    body = f.read(int(status[-1]))
    assert body == b"" or body.endswith(b"\n"), body
    return status[:-1], body


def honest():
    with connect() as s:
        s.sendall(b"hello\n")
        status, body = reply(s.makefile("rb"))
        assert status == [b"ok"] and body.startswith(b"protocol 1\n"), (status, body)


def ask(request):
    with connect() as s:
        s.sendall(request)
        return reply(s.makefile("rb"))


assert ask(b"\n")[0] == [b"error", b"request"]
assert ask(b"bla\n")[0] == [b"error", b"request"]
assert ask(b"hell\n")[0] == [b"error", b"request"]
assert ask(b"helloo\n")[0] == [b"error", b"request"]
assert ask(b"hello you\n")[0] == [b"error", b"argument"]
assert ask(b"hello\0\n")[0] == [b"error", b"request"]
assert ask(b"options\n")[0] == [b"error", b"argument"]
assert ask(b"options help\n")[0] == [b"error", b"argument"]
assert ask(b"snapshot relative\n")[0] == [b"error", b"argument"]
assert ask(b"file set relative\n")[0] == [b"error", b"argument"]
assert ask(b"events " + b"*a" * 4000 + b"\n") == ([b"ok"], b"")
assert ask(b"hello\r\n")[0] == [b"ok"]
# It hangs up as soon as it has seen enough, be that before all is sent.
with connect() as s:
    try:
        s.sendall(b"x" * 100000)
    except (BrokenPipeError, ConnectionResetError):
        pass
    assert reply(s.makefile("rb"))[0] == [b"error", b"long"]
honest()

# Half a request, and away; half, and silence; in single bytes.
with connect() as s:
    s.sendall(b"hel")
honest()
silent = connect()
silent.sendall(b"hel")
honest()
with connect() as s:
    for byte in b"events clock_tick\n":
        s.sendall(bytes([byte]))
        time.sleep(0.001)
    assert reply(s.makefile("rb"))[0] == [b"ok"]

# Many requests at once, and then the replies, in order.
with connect() as s:
    s.sendall(b"hello\nevents\n" * 200)
    f = s.makefile("rb")
    for i in range(200):
        assert b"protocol" in reply(f)[1]
        assert b"clock_tick" in reply(f)[1]

# Who does not read: others are served, and much is not kept for it.
deaf = connect()
deaf.settimeout(1)
try:
    while True:
        deaf.sendall(b"events\n" * 1000)
except OSError:
    pass
honest()

# Who goes away in the middle of a reply.
for _ in range(50):
    with connect() as s:
        s.sendall(b"hello\n" * 50)
honest()

# More than there is room for: each new one is served at once.
crowd = []
for _ in range(100):
    crowd.append(connect())
    honest()
