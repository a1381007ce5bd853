#!/usr/bin/env python3
"""check.py STRATA [SEED...]: whether what Strata says of made machines is true. Each number that it prints is what really
happened, or what it states as unknown contains that.

check.py --runs N STRATA: the same with N random seeds. --kind: machines with Xen instead of Linux, or Linux as perf (also converted to CTF) or LTTng records it, as raw pages, or as text. A seed that fails is kept: check.py STRATA SEED runs it alone."""

import argparse
import atexit
import functools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

from disk import VmmFile
import kernel_files
from lttng import LttngTrace, PerfCtf
import machine
from perf_stream import PerfStream
from raw_files import RawFiles
from recording import Source
from text_file import TextFile
from truth import Difference
import verbs
import verbs_path
import verbs_summary
import verbs_xen
import xen

OTHERS, N_OTHERS = 500, 8  # seeds of the machines that others are compared with


def plant(rng, source):
    """Damages SOURCE in some way. Returns what was done, in words."""
    n_cpus = source.kernel.n_cpus
    cpu = rng.randrange(n_cpus)
    pages = len(source.cpus[cpu])
    what = rng.choice(["nothing", "missing", "cut", "loss", "loss", "late"])
    if what == "missing":
        source.remove_cpu(cpu)
    elif what == "cut":
        source.cut_cpu(cpu, rng.randint(1, max(1, pages - 1)))
    elif what == "loss":
        for _ in range(rng.randint(1, 3)):
            cpu = rng.randrange(n_cpus)
            source.lose(cpu, rng.randint(1, max(1, len(source.cpus[cpu]) - 2)), rng.randint(1, 4), rng.random() < 0.5)
    elif what == "late":
        source.begin_late(cpu, rng.randint(1, max(1, pages // 2)))
    return f"{source.kernel.name}: {what} (CPU {cpu} of {n_cpus})"


def plant_vmm(rng, vmm):
    """The same of QEMU's file."""
    what = rng.choice(["nothing", "nothing", "loss", "cut"])
    for _ in range(rng.randint(1, 3) if what == "loss" else 0):
        vmm.lose(rng.randint(1, max(1, len(vmm.records) - 2)), rng.randint(1, 6))
    if what == "cut":
        vmm.cut(rng.randint(1, max(1, len(vmm.records) - 1)))
    return what


def make(seed, path):
    """Returns the sources of the trace directory PATH, and what was planted."""
    rng = random.Random(seed)
    made = machine.Machine(rng, rng.randint(1, 4), rng.choice([0, 1, 1, 2, 3]), rng.randint(2, 6), rng.random() < 0.8,
                           rng.random() < 0.6)
    begin = rng.choice([0, rng.randint(1, 20) * machine.MILLI])
    end = begin + rng.randint(15, 50) * machine.MILLI
    if rng.random() < 0.2:
        since = rng.randint(begin, end - 5 * machine.MILLI)
        made.pause = since, since + rng.randint(1, 12) * machine.MILLI
    made.run(end + machine.MILLI)
    sources = [Source(made.host, begin, end)]
    if made.guest and made.guest.events:
        hz = rng.choice([10**9, 2100000000, 3000000000])
        guest = Source(made.guest, begin + rng.choice([0, 5 * machine.MILLI]), end, hz, rng.randrange(10**12),
                       rng.choice([0, 500, 5000]))
        if guest.events():
            sources.append(guest)
    for source in sources:
        if not made.has_waking:
            source.drop("sched_waking")
    late = random.Random(seed + 3)
    if late.random() < 0.15:
        sources[0].wake_late(late, made.has_waking)
    words = [plant(rng, source) for source in sources]
    if random.Random(seed + 4).random() < 0.3:
        for source in sources:
            source.state_no_files()
        words.append("older recorders")
    vmm = VmmFile(made.vmm, begin, end) if made.vmm else None
    if vmm and vmm.records and rng.random() < 0.9:
        words.append(f"QEMU: {plant_vmm(rng, vmm)}")
        sources.append(vmm)
    damage(seed, sources[0], words)
    ends = random.Random(seed + 6)
    if ends.random() < 0.3:
        source = ends.choice([source for source in sources if isinstance(source, Source) and source is not vmm])
        words.append(f"{source.kernel.name}: damaged time of the {source.damage_end(ends)} page")
    kernel_files.write_manifest(path, [source.write(path) for source in sources])
    return sources, words


def damage(seed, source, words):
    """A time in SOURCE may be damaged."""
    rng = random.Random(seed + 2)
    if rng.random() < 0.25:
        if isinstance(source, (PerfStream, TextFile, LttngTrace)):
            source.damage_event(rng)
        else:
            source.damage_time(rng)
        words.append(f"{source.kernel.name}: damaged times {list(source.stray)[:1]}")


def has_calls(seed):
    """Whether the machine of make_whole() has system calls and locks."""
    return seed % 2 == 0


def make_whole(seed, path):
    """A machine of whose recording nothing is missing, up to the first event of each CPU."""
    rng = random.Random(seed)
    made = machine.Machine(rng, rng.randint(1, 4), rng.choice([0, 1, 1, 2, 3]), rng.randint(2, 6), rng.random() < 0.8, rng.random() < 0.7, has_calls(seed))
    end = rng.randint(15, 50) * machine.MILLI
    made.run(end + machine.MILLI)
    sources = [Source(made.host, 0, end)]
    if made.guest and made.guest.events:
        sources.append(Source(made.guest, 0, end, 10**9, rng.randrange(10**12)))
    for source in sources:
        if not made.has_waking:
            source.drop("sched_waking")
    if made.vmm and made.vmm.events:
        sources.append(VmmFile(made.vmm, 0, end))
    kernel_files.write_manifest(path, [source.write(path) for source in sources])
    return sources, ["whole"]


def make_clock(seed, path):
    """A machine whose guest's clock is not what the recording says, or is."""
    rng = random.Random(seed)
    made = machine.Machine(rng, rng.randint(2, 4), rng.randint(1, 3), rng.randint(2, 6), rng.random() < 0.8)
    end = rng.randint(25, 50) * machine.MILLI
    made.run(end + machine.MILLI)
    guest = Source(made.guest, 0, end, rng.choice([10**9, 2100000000]), rng.randrange(10**12), rng.choice([0, 500, 5000]))
    guest.lie = rng.choice([0, rng.choice([-1, 1]) * rng.randint(60, 4000) * machine.MICRO])
    sources = [Source(made.host, 0, end), guest]
    for source in sources:
        if not made.has_waking:
            source.drop("sched_waking")
    kernel_files.write_manifest(path, [source.write(path) for source in sources])
    return sources, [f"the guest's clock is wrong by {guest.lie} ns, its stated error is {guest.error_ns} ns"]


def make_rate(seed, path):
    """A machine whose guest's clock is known by two pairs, which are as inexact as they say, and its rate in other ways, or not."""
    rng = random.Random(seed)
    made = machine.Machine(rng, rng.randint(1, 4), rng.randint(1, 3), rng.randint(2, 6), rng.random() < 0.8)
    end = rng.randint(25, 50) * machine.MILLI
    made.run(end + machine.MILLI)
    error_ns = rng.choice([500, 5000, 50000])
    guest = Source(made.guest, 0, end, rng.choice([10**9, 2100000000, 2596120002]), rng.randrange(10**12), error_ns)
    guest.off = rng.randint(-error_ns, error_ns), rng.randint(-error_ns, error_ns)
    guest.given_hz = int(guest.hz * rng.choice([0, 1, 1, 1 + rng.uniform(-2e-4, 2e-4), 1 + rng.uniform(-0.02, 0.02)]))
    sources = [Source(made.host, 0, end), guest]
    for source in sources:
        source.tsc_hz = rng.choice([0, guest.hz])
    kernel_files.write_manifest(path, [source.write(path) for source in sources])
    return sources, [f"the guest's clock of {guest.hz} Hz, {guest.given_hz} by its kernel; pairs off by {guest.off} of {error_ns} ns"]


def make_xen(seed, path):
    """The same of a file of xentrace."""
    rng = random.Random(seed)
    made = xen.Xen(rng, rng.randint(1, 4), rng.randint(1, 4))
    begin = rng.choice([0, rng.randint(1, 20) * machine.MILLI])
    end = begin + rng.randint(10, 40) * machine.MILLI
    made.run(end + machine.MILLI)
    file = xen.XenFile(made, begin, end)
    what = rng.choice(["nothing", "loss", "loss", "cut"])
    for _ in range(rng.randint(1, 3) if what == "loss" else 0):
        cpu = rng.randrange(made.n_cpus)
        file.lose(cpu, rng.randint(1, max(1, len(file.cpus[cpu]) - 2)), rng.randint(1, 300))
    file.write(path, rng.randint(1, 8) * machine.MILLI, rng.uniform(0.3, 0.99) if what == "cut" else None)
    return file, [f"Xen: {what} {file.gaps}"]


def make_raw(seed, path):
    """A kernel whose buffers were read one after the other."""
    rng = random.Random(seed)
    made = machine.Machine(rng, rng.randint(2, 4), 0, rng.randint(2, 6), rng.random() < 0.8)
    begin = rng.choice([0, rng.randint(1, 20) * machine.MILLI])
    end = begin + rng.randint(15, 50) * machine.MILLI
    made.run(end + machine.MILLI)
    n_cpus = made.host.n_cpus
    ends = [end] * n_cpus if rng.random() < 0.2 else [rng.randint(begin + 5 * machine.MILLI, end - 1) for _ in range(n_cpus)]
    source = RawFiles(made.host, begin, end, ends)
    if not made.has_waking:
        source.drop("sched_waking")
    for _ in range(rng.randint(0, 2)):
        cpu = rng.randrange(n_cpus)
        source.begin_late(cpu, rng.randint(1, max(1, len(source.cpus[cpu]) // 2)))
    words = []
    damage(seed, source, words)
    source.write(path)
    return source, words + [f"raw pages: {'tracing was off' if source.is_stopped else 'read one after the other'} {source.gaps}"]


def make_file(seed, path, kind):
    """The same of a kernel that another tracer recorded: KIND is "perf", "perf-ctf", "lttng" or "text"."""
    if kind == "raw":
        return make_raw(seed, path)
    rng = random.Random(seed)
    # The text of ftrace is taken for a guest's.
    is_plain = kind == "text" and rng.random() < 0.4
    made = machine.Machine(rng, rng.randint(1, 4), 0 if is_plain else rng.choice([0, 1, 2, 3]), rng.randint(2, 6), rng.random() < 0.8,
                           kind not in ("lttng", "perf-ctf") and not is_plain and rng.random() < 0.5)
    begin = rng.choice([0, rng.randint(1, 20) * machine.MILLI])
    end = begin + rng.randint(15, 50) * machine.MILLI
    made.run(end + machine.MILLI)
    lag = random.Random(seed + 1).choice([0, *[random.Random(seed).randint(1, 1500) * machine.MICRO] * 2])
    source = (PerfStream(made.host, begin, end, rng.randint(200, 3000) * machine.MICRO, rng.choice([0, rng.randint(1, 1500) * machine.MICRO])) if kind == "perf" else
              TextFile(made.host, begin, end, not is_plain, rng.randint(1, 300), lag) if kind == "text" else
              PerfCtf(made.host, begin, end, lag) if kind == "perf-ctf" else
              LttngTrace(made.host, begin, end))
    if not made.has_waking:
        source.drop("sched_waking")
    # perf's CTF does not tell losses.
    what = "nothing" if kind == "perf-ctf" else rng.choice(["nothing", "loss", "loss", "late" if is_plain else "loss" if kind == "text" else "cut",
                       *(["snapshot"] * 2 if kind == "lttng" else [])])
    for _ in range(rng.randint(1, 3) if what == "loss" else 0):
        cpu = rng.randrange(made.host.n_cpus)
        source.lose(cpu, rng.randint(1, max(1, len(source.cpus[cpu]) - 2)), rng.randint(1, 4), rng.random() < 0.7)
    if kind == "lttng":
        source.stop()
    if kind == "lttng" and what == "nothing" and made.host.n_cpus > 1 and random.Random(seed + 4).random() < 0.6:
        what = "cut between packets"
        source.cut_packets(random.Random(seed + 5))
    if what == "cut":
        source.cut(rng)
    if what == "snapshot":
        source.snapshot(rng)
    if what == "late":
        cpu = rng.randrange(made.host.n_cpus)
        source.begin_late(cpu, rng.randint(1, max(1, len(source.cpus[cpu]) // 2)))
    words = []
    damage(seed, source, words)
    source.write(path)
    return source, words + [f"{kind}: {what} {source.gaps}"]


@functools.cache
def other_case(strata, number):
    """What `strata diff` compares traces with."""
    path = tempfile.mkdtemp(prefix="simulation-other.")
    atexit.register(shutil.rmtree, path)
    return verbs.Case(strata, path, make(OTHERS + number, path)[0])


def check_partitions(strata, trace):
    """The parts of a trace are the whole."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden/selection.py")
    result = subprocess.run([sys.executable, script, strata, trace, "--keep-going"], capture_output=True, text=True, check=False)
    if result.returncode:
        raise Difference(result.stderr)


SUMS = ["runs", "migrations", "preempt_n", "preempt_sum", "wake_n", "wake_sum", "run", "wait", "sleep", "run_n", "run_sum", "guest", "vmm",
        "run_unknown", "stolen", "stolen_idle", "stolen_unknown"]


def rows_by(strata, by, traces):
    """What `sched --by BY` says of each vCPU or machine."""
    result = subprocess.run([strata, "sched", "--by", by, "--format=json", "-k", *traces], capture_output=True, text=True, check=False)
    if result.returncode and "strata: none of the " not in result.stderr:
        raise Difference(result.stderr)
    rows = json.loads(result.stdout)["rows"]
    keys = {json.dumps(row["key"]) for row in rows}
    if len(keys) != len(rows):
        raise Difference(f"by {by}: {len(rows)} rows have {len(keys)} keys")
    for row in rows:
        row["key"].pop("source", None)
    return sorted(rows, key=json.dumps)


def check_sums(machine, vcpus):
    """A machine's times are those of its vCPUs."""
    for name in SUMS:
        values = [vcpu.get(name) for vcpu in vcpus]
        if None not in values and machine.get(name) != sum(values):
            raise Difference(f"{name} of the machine: {machine.get(name)}, of its vCPUs: {values}")
    covered = sum(vcpu["covered"] for vcpu in vcpus)
    if machine["covered"] != covered:
        raise Difference(f"covered: {machine['covered']}, of its vCPUs: {covered}")


def check_together(strata, seed, path):
    """The vCPUs of two machines on one host have the same numbers: what is said of each is what is said of it alone."""
    traces = [f"{path}/{number}" for number in (seed, seed + 1)]
    words = []
    for number, trace in zip((seed, seed + 1), traces):
        os.mkdir(trace)
        words += make(number, trace)[1]
    for by in "vcpu", "vm":
        alone = sorted((row for trace in traces for row in rows_by(strata, by, [trace])), key=json.dumps)
        together = rows_by(strata, by, traces)
        if alone != together:
            raise Difference(f"by {by}, alone:\n{alone}\ntogether:\n{together}")
    for trace in traces:
        vcpus = rows_by(strata, "vcpu", [trace])
        for machine in rows_by(strata, "vm", [trace]):
            check_sums(machine, [row for row in vcpus if row["key"]["layer"] == machine["key"]["layer"]])
    return words


def check(strata, seed, kind, has_partitions):
    """0, or 1 where something differs."""
    path = tempfile.mkdtemp(prefix="simulation.")
    words = []
    try:
        if kind == "xen":
            file, words = make_xen(seed, f"{path}/xen.raw")
            verbs_xen.check_all(strata, f"{path}/xen.raw", file)
        elif kind == "clock":
            sources, words = make_clock(seed, path)
            verbs.check_clock(strata, path, sources)
        elif kind == "rate":
            sources, words = make_rate(seed, path)
            verbs.check_rate(strata, path, sources)
        elif kind == "path":
            sources, words = make_whole(seed, path)
            verbs_path.check_whole(verbs.Case(strata, path, sources), has_calls(seed))
        elif kind == "two":
            words = check_together(strata, seed, path)
        elif kind in ("perf", "perf-ctf", "lttng", "text", "raw"):
            source, words = make_file(seed, f"{path}/made", kind)
            verbs.check_all(strata, f"{path}/made", [source], False)
        else:
            sources, words = make(seed, path)
            case = verbs.check_all(strata, path, sources)
            verbs_summary.check_diff(case, other_case(strata, seed % N_OTHERS))
        if has_partitions:
            check_partitions(strata, {"xen": f"{path}/xen.raw", "kvm": path, "clock": path, "rate": path, "path": path}.get(kind, f"{path}/made"))
    except Difference as difference:
        kept = os.path.join(tempfile.gettempdir(), f"simulation-{seed}")
        shutil.rmtree(kept, ignore_errors=True)
        os.rename(path, kept)
        print(f"seed {seed}: {'; '.join(words)}; the trace is {kept}:\n  {difference}", file=sys.stderr)
        return 1
    shutil.rmtree(path)
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--kind", choices=["kvm", "xen", "perf", "perf-ctf", "lttng", "text", "raw", "clock", "rate", "two", "path"], default="kvm", help="what is recorded, and how (kvm)")
    parser.add_argument("--partitions", action="store_true", help="the parts of each trace, by every selection, are the whole, too")
    parser.add_argument("strata")
    parser.add_argument("seeds", type=int, nargs="*")
    options = parser.parse_intermixed_args()
    seeds = options.seeds or [random.randrange(10**9) for _ in range(options.runs or 20)]
    failed = sum(check(options.strata, seed, options.kind, options.partitions) for seed in seeds)
    print(f"{len(seeds)} made machines, {failed} with differences; seeds {seeds[0]}..." if len(seeds) > 40 else
          f"{failed} of the made machines {seeds} have differences")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
