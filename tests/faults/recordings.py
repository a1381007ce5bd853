#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`strata record` and `strata recover` with an allocation, a write, a file, a thread that fails, at each site.

recordings.py INJECTOR BIN LOSSES TOY [--case=GLOB] [--kind=GLOB]

LOSSES is tests/runtime/losses.c, TOY examples/toy-hypervisor. A recording that fails says why and ends with status 1, or
126 where the program could not be started. One that ends with status 0 has all events. Nothing stays in the runtime
directory, in the kernel, or in buffers."""

import contextlib
import fnmatch
import os
import re
import shutil
import socket
import subprocess
import sys
import threading

from sweep import KINDS, SiteSweep, main
from waiting import Failure, wait_until
import collect_agent

NAMES = ("alloc", "map", "write", "full", "short-write", "make", "open", "read", "thread")
EVENTS = 1500  # that the program emits
INSTANCES = "/sys/kernel/tracing/instances"
TOY_EXITS = 200
QEMU = ["qemu-system-x86_64", "-M", "none", "-nodefaults", "-display", "none", "-S"]
QEMU_STRIDE = 8
BUFFER = f"strata-test-faults-{os.getpid()}"
TIMEOUT_S = 240
OTHERS_S = 60
TRIES_MAX = 5
SHORT_MATTERS = "a short transfer matters"


class Sweep(SiteSweep):
    def __init__(self, options, directory):
        super().__init__(options, directory, NAMES)
        self.program, self.toy = options.losses, options.toy
        self.toy_process = self.agent = None
        self.abandoned_before = set()
        self.is_unanswered = False

    def strata_run(self, arguments, env=None):
        return subprocess.run([self.strata, *arguments], cwd=self.directory, env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", check=False, timeout=TIMEOUT_S)

    def prepare(self, case):
        """Removes what the run before left; returns the arguments of the command."""
        for path in ("out", "rings", "run"):
            shutil.rmtree(os.path.join(self.directory, path), ignore_errors=True)
        os.mkdir(os.path.join(self.directory, "run"))
        if os.path.exists(os.path.join(self.directory, "counts")):
            os.remove(os.path.join(self.directory, "counts"))
        program = ["--", self.program, "-n", str(EVENTS // 3), "-T", "2", "counts"]
        if case == "record":
            return ["record", "-o", "out", *program]
        if case == "record-limit":
            return ["record", "-o", "out", "--max-size=1M", *program]
        if case == "triggers":
            return ["record", "-o", "out", "--flight=64M", "--on", "exit", "--on", "losses_event", "--then", "test -d",
                    *program]
        if case == "host":
            self.abandoned_before = self.abandoned()
            return ["record", "-o", "out", "--event=host:sched:sched_process_exec,host:sched:sched_process_exit", *program]
        if case == "qemu":
            return ["record", "-o", "out", "-e", "qmp_*,runstate_set", "-t", "0.2", "--", *QEMU]
        if case == "guest":
            self.start_agent()
            return ["record", "-o", "out", "--guest=v=agent", "--event=guest:toy:*", *program]
        if case == "percpu":
            self.start_toy()
            return ["record", "-o", "out", "--percpu", BUFFER]
        os.mkdir(os.path.join(self.directory, "rings"))
        env = dict(os.environ, STRATA_TRACE=f"*,rings={self.directory}/rings,writer=none")
        subprocess.run(program[1:-1] + ["-e", "kill", "counts"], cwd=self.directory, env=env, check=False)
        return ["recover", "-o", "out", os.path.join(self.directory, "rings", os.listdir(self.directory + "/rings")[0])]

    # ---- The agent of a guest, which sends pages as long as somebody takes them ----

    def start_agent(self):
        path = os.path.join(self.directory, "agent")
        if os.path.exists(path):
            os.remove(path)
        self.agent = collect_agent.Agent(path, "good", None)

        def serve():
            with contextlib.suppress(OSError):  # the listener is closed
                collect_agent.run(self.agent)

        self.agent_thread = threading.Thread(target=serve)
        self.agent_thread.start()

    def end_agent(self):
        if self.agent:
            # It may wait for a connection.
            self.agent.listener.shutdown(socket.SHUT_RDWR)
            self.agent_thread.join()
            self.agent.listener.close()
            self.agent_sent = any(self.agent.beats)
        self.agent = None

    # ---- The program with per-CPU buffers, which waits for its recorder ----

    def start_toy(self):
        self.toy_process = subprocess.Popen([self.toy, "-wait", "-exits", str(TOY_EXITS), "-buffer", BUFFER],
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if not self.toy_process.stdout.readline():
            raise RuntimeError("the program with buffers does not start")

    def end_toy(self):
        """Whether its buffers are as they were before the recording."""
        if not self.toy_process:
            return True
        is_off = True
        # It removes them at its end.
        if os.path.exists(f"/dev/shm/{BUFFER}"):
            with open(f"/dev/shm/{BUFFER}", "rb") as file:
                file.seek(128)
                is_off = file.read(4) == bytes(4)
        self.toy_process.kill()
        self.toy_process.wait()
        self.toy_process.stdout.close()
        self.toy_process = None
        if os.path.exists(f"/dev/shm/{BUFFER}"):
            os.remove(f"/dev/shm/{BUFFER}")
        return is_off

    @staticmethod
    def abandoned():
        """The instances of tracefs whose agents are dead."""
        names = fnmatch.filter(os.listdir(INSTANCES), "strata-agent-*")
        return {name for name in names if not os.path.exists(f"/proc/{name.split('-')[2]}")}

    def left_in_kernel(self):
        """Agents of other tests are killed at any time: their recorders remove what these leave."""
        left = self.abandoned() - self.abandoned_before
        with contextlib.suppress(Failure):
            wait_until(lambda: not left & self.abandoned(), "the end of the instances of others", OTHERS_S)
        return sorted(left & self.abandoned())

    # ---- What came of it ----

    def events(self, said):
        """How many events of the program the trace directory has, or what is wrong; SAID when it was recorded."""
        if not os.path.exists(os.path.join(self.directory, "out")):
            return "no trace directory"
        shown = self.strata_run(["report", "out"])
        # Of a guest that could not be recorded there may be nothing to show.
        if shown.returncode != 0 and not re.search("complete|the source 'v' cannot be shown", shown.stderr):
            return f"cannot be read: {shown.stderr}"
        beats = re.search(r"^v: .* (\d+) events written", said, re.M)
        if beats and int(beats[1]) != shown.stdout.count(" beat: "):
            return f"{shown.stdout.count(' beat: ')} of {beats[1]} events of the guest: {shown.stderr}"
        return shown.stdout.count("losses_event")

    def recovered(self, rings):
        """How many events are in what the recorder left in RINGS, and said so."""
        events = 0
        for n, path in enumerate(rings):
            into = os.path.join(self.directory, "out", f"recovered-{n}")
            if self.strata_run(["recover", "-o", into, path]).returncode == 0:
                events += self.strata_run(["report", into]).stdout.count("losses_event")
        return events

    def judge_success(self, case, done):
        if case in ("percpu", "qemu"):
            return "" if self.strata_run(["report", "out"]).returncode == 0 else "the trace cannot be read"
        events = self.events(done.stdout)
        lost = sum(int(n) for n in re.findall(r"(\d+)(?: events)? (?:were |are )?lost", done.stderr))
        kept = self.recovered(re.findall(r"its rings stay in (\S+)", done.stderr))
        if not isinstance(events, int) or events + lost + kept < EVENTS:
            return f"exit status 0, but {events} events: {done.stderr}"
        return ""

    def judge(self, case, name, done):
        wanted = KINDS[name][3] if name else None
        if name in ("write", "full"):
            wanted += "|the disk is full"
        if done.returncode < 0:
            return f"ended by signal {-done.returncode}"
        left = fnmatch.filter(os.listdir(os.path.join(self.directory, "run")), "strata-record-*")
        # What cannot be removed stays for the next recorder.
        if left and not self.is_below(["empty "]):
            return f"left in the runtime directory: {left}"
        left = self.left_in_kernel() if case == "host" else []
        if left:
            return f"left in the kernel: {left}"
        if done.returncode == 0:
            return self.judge_success(case, done)
        if wanted is None:
            self.is_unanswered = case == "guest" and not self.agent_sent and \
                re.search("v: (no agent has answered|was stopped before its agent traced)", done.stderr) is not None
            return f"{SHORT_MATTERS}: {done.stderr}"
        # 126: the program could not be started.
        if done.returncode not in (1, 126):
            return f"exit status {done.returncode}: {done.stderr}"
        # The program may end before the agent has answered.
        if case == "guest" and not self.agent_sent:
            wanted += "|v: (no agent has answered|was stopped before its agent traced)"
        if case in ("guest", "host"):
            wanted += "|the process that parses its data exited unexpectedly"
        # The C library has no memory for a thread. What it calls itself has names only if its debug symbols are installed:
        # these are the callers of pthread_create().
        if self.is_below(["thread_start", "qmp_thread_start", "futex_fd_"]):
            wanted += "|Resource temporarily unavailable"
        if not re.search(wanted, done.stderr):
            return f"says {done.stderr!r}"
        return ""

    def run(self, case, name, **armed):
        what = ""
        # On a busy machine the program may end before the agent has answered, or traced. A short transfer that keeps the
        # agent from it does so each time.
        for _ in range(TRIES_MAX):
            self.is_unanswered = False
            what = self.run_once(case, name, **armed)
            if not (what.startswith(SHORT_MATTERS) and self.is_unanswered):
                break
        return what

    def run_once(self, case, name, **armed):
        arguments = self.prepare(case)
        env = dict(self.injector.env, FAULT_PROGRAM="strata")
        self.injector.arm(**armed)
        try:
            done = self.strata_run(arguments, env)
        except subprocess.TimeoutExpired:
            return "does not end"
        finally:
            self.injector.state.armed = 0
            restored = self.end_toy()
            self.end_agent()
        if not restored:
            return f"tracing stays on in the buffers: {done.stderr}"
        what = self.judge(case, name, done)
        # Another process may get its number, and who recovers that gets these, too.
        for path in re.findall(r"its rings stay in (\S+)", done.stderr):
            self.strata_run(["recover", "--discard", path])
        return what

    def stride(self, case, name):
        # A run starts QEMU, or a process that watches events. With --long, all are tried.
        return QEMU_STRIDE if case in ("qemu", "triggers") and not self.is_long else 1

    def all(self):
        for case in ("record", "record-limit", "triggers", "recover", "percpu", "guest"):
            self.case(case)
        if shutil.which(QEMU[0]):
            self.case("qemu")
        else:
            print(f"recordings: SKIPPED in part: {QEMU[0]} is not installed")
        if os.geteuid() == 0 and os.path.isdir(INSTANCES):
            self.case("host")
        else:
            print("recordings: SKIPPED in part: only root may trace this machine's kernel, where tracefs is mounted")


if __name__ == "__main__":
    sys.exit(main(Sweep, "losses", "toy"))
