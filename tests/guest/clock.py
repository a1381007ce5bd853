"""The guest's clock in the host's time: a mark that the guest made between two moments that the host knows has a time
between these, give or take what `strata info` says."""

import re
import subprocess
import time

from agent import Agent
from collect import Collect
from machine import PATIENCE, expect


RINGS = 200


def host_time(run):
    for clock, rings in ("x86-tsc", RINGS), ("mono", RINGS // 4):
        agent = Agent(run.guest)
        collect = Collect(run, run.folder(f"host-time-{clock}"), "--event=sched:sched_process_fork", f"--clock={clock}")
        bell = run.guest.connect("bell")
        bell.settimeout(PATIENCE)
        answers = bell.makefile("rb")
        run.guest.start(f"guest-tool bell /dev/virtio-ports/org.strata.test.bell {collect.instance}")
        between = []
        for n in range(rings):
            began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            bell.sendall(b"x")
            answer = answers.readline()
            between.append((began, time.clock_gettime_ns(time.CLOCK_MONOTONIC)))
            expect(int(answer) == n, "the bell answers", answer)
            time.sleep(0.02)
        bell.sendall(b"q")
        run.guest.ended()
        bell.close()
        folder = collect.stop()
        agent.stop()

        said = subprocess.run([run.strata, "info", "--host-time", folder], stdout=subprocess.PIPE, check=True, text=True).stdout
        # At its best to at its worst.
        bound = re.search(r"within (?:[0-9.]+ to )?([0-9.]+) (ns|us|ms|s)$", said, re.M)
        expect(bound, "no bound in:", said)
        bound = float(bound.group(1)) * {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}[bound.group(2)]
        report = subprocess.run([run.strata, "report", "--host-time", folder], stdout=subprocess.PIPE, check=True, text=True).stdout
        seen, best = 0, None
        for line in report.splitlines():
            match = re.match(r"(\d+)\.(\d{9}) .* bell (\d+)$", line)
            if match:
                stamp = int(match.group(1)) * 10**9 + int(match.group(2))
                earliest, latest = between[int(match.group(3))]
                expect(earliest - bound <= stamp <= latest + bound, f"{clock}: mark {match.group(3)} was made between"
                       f" {earliest} and {latest}, but is shown at {stamp}, within {bound} ns")
                best = min(latest - earliest, best or latest - earliest)
                seen += 1
        expect(seen == rings, f"{seen} marks of {rings}")
        print(f"  {clock}: {seen} marks are where they belong, within {bound / 1000:.0f} us; the closest known is by "
              f"{best / 1000:.0f} us")


SCENARIOS = [host_time]
