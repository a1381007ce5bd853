#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`strata ctl` with a program while an allocation, a write, a file fails at each site: in strata, or in the library that
serves it.

controls.py INJECTOR BIN CONTROLLED [--case=GLOB] [--kind=GLOB]

CONTROLLED is tests/runtime/controlled.c. strata fails with a message and status 1, or prints what it does by itself. The
program goes on: it answers the next request as before, and ends in order."""

import os
import re
import signal
import subprocess
import sys
import time

from sweep import KINDS, SiteSweep, main

NAMES = ("alloc", "map", "write", "short-write", "make", "open", "read", "short-read", "thread")
TIMEOUT_S = 240
# What is asked, and of whom.
REQUESTS = {
    "list": ["list", "clock_*"],
    "on": ["on", "clock_tick"],
    "stats": ["stats"],
}


class Sweep(SiteSweep):
    def __init__(self, options, directory):
        super().__init__(options, directory, NAMES)
        self.program = options.controlled
        self.plain = {}

    def ctl(self, pid, words, env=None):
        return subprocess.run([self.strata, "ctl", str(pid), *words], cwd=self.directory, env=env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
                              timeout=TIMEOUT_S)

    def start(self, env):
        process = subprocess.Popen([self.program], cwd=self.directory, env=env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        process.stdout.readline()
        until = time.monotonic() + TIMEOUT_S
        while self.ctl(process.pid, ["stats"]).returncode != 0:
            if time.monotonic() > until:
                raise RuntimeError("the program has no control socket")
            time.sleep(0.02)
        return process

    def run(self, case, name, **armed):
        side, request = case.split("-", 1)
        words = REQUESTS[request]
        env = dict(self.injector.env, FAULT_PROGRAM=os.path.basename(self.program) if side == "served" else "strata")
        self.injector.state.armed = 0
        process = self.start(env if side == "served" else None)
        try:
            self.injector.arm(**armed)
            done = self.ctl(process.pid, words, env if side == "ctl" else None)
            self.injector.state.armed = 0
            return self.judge(case, name, done, process, words)
        except subprocess.TimeoutExpired:
            return "does not end"
        finally:
            self.injector.state.armed = 0
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdout.close()

    def judge(self, case, name, done, process, words):
        text = re.sub(r"\d+", "N", done.stdout)
        if not name:
            self.plain[case] = text
            if done.returncode != 0:
                return f"exit status {done.returncode}: {done.stderr}"
        elif done.returncode == 0 and text != self.plain[case]:
            return f"exit status 0, but it prints {done.stdout!r}"
        elif done.returncode not in (0, 1):
            return f"exit status {done.returncode}: {done.stderr}"
        elif done.returncode == 1 and (not done.stderr or KINDS[name][3] is None):
            return f"fails: {done.stderr!r}"
        elif done.returncode == 1 and case.startswith("ctl") and not re.search(KINDS[name][3], done.stderr):
            return f"says {done.stderr!r}"
        # Nothing fails now.
        again = self.ctl(process.pid, words)
        if again.returncode != 0 or re.sub(r"\d+", "N", again.stdout) != self.plain[case]:
            return f"the next request: exit status {again.returncode}: {again.stdout}{again.stderr}"
        process.send_signal(signal.SIGTERM)
        status = process.wait(TIMEOUT_S)
        return "" if status == 0 else f"the program ended with {status}"

    def all(self):
        for side in ("ctl", "served"):
            for request in REQUESTS:
                self.case(f"{side}-{request}")


if __name__ == "__main__":
    sys.exit(main(Sweep, "controlled"))
