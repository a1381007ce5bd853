#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""FIFOs, devices, sockets and links in the place of each file of each kind of trace's directory: every verb says what is
wrong, or goes on without it, and waits for nothing; and what a link points to does not get into a copy."""

import json
import os
import shutil
import socket
import subprocess
import sys

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import escapes

STRATA = os.environ["STRATA_BIN"] + "/strata"
SECRET = "a secret of another place"
# Much more than any of these takes, on a busy machine, too: what hangs hangs for ever.
LIMIT = 120


def make(path):
    """The traces, each with the files in it that are exchanged."""
    os.makedirs(path)
    os.chdir(path)
    escapes.ctf()
    escapes.write("vm/trace.json", json.dumps({
        "format": "strata-trace", "version": 1,
        "sources": [{"name": "q", "kind": "qemu-log", "layer": "vmm", "path": "q/trace.log",
                     "events": ["q/trace-events"], "clock": {"name": "realtime", "hz": 1000000000, "pairs": "q/pairs"},
                     "complete": True}]}).encode())
    escapes.write("vm/q/trace.log", b"12@1.000001:one s=x n=4\n")
    escapes.write("vm/q/trace-events", b'one(const char *s, int n) "s=%s n=%d"\n')
    escapes.write("vm/q/pairs", b"1000 1000000000 10\n")
    escapes.write("ftrace/events/header_page", b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
        b"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n")
    escapes.write("ftrace/events/t/beat/format", b"name: beat\nID: 300\nformat:\n"
        b"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\nprint fmt: \"x\"\n")
    escapes.write("ftrace/trace_clock", b"[local]\n")
    escapes.write("ftrace/saved_cmdlines", b"42 heart\n")
    escapes.write("ftrace/cpu0.raw", bytes(4096))


FILES = {
    "ctf": ["metadata", "stream"],
    "vm": ["trace.json", "q/trace.log", "q/trace-events", "q/pairs"],
    "ftrace": ["events/header_page", "events/t/beat/format", "trace_clock", "saved_cmdlines", "cpu0.raw"],
}


def put_fifo(path):
    os.mkfifo(path)


def put_socket(path):
    socket.socket(socket.AF_UNIX).bind(path)


def put_link(path):
    os.symlink(os.path.abspath("secret"), path)


def put_tty(path):
    os.symlink("/dev/ptmx", path)


def put_dangling(path):
    os.symlink("/nonexistent/file", path)


def put_loop(path):
    os.symlink(os.path.basename(path), path)


def put_zero(path):
    os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))


# Without one, events would be missing without a word.
STREAMS = ["ctf/stream", "ftrace/cpu0.raw"]
KINDS = [put_fifo, put_socket, put_link, put_tty, put_dangling, put_loop] + ([put_zero] if os.geteuid() == 0 else [])
VERBS = [["report"], ["report", "-f", "json"], ["info"], ["stat"], ["export", "--to", "csv"],
         ["export", "--to", "ctf", "-o", "exported"], ["merge", "-o", "merged"]]


def main():
    os.chdir(sys.argv[1])
    make("all")
    failed = n = 0
    for trace, files in FILES.items():
        for name in files:
            for kind in KINDS:
                for verb in VERBS:
                    shutil.rmtree("work", ignore_errors=True)
                    os.mkdir("work")
                    shutil.copytree(trace, "work/" + trace)
                    escapes.write("work/secret", SECRET.encode())
                    os.chdir("work")
                    what = f"{' '.join(verb)}: {kind.__name__} in the place of {trace}/{name}"
                    os.unlink(f"{trace}/{name}")
                    try:
                        kind(f"{trace}/{name}")
                    except OSError as error: # no such device here
                        print(f"skipped: {what}: {error}")
                        os.chdir("..")
                        continue
                    n += 1
                    try:
                        done = subprocess.run([STRATA, *verb, trace], stdin=subprocess.DEVNULL, capture_output=True,
                                              timeout=LIMIT, check=False)
                        if done.returncode < 0 or b"Sanitizer" in done.stderr:
                            failed += 1
                            print(f"FAILED: {what}: {done.returncode}: {done.stderr.decode(errors='replace')}")
                        elif SECRET.encode() in done.stdout + done.stderr or subprocess.run(
                                ["grep", "-rqs", SECRET, "merged", "exported"], check=False).returncode == 0:
                            failed += 1
                            print(f"FAILED: {what}: what the link points to gets out")
                        elif f"{trace}/{name}" in STREAMS and (done.returncode != 1 or name not in done.stderr.decode()):
                            failed += 1
                            print(f"FAILED: {what}: status {done.returncode}, and not said where: {done.stderr.decode()}")
                    except subprocess.TimeoutExpired:
                        failed += 1
                        print(f"FAILED: {what}: hangs")
                    os.chdir("..")
    print(f"{n} combinations, {failed} failed")
    return failed != 0


sys.exit(main())
