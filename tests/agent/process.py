"""Agents as processes: none outlives its test."""
import os
import re
import select
import signal
import subprocess
import sys
import time

from tracefs import check, wait_for

started = []


class Process:
    def __init__(self, words, **keywords):
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, **keywords)
        self.said = b""
        started.append(self.process)

    def end(self, number=signal.SIGTERM, status=0):
        """Returns the seconds it took. The limit catches what never ends; the time itself is for people."""
        began = time.monotonic()
        self.process.send_signal(number)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            check(False, f"signal {number} did not end the agent")
        took = time.monotonic() - began
        self.said += self.process.stderr.read()
        self.process.stderr.close()
        check(self.process.returncode == status, f"the agent ended with {self.process.returncode}: {self.said}")
        return took

    def says(self, words):
        """Waits for WORDS."""
        def heard():
            if words not in self.said and select.select([self.process.stderr], [], [], 0)[0]:
                self.said += os.read(self.process.stderr.fileno(), 65536)
            return words in self.said
        wait_for(heard, f"the agent to say {words}")

    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return int(re.search(r"VmRSS:\s*(\d+)", f.read())[1]) * 1024


def all_ended():
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()
        if not process.stderr.closed:
            print(f"an agent ended with {process.returncode}: {process.stderr.read().decode()}", file=sys.stderr)
