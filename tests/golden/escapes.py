#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Strings that command a terminal, in every string of every format, and a look at every output.

    escapes.py make          traces, in the working directory
    escapes.py serve SOCKET  answers like a traced program
    escapes.py qmp SOCKET    answers like QEMU's monitor
    escapes.py name FILE     changes the program's name in a process file
    escapes.py hostile       the string itself
    escapes.py looks FILE    looks at outputs: FILE has, each with a NUL behind it, KIND (text, ascii, csv, json), PATH,
                             WHAT; exit status 1: one of them would command a terminal
"""
import json
import os
import re
import socket
import struct
import sys

# ESC, C1 as a byte and as UTF-8, DEL, a line end that forges a line, right-to-left marks, half a character.
HOSTILE = b"A\x1b[31mB\x9b1mC\xc2\x9b1mD\x7fE\r\nFORGED\x07\xe2\x80\xaeF\xe2\x80\x8fG\xd8\x9cH\xe2\x80\xa8I\xffJ\xe2\x80"
# Without what would end a line of a format of lines; and of at most 15 bytes.
LINE = HOSTILE.replace(b"\r\n", b"")
SHORT = [b"a\x1b[31mb", b"c\xc2\x9bd\x7fe", b"f\xe2\x80\xaeg\x9bh", b"i\xff\xe2\x80\x8fj"]
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def write(path, data):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


# ---- Traces ----

def simpletrace():
    out = struct.pack("<QQQ", 2**64 - 1, 0xf2b177cb0aa429b4, 4)
    for number, name in enumerate([b"one", b"two", b"un" + HOSTILE]):
        out += struct.pack("<QQI", 0, number, len(name)) + name
    def record(number, at, args):
        return struct.pack("<QQQII", 1, number, at, 24 + len(args), 7) + args
    out += record(0, 1000, struct.pack("<I", len(HOSTILE)) + HOSTILE)
    out += record(1, 2000, struct.pack("<QQQ", 0xc2, 0x9b, 0x1b))
    out += record(2, 3000, struct.pack("<Q", 5))
    write("simple.trace", out)
    write("events", b'one(const char *s) "s=%s"\ntwo(char a, char b, char c) "%c%c1m %c"\n')


METADATA = r"""/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le;
  packet.header := struct { integer { size = 32; align = 8; signed = false; } magic; }; };
env { hostname = "@"; tracer_name = "@"; domain = "@"; };
clock { name = "@"; description = "@"; freq = 1000000000; offset = 0; };
typealias integer { size = 64; align = 8; signed = false; } := u64;
stream { event.header := struct {
    enum : integer { size = 8; align = 8; signed = false; } { e = 0 } id; u64 timestamp; };
  packet.context := struct { u64 packet_size; u64 content_size; };
  event.context := struct { string _procname; integer { size = 32; align = 8; signed = true; } _vtid; }; };
event { id = 0; name = "ev@"; fields := struct {
    string s; enum : integer { size = 8; align = 8; signed = false; } { "la@bel" = 1, "other" = 2 } kind;
    integer { size = 8; align = 8; signed = false; encoding = UTF8; } c[6]; }; };
"""


def ctf():
    octal = "".join("\\%03o" % byte for byte in HOSTILE)
    write("ctf/metadata", METADATA.replace("@", octal).encode())
    event = b"\0" + struct.pack("<Q", 1000) + HOSTILE + b"\0" + struct.pack("<i", 7)
    event += HOSTILE + b"\0" + b"\1" + b"\x1b[1m\xc2\x9b"
    size = (4 + 16 + len(event)) * 8
    write("ctf/stream", struct.pack("<IQQ", 0xc1fc1fc1, size, size) + event)


def trace_dat():
    out = bytearray(b"\x17\x08Dtracing6\0\0\x08" + struct.pack("<I", 4096))
    def text(s):
        return struct.pack("<Q", len(s)) + s
    out += b"header_page\0" + text(b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
        b"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
        b"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n")
    out += b"header_event\0" + text(b"#\n") + struct.pack("<I", 0)
    fmt = b"""name: thing
ID: 300
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:u32 n;\toffset:8;\tsize:4;\tsigned:0;
\tfield:__data_loc char[] s;\toffset:12;\tsize:4;\tsigned:1;

print fmt: "%c%c1m n=%u s=%s %s", REC->n, REC->n >> 8, REC->n, __get_str(s), __print_symbolic(REC->n, {0x9bc2, "sym"})
"""
    out += struct.pack("<I", 1) + b"t\x1best\0" + struct.pack("<I", 1) + text(fmt)
    symbols = b"ffffffff81000000 T sym\x1b[1m\n"
    out += struct.pack("<I", len(symbols)) + symbols
    out += struct.pack("<I", 0)
    out += text(b"".join(b"%d %s\n" % (7 + i, name) for i, name in enumerate(SHORT))) + struct.pack("<I", 1)
    out += b"options  \0" + struct.pack("<HI", 4, 0) + struct.pack("<H", 0) + b"flyrecord\0"
    table = len(out)
    out += bytes(16) + text(b"[mono]\n")
    out += bytes(-len(out) % 4096)
    start = len(out)
    records = b""
    for i in range(len(SHORT)):
        s = HOSTILE + b"\0"
        body = struct.pack("<HBBiII", 300, 0, 0, 7 + i, 0x9bc2, (len(s) << 16) | 16) + s
        body += bytes(-len(body) % 4)
        records += struct.pack("<I", 1000 << 5 | len(body) // 4) + body
    out += struct.pack("<QQ", 10**9, len(records)) + records
    out += bytes(-len(out) % 4096)
    out[table:table + 16] = struct.pack("<QQ", start, len(out) - start)
    write("trace.dat", out)


def qemu_log():
    write("log/events", b'one(const char *s, int n) "s=%s n=%d"\n')
    write("log/qemu.log", b"".join(b"12@1.00000%d:one s=%s n=4\n" % (i, LINE) for i in range(9)))


def folder(path, name):
    """A trace's directory, whose manifest has the strings; NAME is the source's."""
    write(path + "/q/trace.log", b"12@1.000001:one s=x n=4\n")
    write(path + "/q/trace-events", b'one(const char *s, int n) "s=%s n=%d"\n')
    hostile = HOSTILE.decode("latin-1")
    write(path + "/trace.json", json.dumps({
        "format": "strata-trace", "version": 1,
        "sources": [{"name": name, "kind": "qemu-log", "layer": "vmm", "path": "q/trace.log",
                     "events": ["q/trace-events"], "clock": {"name": "x" + hostile, "hz": 1000000000},
                     "host": {"name": hostile, "boot_id": hostile},
                     "vmm": {"pid": 12, "program": hostile, "version": hostile, "accelerator": hostile, "exit": hostile,
                             "threads": [{"id": 12, "name": hostile}]},
                     "complete": True, "problems": [hostile]}]}).encode())


# ---- Programs ----

def serve(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print(os.getpid(), flush=True)
    answers = {
        b"hello": b"program %s\nversion 1%s\nmode %s\nsince 1\nevents 1 2\nsink ctf on%s 3 /%s\n" % ((LINE,) * 5),
        b"list": b"event on %s %s\n" % (LINE, LINE),
        b"stats": b"class 1 5 %s\nring 1 drop 4096 1 1 1 1 7 %s\n%s 4\n" % (LINE, LINE, LINE),
        b"file": b"file on /%s\n" % LINE,
        b"flush": None,
    }
    while True:
        stream = listener.accept()[0]
        with stream.makefile("rwb") as file:
            for line in file:
                answer = answers.get(line.split()[0])
                head = b"ok %d\n" if answer is not None else b"error no %d\n"
                answer = answer if answer is not None else HOSTILE
                file.write(head % len(answer) + answer)
                file.flush()


def qmp(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print(os.getpid(), flush=True)
    name = HOSTILE.decode("latin-1")
    answers = {
        "query-name": {"name": name}, "query-status": {"status": name}, "human-monitor-command": LINE.decode("latin-1"),
        "trace-event-get-state": [{"name": name, "state": "enabled", "vcpu": False}],
    }
    while True:
        stream = listener.accept()[0]
        with stream.makefile("rwb") as file:
            def say(what):
                file.write(json.dumps(what).encode() + b"\r\n")
                file.flush()
            version = {"qemu": {"major": 7, "minor": 2, "micro": 0}, "package": name}
            say({"QMP": {"version": version, "capabilities": []}})
            for line in file:
                request = json.loads(line)
                say({"return": answers.get(request["execute"], {}), "id": request.get("id")})


# ---- Outputs ----

def check(kind, path, what):
    data = open(path, "rb").read()
    def fail(wrong, at):
        sys.exit(f"escapes: {what}: {wrong}: {data[max(0, at - 60):at + 40]!r}")
    if not data:
        fail("is empty", 0)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        fail("is not UTF-8", error.start)
    if kind == "csv":
        text = text.replace("\r\n", "\n")
    match = UNSAFE.search(text)
    if match:
        fail("has what commands a terminal", len(text[:match.start()].encode()))
    for line in text.split("\n"):
        if line.startswith("FORGED"):
            fail("has a line that somebody forged", 0)
    if kind == "ascii" and not text.isascii():
        fail("is not ASCII", 0)
    if kind == "json":
        while text:
            try:
                text = text[json.JSONDecoder().raw_decode(text)[1]:].lstrip()
            except ValueError as error:
                fail(f"is not JSON: {error}", 0)


def main():
    if sys.argv[1] == "make":
        for make in simpletrace, ctf, trace_dat, qemu_log:
            make()
        folder("folder", "q")
        folder("badname", HOSTILE.decode("latin-1"))
        os.makedirs(os.fsencode("names"), exist_ok=True)
        os.chmod("names", 0o700)
        write(b"names/" + HOSTILE, b"no trace")
        write(b"names/events-" + HOSTILE, b"one(" + HOSTILE)
    elif sys.argv[1] == "serve":
        serve(sys.argv[2])
    elif sys.argv[1] == "qmp":
        qmp(sys.argv[2])
    elif sys.argv[1] == "looks":
        words = os.fsdecode(open(sys.argv[2], "rb").read()).split("\0")[:-1]
        for kind, path, what in zip(*[iter(words)] * 3):
            check(kind, path, what)
        print(f"escapes: {len(words) // 3} outputs")
    elif sys.argv[1] == "name":
        with open(sys.argv[2], "r+b") as file:
            file.seek(104)
            file.write(b"p\x1b[1m\nFORGED\xc2\x9b"[:15])
    else:
        sys.stdout.buffer.write({"hostile": HOSTILE, "line": LINE}[sys.argv[1]])


if __name__ == "__main__":
    main()
