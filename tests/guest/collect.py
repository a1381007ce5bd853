"""`strata collect` on the host."""

import os
import signal
import subprocess

from machine import PATIENCE, expect, wait_until
from tracefs import the_instance


class Collect:
    """One that was started, and is ended by stop(). FOLDER/trace is what it writes."""

    def __init__(self, run, folder, *options, port=None, quiet=False):
        self.run = run
        self.folder = f"{folder}/trace"
        self.log = f"{folder}/collect.log"
        command = [run.strata, "collect", f"--output={self.folder}", *options,
                   f"guest={port or os.path.join(run.guest.folder, 'agent')}"]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True)
        run.collects.append(self)
        self.quiet = quiet
        self.traces(1)
        self.look_for_instance()

    def traces(self, times):
        """Waits until it says for the TIMES-th time that the guest is traced."""
        def says_so():
            expect(self.process.poll() is None, "strata collect ended:", self.says())
            return self.says().count("guest: traces") + self.says().count("guest: is connected again") >= times
        try:
            wait_until(says_so, "nothing is traced")
        finally:
            if not self.quiet:
                print("".join("  " + line for line in self.says().splitlines(True)), end="")

    def look_for_instance(self):
        """`instance` is the directory in the guest's tracefs."""
        self.instance = the_instance(self.run.guest)

    def says(self):
        with open(self.log, errors="replace") as log:
            return log.read()

    def stop(self, *status):
        """Takes what is left. STATUS are the exit statuses that are right, 0 if none is given."""
        self.process.send_signal(signal.SIGINT)
        return self.wait(*status)

    def wait(self, *status):
        got = self.process.wait(PATIENCE)
        expect(got in (status or (0,)), f"strata collect: exit status {got}:", self.says())
        self.run.collects.remove(self)
        return self.folder

    def signal(self, number):
        """To all of its processes."""
        os.killpg(self.process.pid, number)

    def kill(self):
        """Its other processes see that they are alone."""
        self.process.kill()
        self.process.wait()
        self.run.collects.remove(self)
