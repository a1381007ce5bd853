#!/usr/bin/env python3
"""Saves what a virtual machine is like at this moment, and ends it:

    save_vm.py QMP FILE     QMP: the socket of QEMU's monitor, by its protocol

The same virtual machine, started with `-incoming "exec:cat FILE"`, goes on from there, with disks of its own.
"""
import json
import shlex
import socket
import sys
import time

path, saved = sys.argv[1:]
monitor = socket.socket(socket.AF_UNIX)
monitor.connect(path)
lines = monitor.makefile("r", encoding="utf-8")
lines.readline()


def run(command, **arguments):
    monitor.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
    while True:
        answer = json.loads(lines.readline())
        if "error" in answer:
            sys.exit(f"{command}: {answer['error']['desc']}")
        if "return" in answer:
            return answer["return"]


run("qmp_capabilities")
run("migrate-set-parameters", **{"max-bandwidth": 1 << 40})
run("migrate", uri=f"exec:cat >{shlex.quote(saved)}")
while True:
    state = run("query-migrate")
    if state["status"] == "completed":
        break
    if state["status"] in ("failed", "cancelled"):
        sys.exit(f"the virtual machine cannot be saved: {state.get('error-desc', state['status'])}")
    time.sleep(0.1)
run("quit")
