#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every command, and libstrata-read, with an allocation, a write, a read, a file that fails, at each point in turn.

commands.py INJECTOR BIN DATA READ_ALL [--long] [--case=GLOB] [--kind=NAME]    --long: also by STRATA_TEST_LONG=1

A point is a stack that such a call is made with. With --long, all points are tried. Without, those of which no other
case has the site, which is the innermost part of the stack, and AGAIN of the others."""

import contextlib
import os
import re
import shutil
import struct
import subprocess
import sys
import time

import sweep
from sweep import HERE, KINDS, faults

NAMES = ("alloc", "map", "write", "full", "short-write", "make", "open", "read", "short-read")
# How many points are tried in each case and sweep of those whose site another case has tried.
AGAIN = 2

READING = ("open", "read")
# Libraries that say what failed in their own words, and which words of ours then do.
FOREIGN = ("/libsqlite3.so",)
FOREIGN_WORDS = "|SQLite: "
# Functions below which a failure is not reported yet: where the kernel's symbols cannot be read, numbers are shown.
NOT_REPORTED = ("kernel_events_symbol", "dat_put_kallsyms", "tree_kallsyms")
# jansson 2.14 reads beyond the end of a string for which it has no memory.
CRASHES = ("json_loads", "json_loadb")


def xen_windows(data, most):
    """The first windows of a stream of Xen's, MOST bytes at least."""
    at = 0
    while at < most:
        header, _, size = struct.unpack_from("<III", data, at)
        assert header & 0x0FFFFFFF == 0x0001F003, hex(header)
        at += 12 + size
    return data[:at]


def make_inputs(data, strata):
    """Small traces of each kind, in the working directory."""
    def shell(script):
        subprocess.run(["sh", "-euc", script], check=True, env=dict(os.environ, DATA=data, here=HERE, STRATA=strata))

    shell(r"""
        . "$here/../lib/three_layers.sh"
        kernel_capture local guest
        kernel_capture tsc tsc
        # A few events of each CPU, and of the formats those that they have.
        cp -r guest sched
        for cpu in 0 1; do
            tail -c 204800 guest/cpu$cpu.raw >sched/cpu$cpu.raw
        done
        for directory in guest tsc trace/guest-guest trace/host; do
            truncate -s 12288 $directory/cpu?.raw
            find $directory/*/events -mindepth 1 -maxdepth 1 -type d ! -name sched ! -name irq ! -name syscalls -exec rm -r {} +
            find $directory/*/events -mindepth 2 -maxdepth 2 -type d ! -name 'sched_[sw]*' ! -name 'irq_*' ! -name 'sys_*_write' -exec rm -r {} +
            find $directory -name kallsyms -exec truncate -s 40000 {} +
        done
        cp "$DATA"/ftrace/made/*.dat "$DATA"/qemu/made/*.simpletrace "$DATA"/qemu/made/trace-events .
        cp "$DATA"/perf/made/*.data .
        cp "$DATA/gen/trace-events" gen-events
        echo 'ffffffff81000000 T _text' >kallsyms
        printf 'output = x\nflight = 5m\nhost\nevent = guest:sched_switch,guest:irq*\ncommand = true "a b"\n' >record.conf
        cp "$DATA/xen/formats" "$DATA"/xen/rules/16.* .
        mkdir lttng
        tar -C lttng -xJf "$DATA/ctf/lttng-ust.tar.xz"
        xz -dc "$DATA/qemu/stock-qemu.log.xz" | head -n 300 >qemu.log
        "$STRATA" report -e sys_enter_write guest 2>&1 |
            sed -n 's/^\([0-9]*\.[0-9]*\)... .*/1@1700\1:marker 1/p' >vm.log
        echo 'marker(int n) "%d"' >>trace-events
        printf 'poke(int n) "n %d"\\nbad(int\\n' >wrong-events
    """)
    raw = subprocess.run(["xz", "-dc", f"{data}/xen/xen-4.22-all.raw.xz"], capture_output=True, check=True).stdout
    with open("xen.raw", "wb") as file:
        file.write(xen_windows(raw, 40000))


def top(run):
    """The names of what RUN wrote, not of what is in directories."""
    return {path.split("/")[0] for path in run.files["out"]}


def cases(strata, read_all):
    bin_directory = os.path.dirname(strata)
    declared = {"STRATA_EVENTS": "trace-events"}

    def case(name, *arguments, tool=strata, **options):
        return faults.Case(name, [tool, *arguments], **options)

    inputs = [
        ("v0", ["v0.simpletrace"]),
        ("v2", ["v2.simpletrace"]),
        ("v3", ["v3.simpletrace"]),
        ("v4", ["v4.simpletrace"]),
        ("log", ["qemu.log"]),
        ("xen", ["xen.raw"]),
        ("v6.dat", ["v6.dat"]),
        ("v7.dat", ["v7.dat"]),
        ("perf", ["little.data"]),
        ("perf-stream", ["stream.data"]),
        ("perf-packed", ["packed.data"]),
        ("v7-zstd.dat", ["v7-zstd.dat"]),
        ("v7-zlib.dat", ["v7-zlib.dat"]),
        ("pages", ["guest"]),
        ("directory", ["trace"]),
        ("ctf", ["lttng/lttng-ust"]),
        ("two", ["v4.simpletrace", "v3.simpletrace"]),
    ]
    for name, paths in inputs:
        yield case(f"report-{name}", "report", *paths, env=declared)
    for name, paths in inputs:
        if name in ("v3", "xen", "directory", "ctf", "two"):
            yield case(f"info-{name}", "info", *paths, env=declared)
    yield case("record-print-config", "record", "--config=record.conf", "--guest=web=vsock:3:1", "--print-config",
               "--print-command")
    yield case("report-json", "report", "-fjson", "trace", env=declared)
    yield case("report-csv", "report", "-fcsv", "v7.dat", env=declared)
    yield case("report-select", "report", "-e", "dma_*,-dma_map", "--cpu=0-3", "--pid=1-99999", "--from=+0", "-n", "20",
               "v4.simpletrace", env=declared)
    yield case("report-pipe", "report", "-", stdin="v4.simpletrace", env=declared)
    yield case("report-pipe-dat", "report", "-", stdin="v7.dat", env=declared)
    yield case("report-host-time", "report", "--host-time", "trace", env=declared)
    yield case("info-json", "info", "-fjson", "v7.dat", env=declared)
    yield case("stat-directory", "stat", "trace", env=declared)
    yield case("stat-task", "stat", "--by=task", "-fjson", "v7.dat", env=declared)
    yield case("top", "top", "--batch", "--iterations=1", "sched")
    yield case("summary-pages", "summary", "sched", env=declared)
    yield case("summary-json", "summary", "-fjson", "xen.raw", env=declared)
    yield case("summary-html", "summary", "--html=out/a.html", "sched", env=declared)
    yield case("analysis-latency", "latency", "--slowest=3", "--every=0.01", "sched", env=declared)
    yield case("analysis-irq", "irq", "--by=cpu", "-fjson", "sched", env=declared)
    yield case("analysis-diff", "diff", "sched", "sched", "irq", env=declared)
    yield case("sched-pages", "sched", "--slowest=3", "sched", env=declared)
    yield case("sched-who", "sched", "--who", "-fjson", "sched", env=declared)
    yield case("sched-wakers", "sched", "--wakers", "-fcsv", "sched", env=declared)
    yield case("path-waits", "path", "--waits", "--slowest=3", "sched", env=declared)
    yield case("path-spans", "path", "--pair=wake: sched_waking(pid) -> sched_switch(next_pid)", "-fjson", "--slowest=2", "sched", env=declared)
    yield case("sched-cpus", "sched", "--by=cpu", "sched", env=declared)
    yield case("sched-vcpus", "sched", "--by=vcpu", "xen.raw", env=declared)
    yield case("sched-domains", "sched", "--by=domain", "xen.raw", env=declared)
    for to, path, given in [
        ("csv", "a.csv", "v3.simpletrace"), ("ctf", "a.ctf", "trace"),
        ("perfetto", "a.pftrace", "trace"), ("simpletrace", "a.st", "v4.simpletrace"), ("sqlite", "a.db", "v7.dat"),
        ("trace.dat", "a.dat", "v7.dat"), ("trace-events", "a.te", "v7.dat"), ("trace.dat", "b.dat", "trace"),
        ("sqlite", "b.db", "trace")]:
        yield case(f"export-{path}", "export", f"--to={to}", "-o", f"out/{path}", given, env=declared)
    yield case("export-pair", "export", "--to=perfetto", "--pair=wake: sched_waking(pid) -> sched_switch(next_pid)",
               "-o", "out/p.pftrace", "sched", env=declared)
    yield case("export-stdout", "export", "--to=perfetto", "v4.simpletrace", env=declared)
    yield case("merge-tsc", "merge", "-o", "out/all", "tsc", "tsc2=tsc", "--tsc=tsc,tsc2", "--cpu-hz=2G", env=declared)
    yield case("merge-events", "merge", "-o", "out/all", "guest", "vm.log", "--sync", "guest:sys_enter_write = vm:marker",
               env=declared)
    for backends in ("log", "ring", "simple", "ftrace", "syslog", "dtrace", "ust", "ring,log,simple"):
        yield case(f"gen-c-{backends}", "gen", "-g", "all", "-f", "c", "--backend", backends, "-o", "out/a.c", "gen-events")
    for form in ("h", "d", "ust-events-c", "ust-events-h", "stap", "simpletrace-stap", "log-stap", "rs"):
        backend = "ust" if form.startswith("ust") else "dtrace" if form in ("d", "stap") or "-stap" in form else "log"
        yield case(f"gen-{form}", "gen", "-g", "all", "-f", form, "--backend", backend, "--provider=p", "--probe-prefix=p",
                   "--binary=/bin/p", "-o", "out/a", "--depfile=out/a.d", "gen-events")
    yield case("gen-wrong", "gen", "-g", "all", "-f", "c", "--backend", "log", "-o", "out/a.c", "wrong-events", status=1)
    yield case("gen-list", "gen", "--list")
    yield case("tracetool", "--format=h", "--backends=log", "--group=all", "gen-events", "out/a.h",
               tool=f"{bin_directory}/tracetool")
    yield case("simpletrace", "trace-events", "v4.simpletrace", tool=f"{bin_directory}/simpletrace")
    yield case("xentrace_format", "formats", tool=f"{bin_directory}/xentrace_format", stdin="xen.raw")
    yield case("xentrace_format-rules", "-c0", "16.formats", tool=f"{bin_directory}/xentrace_format", stdin="16.raw")
    # They show what runs on this machine.
    yield case("list", "list", steady=False)
    yield case("list-json", "list", "--format=json", steady=False)
    yield case("recover-list", "recover", "--list", "out")
    yield case("help", "help", "report")
    # libstrata-read, each of its functions.
    for name, paths in inputs:
        if name in ("v4", "log", "xen", "v7-zstd.dat", "pages", "directory", "ctf", "two"):
            events = ["--", "trace-events"] if name in ("v4", "log", "two") else []
            yield case(f"read-{name}", *paths, *events, tool=read_all, notes=True)
    yield case("read-select", "--short", "trace", tool=read_all)
    yield case("read-pipe", "-", stdin="v7.dat", tool=read_all)


@contextlib.contextmanager
def qemu():
    """A QEMU that does nothing, for what lists those that run, with options in both of QEMU's notations."""
    if not shutil.which("qemu-system-x86_64"):
        print("faults: SKIPPED in part: qemu-system-x86_64 is not installed")
        yield
        return
    process = subprocess.Popen(
        ["qemu-system-x86_64", "-M", "pc", "-S", "-nodefaults", "-display", "none", "-chardev", "null,id=port",
         "-device", '{"driver": "isa-debugcon", "chardev": "port"}', "-name", "guest=faults,process=faults",
         "-qmp", f"unix:{os.getcwd()}/qmp.socket,server=on,wait=off"],
        stdin=subprocess.DEVNULL)
    try:
        while not os.path.exists("qmp.socket"):
            if process.poll() is not None:
                raise RuntimeError("QEMU does not start")
            time.sleep(0.01)
        yield
    finally:
        process.kill()
        process.wait()


class Sweep(sweep.Sweep):
    def __init__(self, options, directory):
        super().__init__(options, directory, NAMES)
        self.read_all, self.data = options.read_all, options.data

    def judge(self, case, name, plain, run, unsteady):
        """What is wrong with RUN, or nothing."""
        if run.timed_out:
            return "does not end"
        if run.status < 0:
            return f"ended by signal {-run.status}"
        if self.injector.state.fired == 0:
            return ""
        if run.status == plain.status:
            return self.judge_same(case, plain, run, unsteady, KINDS[name][3])
        said = run.err.decode(errors="replace")
        wanted = KINDS[name][3]
        if wanted is None:
            return f"a short transfer matters: exit status {run.status}: {said}"
        if run.status != 1:
            return f"exit status {run.status}: {said}"
        if not re.search(wanted + (FOREIGN_WORDS if self.is_foreign() else ""), said):
            return f"says {said!r}"
        left = self.leftovers(run)
        if not left:
            return ""
        # Of a trace that cannot be read to its end, what was read makes a whole export.
        if name in READING and top(run) == top(plain) and not run.files["tmp"]:
            return ""
        # A depfile alone does no harm.
        if list(run.files["out"]) == ["a.d"]:
            return ""
        # What it had to write is whole, and only the report on standard output failed.
        whole = set(run.files["out"]) == set(plain.files["out"]) and not run.files["tmp"]
        return "" if whole and ("standard output" in said or self.is_below(("merge_report", "text_open_output"))) else left

    def judge_same(self, case, plain, run, unsteady, wanted):
        """The same of a run that ended as the one without failures did."""
        if run.status != 0:
            return self.leftovers(run)
        # What of a recording cannot be shown is noted.
        if case.notes and wanted and re.search(b"note .*(" + wanted.encode() + b")", run.out):
            return ""
        if case.steady and run.out != plain.out:
            return f"exit status 0, but its output is another: {faults.first_difference(plain.out, run.out)}"
        if set(run.files["out"]) != set(plain.files["out"]):
            return f"exit status 0, but it left {sorted(run.files['out'])}"
        if run.files["tmp"] != plain.files["tmp"]:
            return f"left temporary files: {sorted(run.files['tmp'])}"
        changed = [p for p in run.files["out"] if p not in unsteady and run.files["out"][p] != plain.files["out"][p]]
        return f"exit status 0, but these are others: {changed}" if changed else ""

    def is_excused(self, what):
        excused = self.is_below(NOT_REPORTED) or (what.startswith("ended by signal") and self.is_below(CRASHES))
        self.excused += excused
        return excused

    def is_foreign(self):
        """Whether the call that failed was one of a library's that reports errors in its own words."""
        return any(library in frame for frame in self.injector.stack()[:6] for library in FOREIGN)

    @staticmethod
    def leftovers(run):
        left = sorted(run.files["out"]) + sorted(run.files["tmp"])
        return f"left {left}" if left else ""

    def sweep(self, case, name, points, plain, unsteady):
        kinds, error, options, _ = KINDS[name]
        points = self.points_of(name, points)
        tried = points if self.is_long else self.choose(name, points)
        for point in tried:
            run = self.injector.run(case, kinds, point.first, error, **options)
            self.count()
            what = self.judge(case, name, plain, run, unsteady)
            if what and not self.is_excused(what):
                self.fail(case.name, f"{name} {point.first}", what)
        return len(tried), len(points)

    def choose(self, name, points):
        """Those of POINTS at whose site nothing has failed yet, and a few of the others."""
        chosen = []
        for point in points:
            if self.is_new(name, point.site):
                chosen.append(point)
        again = [point for point in points if point not in chosen]
        return sorted(chosen + faults.spread(again, AGAIN), key=lambda point: point.first)

    def case(self, case):
        plain = self.injector.run(case, (), points=True)
        points = self.injector.points()
        again = self.injector.run(case, ())
        if plain.status != case.status or again.status != case.status:
            self.fail(case.name, "by itself", f"exit status {plain.status}: {plain.err.decode(errors='replace')}")
            return
        unsteady = {p for p in plain.files["out"] if plain.files["out"][p] != again.files["out"].get(p)}
        tried = ["%s %d/%d" % (name, *self.sweep(case, name, points, plain, unsteady)) for name in self.names]
        print(f"{case.name}: {', '.join(tried)}", flush=True)

    def all(self):
        os.chdir(self.directory)
        make_inputs(self.data, self.strata)
        with qemu():
            for case in cases(self.strata, self.read_all):
                if self.is_chosen(case.name):
                    self.case(case)


if __name__ == "__main__":
    sys.exit(sweep.main(Sweep, "data", "read_all"))
