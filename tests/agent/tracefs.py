"""This machine's own kernel as the guest: an instance of tracefs that is removed again, markers with numbers in it, and what arrived of them."""
import json
import os
import re
import subprocess
import sys
import tempfile
import time


def skip(why):
    print(f"SKIPPED: {why}", file=sys.stderr)
    sys.exit(77)


def fail(what):
    print(f"FAILED: {what}", file=sys.stderr)
    sys.exit(1)


def check(condition, what):
    if not condition:
        fail(what)


def wait_for(condition, what, seconds=60):
    """For what happens by itself; the limit is far beyond what a busy machine takes."""
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, f"waited in vain for {what}")
        time.sleep(0.01)


class Tracefs:
    """Where tracefs is; mounted in the work folder when it is nowhere else."""

    def __init__(self, work):
        self.mounted = None
        self.path = "/sys/kernel/tracing"
        if not os.path.exists(f"{self.path}/instances"):
            self.path = f"{work}/tracefs"
            os.mkdir(self.path)
            if subprocess.run(["mount", "-t", "tracefs", "none", self.path], stderr=subprocess.DEVNULL).returncode:
                skip("this kernel has no tracefs, or it cannot be mounted")
            self.mounted = self.path
        self.instances = []

    def instance(self, name, buffer_kb=None):
        instance = Instance(self, f"strata-test-{os.getpid()}-{name}", make=True)
        self.instances.append(instance)
        if buffer_kb:
            instance.write("buffer_size_kb", str(buffer_kb))
        return instance

    def close(self):
        for instance in self.instances:
            instance.remove()
        if self.mounted:
            subprocess.run(["umount", self.mounted], check=True)


class Instance:
    """One of our own, or (without MAKE) an agent's, which has to be left before that can remove it."""

    def __init__(self, tracefs, name, make=False):
        self.tracefs, self.name = tracefs, name
        self.path = f"{tracefs.path}/instances/{name}"
        if make:
            try:
                os.mkdir(self.path)
            except OSError as e:
                skip(f"no instance of tracefs can be made: {e}")
        self.marker = os.open(f"{self.path}/trace_marker", os.O_WRONLY)
        self.next = {}

    def write(self, file, text):
        with open(f"{self.path}/{file}", "w") as f:
            f.write(text)

    def read(self, file):
        with open(f"{self.path}/{file}") as f:
            return f.read()

    def mark(self, cpu, n):
        """N markers on CPU, numbered from where the last call ended."""
        os.sched_setaffinity(0, {cpu})
        first = self.next.get(cpu, 0)
        for i in range(first, first + n):
            os.write(self.marker, b"%d of cpu %d\n" % (i, cpu))
        self.next[cpu] = first + n
        os.sched_setaffinity(0, ALL_CPUS)

    def overrun(self, cpu):
        return int(re.search(r"^overrun: (\d+)", self.read(f"per_cpu/cpu{cpu}/stats"), re.MULTILINE)[1])

    def was_read(self, cpu):
        """How many events were read from the ring of CPU."""
        return int(re.search(r"^read events: (\d+)", self.read(f"per_cpu/cpu{cpu}/stats"), re.MULTILINE)[1])

    def settings(self):
        """What an agent must leave as it found it."""
        names = ["tracing_on", "buffer_size_kb", "trace_clock", "buffer_percent", "set_event", "trace_options"]
        return {name: self.read(name) for name in names}

    def leave(self):
        os.close(self.marker)
        self.marker = -1

    def remove(self):
        if self.marker >= 0:
            self.leave()
            # Whoever read it may still be closing.
            wait_for(self.is_removed, f"{self.path} to be removed")

    def is_removed(self):
        try:
            os.rmdir(self.path)
            return True
        except OSError:
            return False


ALL_CPUS = os.sched_getaffinity(0)
CPUS = sorted(ALL_CPUS)[:2]


def decode(strata, instance, raws, work):
    """What strata report makes of raw pages, RAWS[cpu] = bytes: a list of numbers per CPU, in order, where a loss is the string "lost N"."""
    folder = tempfile.mkdtemp(dir=work)
    for file in ["events/header_page", "events/header_event", "events/ftrace/print/format"]:
        os.makedirs(os.path.dirname(f"{folder}/{file}"), exist_ok=True)
        with open(f"{folder}/{file}", "w") as f, open(f"{instance.tracefs.path}/{file}") as tracefs:
            f.write(tracefs.read())
    with open(f"{folder}/trace_clock", "w") as f:
        f.write(instance.read("trace_clock"))
    for cpu, pages in raws.items():
        with open(f"{folder}/cpu{cpu}.raw", "wb") as f:
            f.write(pages)
    return read_folder(strata, folder)


def read_folder(strata, folder):
    done = subprocess.run([strata, "report", "--format=json", folder], capture_output=True, text=True)
    lost_only = "events were lost" in done.stderr or "event was lost" in done.stderr or not done.stderr
    check(done.returncode == 0 and lost_only, f"strata report {folder}: {done.stderr}")
    seen = {}
    for line in done.stdout.splitlines():
        item = json.loads(line)
        if "lost" in item:
            seen.setdefault(item["cpu"], []).append(f"lost {item['lost']}")
        elif item["event"] == "print" and " of cpu " in item["fields"]["buf"]:
            number, cpu = item["fields"]["buf"].split(" of cpu ")
            check(int(cpu) == item["cpu"], f"{line}: on the wrong CPU")
            seen.setdefault(item["cpu"], []).append(int(number))
    return seen


def account(seen, written, where, instance=None):
    """Every marker that was written (WRITTEN[cpu] of them) is there in its order, or counted as lost where it is missing. The kernel
    has no room for the count in a page that is full to its end, and says only that there was a loss: then what is
    missing there must be what the INSTANCE's own count of the CPU says. Returns how many were lost."""
    lost_in_all = 0
    for cpu, n in written.items():
        at = lost = 0
        unknown = False
        for item in seen.get(cpu, []):
            if item == "lost None":
                unknown = True
            elif isinstance(item, str):
                at += int(item.split()[1])
                lost += int(item.split()[1])
            else:
                if unknown:
                    check(item > at, f"{where}: CPU {cpu}: nothing is missing before {item}")
                    lost += item - at
                    at = item
                    unknown = False
                check(item == at, f"{where}: CPU {cpu}: marker {item} stands where {at} should")
                at += 1
        check(at == n, f"{where}: CPU {cpu}: {at} of {n} markers are accounted for")
        if instance:
            counted = instance.overrun(cpu)
            check(lost == counted, f"{where}: CPU {cpu}: {lost} markers are missing, the kernel lost {counted}")
        lost_in_all += lost
    return lost_in_all
