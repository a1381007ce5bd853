#!/usr/bin/env python3
"""Boots a guest once and runs scenarios in it, one after the other:

    scenarios.py WORK [SCENARIO...]

WORK holds `kernel` and `initramfs`, and gets all that is written. STRATA_BIN is the folder of the commands.
"""

import os
import shutil
import sys
import time
import traceback

import agent
import clock
import host
import machine
import old_host
import own_host
import plain_writer
import record
import timeline

SCENARIOS = plain_writer.SCENARIOS + old_host.SCENARIOS + own_host.SCENARIOS + clock.SCENARIOS + record.SCENARIOS + timeline.SCENARIOS


class Run:
    """What a scenario is given."""

    def __init__(self, work):
        self.work = work
        self.hosts = []
        self.collects = []
        self.bin = os.environ["STRATA_BIN"]
        self.strata = os.path.join(self.bin, "strata")
        self.guest = machine.Machine(f"{work}/kernel", f"{work}/initramfs", self.folder("machine"))

    def folder(self, name):
        """A folder of that name, empty."""
        path = os.path.join(self.work, name)
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        return path

    def host(self, folder):
        self.hosts.append(host.Host(self.guest, folder))
        return self.hosts[-1]

    def clean_up(self):
        """What a scenario that failed left."""
        for old_host in self.hosts:
            old_host.gone()
        self.hosts = []
        for collect in self.collects[:]:
            print(collect.says())
            collect.kill()
        print(self.guest.text(f"cat {agent.LOG}; >{agent.LOG}"))
        self.guest.run("killall -q -KILL strata-agent trace-agent; sleep 1; cd /sys/kernel/tracing/instances && "
                       "for instance in *; do [ ! -d $instance ] || rmdir $instance; done; cd /")


def main():
    work, *names = sys.argv[1:]
    known = {scenario.__name__: scenario for scenario in SCENARIOS}
    for name in names:
        if name not in known:
            sys.exit(f"no scenario {name}; there are: {' '.join(known)}")
    began = time.monotonic()
    run = Run(os.path.abspath(work))
    print(f"the guest is up after {time.monotonic() - began:.1f} s", flush=True)
    failed = 0
    try:
        for name, scenario in known.items():
            if names and name not in names:
                continue
            began = time.monotonic()
            try:
                scenario(run)
                outcome = "ok"
            except Exception as failure:
                outcome = "FAILED"
                failed += 1
                traceback.print_exc(file=sys.stdout)
                if isinstance(failure, machine.Lost):
                    sys.exit(f"{name}: the guest is lost")
                run.clean_up()
            print(f"{name}: {time.monotonic() - began:.1f} s: {outcome}", flush=True)
        run.guest.end()
    finally:
        run.guest.kill()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
