#!/usr/bin/env python3
"""Boots a guest once and runs scenarios in it, one after the other:

    scenarios.py WORK [SCENARIO...]

WORK holds `kernel` and `initramfs`, and gets all that is written. STRATA_BIN is the directory of the commands.
"""

import os
import shutil
import sys
import time
import traceback

import agent
import clock
import flight
import host
import machine
import migration
import virtio_trace_host
import strata_host
import plain_writer
import record
import states

SCENARIOS = (plain_writer.SCENARIOS + virtio_trace_host.SCENARIOS + strata_host.SCENARIOS + clock.SCENARIOS + record.SCENARIOS +
             states.SCENARIOS + flight.SCENARIOS + migration.SCENARIOS)


class Run:
    """What a scenario is given."""

    def __init__(self, work, **machine_options):
        self.work = work
        self.hosts = []
        self.collects = []
        self.bin = os.environ["STRATA_BIN"]
        self.strata = os.path.join(self.bin, "strata")
        self.guest = machine.Machine(f"{work}/kernel", f"{work}/initramfs", self.folder("machine"),
                                     **machine_options)

    def folder(self, name):
        """A folder of that name, empty."""
        path = os.path.join(self.work, name)
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        return path

    def host(self, folder):
        self.hosts.append(host.Host(self.guest, folder))
        return self.hosts[-1]

    def clean_up_host(self):
        """What a scenario that failed left on this side."""
        for old_host in self.hosts:
            old_host.gone()
        self.hosts = []
        for collect in self.collects[:]:
            print(collect.says())
            collect.kill()

    def clean_up(self):
        """… and in the guest."""
        self.clean_up_host()
        print(self.guest.text(f"cat {agent.LOG}; >{agent.LOG}"))
        self.guest.run("killall -q -KILL strata-agent trace-agent; sleep 1; cd /sys/kernel/tracing/instances && "
                       "for instance in *; do [ ! -d $instance ] || rmdir $instance; done; cd /")


def boot(work):
    began = time.monotonic()
    run = Run(os.path.abspath(work), accel=machine.ONE_THREAD)
    print(f"the guest is up after {time.monotonic() - began:.1f} s", flush=True)
    return run


def is_ok(run, scenario):
    """Of a scenario that fails, the guest is as before. machine.Lost: there is none any more."""
    try:
        scenario(run)
        return True
    except Exception as failure:
        traceback.print_exc(file=sys.stdout)
        if isinstance(failure, machine.Lost):
            raise
    run.clean_up()
    return False


def main():
    work, *names = sys.argv[1:]
    known = {scenario.__name__: scenario for scenario in SCENARIOS}
    for name in names:
        if name not in known:
            sys.exit(f"no scenario {name}; there are: {' '.join(known)}")
    run = boot(work)
    failed = 0
    try:
        for name in known:
            if names and name not in names:
                continue
            began = time.monotonic()
            try:
                outcome = "ok" if is_ok(run, known[name]) else "FAILED"
            except machine.Lost:
                sys.exit(f"{name}: the guest is lost")
            failed += outcome == "FAILED"
            print(f"{name}: {time.monotonic() - began:.1f} s: {outcome}", flush=True)
        run.guest.end()
    finally:
        run.guest.kill()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
