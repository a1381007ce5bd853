"""strata-agent in the guest."""

import time

from machine import expect, wait_until

LOG = "/tmp/agent.log"


class Agent:
    """One that was started, and is ended by stop()."""

    def __init__(self, machine, command="strata-agent", output="&2"):
        self.machine = machine
        self.pid = int(machine.text(f"{command} 2>>{LOG} >{output} & echo $!"))

    def is_running(self):
        """Whether any of its threads has not closed its files yet. A zombie has; the shell that started it does not
        always ask for it."""
        states = self.machine.text(f"sed 's/.*) \\(.\\).*/\\1/' /proc/{self.pid}/task/*/stat 2>/dev/null || :")
        return bool(set(states.split()) - {"Z", "X"})

    def signal(self, name):
        self.machine.run(f"kill -{name} {self.pid}")

    def stop(self, name="TERM"):
        """Returns how many seconds its end took, within those that a busy machine needs to ask."""
        expect(self.is_running(), "the agent ended by itself:", self.log())
        began = time.monotonic()
        self.signal(name)
        wait_until(lambda: not self.is_running(), "the agent runs on")
        return time.monotonic() - began

    def memory(self):
        """The most that it ever held, in KiB."""
        return int(self.machine.text(f"sed -n 's/^VmHWM:[^0-9]*\\([0-9]*\\) kB/\\1/p' /proc/{self.pid}/status"))

    def log(self):
        return self.machine.text(f"cat {LOG}")
