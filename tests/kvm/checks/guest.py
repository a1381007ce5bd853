#!/usr/bin/env python3
"""What tests/kvm/scenarios/guest.sh left: all three layers of a virtual machine on a real KVM, on one timeline.

    guest.py OUT BIN

The guest writes "out N" into its trace, a number to an I/O port, and "done N" into its trace. KVM traces the port, and the
exit and the entry around it. The pages are read by pages.py, and the guest's clock is converted by what debugfs showed of
KVM's offset, so this shares nothing with Strata but the host's clocks in trace.json."""

import bisect
import json
import os
import shutil
import subprocess
import sys

import pages

OUT, BIN = sys.argv[1:]
NUMBERS = 1000
SET = 500  # before this one, `vsock` sets its time stamp counter
PORT = 0x2ff
WAS_SET = "its time stamp counter was set: times around that are less exact"
BUF = 16  # the offset of the text of a `print` event
# What this script's own conversion may be wrong by: the host's clocks in trace.json were read one after the other.
OWN_ERROR_NS = 1000
# The clock of a copy of `port`: off by so much, within an error of so much, as message exchanges would leave it.
OFF_NS = 150_000
WIDE_NS = 400_000
# Between two readings of KVM's values, an event's stated error may be as large as that of the worse one, which is half of
# the time that the reading took, and what the clocks may drift since the nearer one. With a reading every 150 ms this
# makes less than 2 us; emulation makes readings, and the time between them, longer. Strata leaves out a reading whose
# neighbours give its time more exactly. The clocks then drift since a farther reading, but by less than the error of the
# reading that was left out. So twice the error of the worse reading is allowed.
WANDER_PPM = 20
ROUNDED_NS = 20
# A counter is set by more than that.
FAR_NS = 10**8


def read(name):
    with open(os.path.join(OUT, name), encoding="utf-8") as file:
        return file.read()


def strata(*args):
    done = subprocess.run([os.path.join(BIN, "strata"), *args], check=True, capture_output=True, text=True)
    told = [line for line in done.stderr.splitlines() if line != f"strata: {OUT}/vsock: guest: {WAS_SET}"]
    assert not told, told
    return done.stdout


def objects(*args):
    return [json.loads(line) for line in strata(*args).splitlines()]


class Recording:
    def __init__(self, name, vcpus):
        self.vcpus = vcpus
        self.path = os.path.join(OUT, name)
        self.sources = {source["name"]: source for source in json.loads(read(f"{name}/trace.json"))["sources"]}
        self.host = pages.events(os.path.join(self.path, "host"))
        self.guest = pages.events(os.path.join(self.path, f"guest-{self.name_of_guest()}"))
        self.info = {source["facts"]["source"]: source for source in objects("info", "-f", "json", self.path)
                     if "facts" in source and "source" in source["facts"]}

    def name_of_guest(self):
        return next(name for name, source in self.sources.items() if source["layer"] == "guest")

    def guest_info(self):
        return self.info[self.name_of_guest()]


def check_sources(recording, problems):
    """Three layers, whole, and as many events as their pages have. PROBLEMS: what the guest's source says."""
    layers = {source["layer"]: source for source in recording.sources.values()}
    assert sorted(layers) == ["guest", "host", "vmm"] and len(recording.sources) == 3, recording.sources
    for source in layers.values():
        assert source["complete"] and source["lost"] == 0, source
        assert source.get("problems", []) == (problems if source["layer"] == "guest" else []), source
    assert layers["guest"]["guest"]["kvm"], layers["guest"]
    assert layers["vmm"]["vmm"]["accelerator"] == "kvm", layers["vmm"]
    assert recording.info["host"]["events"] == len(recording.host) > 0, recording.info["host"]
    assert recording.guest_info()["events"] == len(recording.guest) > 0, recording.guest_info()


def vcpu_threads(recording):
    """The vCPUs by their threads: KVM has them in its events, QEMU in the threads' names, and both are the same."""
    by_name = {thread["id"]: thread["vcpu"] for thread in recording.sources["vmm"]["vmm"]["threads"] if "vcpu" in thread}
    named = {thread["id"]: thread["name"] for thread in recording.sources["vmm"]["vmm"]["threads"]}
    by_kvm = {}
    for event in recording.host:
        if event.name in ("kvm_entry", "kvm_exit"):
            by_kvm.setdefault(event.fields["common_pid"], set()).add(event.fields["vcpu_id"])
    assert {pid: {vcpu} for pid, vcpu in by_name.items()} == by_kvm, (by_name, by_kvm)
    assert sorted(by_name.values()) == list(range(recording.vcpus)), by_name
    assert all(named[pid] == f"CPU {vcpu}/KVM" for pid, vcpu in by_name.items()), named
    # What Strata attributes.
    for item in objects("report", "-f", "json", "-e", "kvm_entry,kvm_exit", recording.path):
        assert item["vcpu"] == item["fields"]["vcpu_id"] == by_name[item["pid"]], item
    return by_name


class Write:
    """A write to the port: the exit before it, and the entry after it."""

    def __init__(self, exit_ns, value):
        self.exit_ns, self.value, self.entry_ns = exit_ns, value, None


def writes(recording, thread):
    found, exit_ns, open_write = [], None, None
    for event in recording.host:
        if event.fields["common_pid"] != thread:
            continue
        if event.name == "kvm_exit":
            exit_ns = event.time
        elif event.name == "kvm_pio" and event.fields["port"] == PORT and event.fields["rw"] == 1:
            open_write = Write(exit_ns, event.fields["val"])
            found.append(open_write)
        elif event.name == "kvm_entry" and open_write:
            open_write.entry_ns = event.time
            open_write = None
    return found


def marks(recording):
    """By what and number: CPU and ticks."""
    found = {"out": {}, "done": {}}
    for event in recording.guest:
        if event.name == "print":
            what, number = pages.text_at(event, BUF).split()[:2]
            found[what][int(number)] = event
    assert all(sorted(numbers) == list(range(NUMBERS)) for numbers in found.values()), {
        what: len(numbers) for what, numbers in found.items()}
    return found


def shown_times(recording):
    """What Strata makes of them: (time, error) in ns of the host, by (what, number)."""
    found = {}
    for item in objects("report", "-f", "json", "-e", "print", recording.path):
        if item["layer"] == "guest":
            what, number = item["fields"]["buf"].split()[:2]
            found[what, int(number)] = item["time_ns"], item["error_ns"]
    return found


def converter(recording, offset):
    """From ticks of the guest's TSC to the host's clock: by KVM's offset, and by the host's clocks at begin and end."""
    begin, end = recording.sources["host"]["began"], recording.sources["host"]["ended"]
    ns, ticks = end["monotonic_ns"] - begin["monotonic_ns"], end["tsc"] - begin["tsc"]
    return lambda guest: begin["monotonic_ns"] + (guest - offset - begin["tsc"]) * ns // ticks


def largest_error(pairs, ticks):
    """What the error of a time may be, by the readings (ns, ticks, error) around it."""
    after = min(max(bisect.bisect(pairs, ticks, key=lambda pair: pair[1]), 1), len(pairs) - 1)
    (before_ns, before, error), (after_ns, later, other) = pairs[after - 1:after + 1]
    ns = before_ns + (ticks - before) * (after_ns - before_ns) // (later - before)
    return 2 * max(error, other) + min(abs(ns - before_ns), abs(after_ns - ns)) * WANDER_PPM // 10**6 + ROUNDED_NS


def check_marks(recording, threads, offset_of):
    """Each mark lies on its side of the port's exit and entry, within the stated error. OFFSET_OF a mark is KVM's. Returns how
    far exits and entries let the clock be moved."""
    with open(os.path.join(recording.path, f"guest-{recording.name_of_guest()}", "clock-pairs"), encoding="ascii") as file:
        pairs = [tuple(map(int, line.split())) for line in file if not line.startswith("#")]
    wide = []  # the readings before marks with a larger error than these give
    marked, shown = marks(recording), shown_times(recording)
    per_vcpu = NUMBERS // recording.vcpus
    before, after, wrong, errors = [], [], [], []
    for thread, vcpu in threads.items():
        # The kernel looked for serial ports there before.
        found = writes(recording, thread)[-per_vcpu:]
        assert len(found) == per_vcpu, (vcpu, len(found))
        for n, write in enumerate(found, vcpu * per_vcpu):
            assert write.value == n & 0xff, (n, write.value)
            to_host = converter(recording, offset_of(n))
            (out_ns, out_error), (done_ns, done_error) = shown["out", n], shown["done", n]
            assert marked["out"][n].cpu == marked["done"][n].cpu == vcpu, n
            assert out_ns - out_error <= write.exit_ns, (
                f"mark {n}: {out_ns} within {out_error}, but its exit is at {write.exit_ns}")
            assert done_ns + done_error >= write.entry_ns, (
                f"mark {n}: {done_ns} within {done_error}, but its entry is at {write.entry_ns}")
            before.append(write.exit_ns - out_ns)
            after.append(done_ns - write.entry_ns)
            for what, (time, error) in ("out", shown["out", n]), ("done", shown["done", n]):
                errors.append(error)
                if error > largest_error(pairs, marked[what][n].time):
                    wide.append(bisect.bisect(pairs, marked[what][n].time, key=lambda pair: pair[1]) - 1)
                wrong.append(abs(time - to_host(marked[what][n].time)))
                assert wrong[-1] <= error + OWN_ERROR_NS, (what, n, time, error, wrong[-1])
    errors.sort()
    print(f"{len(wide)} marks with a larger error than the readings around them give, of {len(pairs)} readings within"
          f" {min(pair[2] for pair in pairs) / 1e3:.2f} to {max(pair[2] for pair in pairs) / 1e3:.2f} us")
    # Between the readings around the moment at which the counter is set, times are less exact, however many marks that are. KVM's
    # first offset says which readings came before. The next mark may come many readings later.
    if len({offset_of(n) for n in range(NUMBERS)}) > 1:
        to_host = converter(recording, offset_of(0))
        was_set = sum(abs(to_host(ticks) - ns) < FAR_NS for ns, ticks, _ in pairs) - 1
        assert 0 <= was_set < len(pairs) - 1, (was_set, len(pairs))
        assert all(abs(reading - was_set) <= 1 for reading in wide), (was_set, sorted(set(wide)))
    else:
        assert not wide, sorted(set(wide))
    print(f"{os.path.basename(recording.path)}: {NUMBERS} marks are where they belong; stated error {errors[0] / 1e3:.2f} to"
          f" {errors[-1] / 1e3:.2f} us, half below {errors[NUMBERS] / 1e3:.2f}; the real one is between"
          f" {-min(after) / 1e3:.2f} and {min(before) / 1e3:.2f} us by KVM's entries and exits, and {max(wrong) / 1e3:.2f} us"
          " at most by the offset in debugfs")
    return min(before) + min(after)


def softirqs(recording, to_host):
    """When handlers began that ended, in order: host's ns."""
    found, begun = [], {}
    for event in recording.guest:
        if event.name == "softirq_entry":
            begun[event.cpu, event.fields["vec"]] = event.time
        elif event.name == "softirq_exit":
            begin = begun.pop((event.cpu, event.fields["vec"]), None)
            if begin is not None:
                found.append(to_host(begin))
    return sorted(found)


def check_tightened(recording, offset, play_ns):
    """With the clock that message exchanges would give, vCPUs' exits and entries tighten it: to less, and rightly. The marks
    alone leave PLAY_NS, which is how long the emulated host takes from an event of its guest to the exit and back."""
    path = os.path.join(OUT, "wide")
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(recording.path, path)
    pairs, last = [], -10**9
    with open(os.path.join(path, "guest-guest", "clock-pairs"), encoding="ascii") as file:
        for line in file:
            host, guest, _ = map(int, line.split())
            if host - last > 10**9:
                pairs.append(f"{host + OFF_NS} {guest} {WIDE_NS}\n")
                last = host
    with open(os.path.join(path, "guest-guest", "clock-pairs"), "w", encoding="ascii") as file:
        file.writelines(pairs)
    # This is not the file that the recorder wrote: its length is not that which is stated.
    with open(os.path.join(path, "trace.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    for source in manifest["sources"]:
        source.get("files", {}).pop("guest-guest/clock-pairs", None)
    with open(os.path.join(path, "trace.json"), "w", encoding="utf-8") as file:
        json.dump(manifest, file)
    causal = next(source["causal"] for source in objects("info", "-f", "json", path) if "causal" in source)
    assert causal["violations"] == 0 and causal["stated_ns"] >= WIDE_NS, causal
    assert causal["error_ns"] < max(causal["stated_ns"] // 4, 2 * play_ns), (causal, play_ns)
    own = softirqs(recording, converter(recording, offset))
    shown = sorted(span["begin_ns"] for span in objects("irq", "--events", "-f", "json", "--layer", "guest", path)
                   if span["key"]["kind"] == "softirq")
    assert len(own) == len(shown) > 0, (len(own), len(shown))
    wrong = max(abs(a - b) for a, b in zip(own, shown))
    assert wrong <= causal["error_ns"] + OWN_ERROR_NS, (wrong, causal)
    shutil.rmtree(path)
    print(f"a clock within {causal['stated_ns'] / 1e3:.0f} us, off by {OFF_NS / 1e3:.0f}: {causal['pairs']} exits, entries and events"
          f" tighten it to {causal['error_ns'] / 1e3:.2f} us, really {wrong / 1e3:.2f} at most")


def check_verbs(recording):
    """Each verb has rows of its layers, and prints no warning."""
    def rows(verb, *options):
        return json.loads(strata(verb, "-f", "json", *options, recording.path))["rows"]

    layers = {row["key"].get("layer") for row in rows("sched")}
    assert {"guest", "host"} <= layers, layers
    vcpus = [row["key"]["vcpu"] for row in rows("sched", "--by", "vcpu")]
    assert len(vcpus) == recording.vcpus, vcpus
    exits = {row["key"]["reason"]: row["n"] for row in rows("exits")}
    assert exits["io"] >= NUMBERS and exits["hlt"] > 0, exits
    details = {row["key"]["detail"]: row["n"] for row in rows("exits", "--by", "detail")}
    assert details[f"port {PORT:#x} write"] >= NUMBERS, details
    for row in rows("irq"):
        assert row["key"]["name"] != "*", row
    assert rows("io"), "no requests to disks"
    assert strata("summary", recording.path).startswith(("What stands out:\n- ", "What the trace shows:\n- "))


def main():
    assert "FAILED" not in read("serial.log"), read("serial.log")
    for name in "port", "vsock":
        assert read(f"{name}.status").strip() == "0", read(f"{name}.log")
    # Its CID is taken: QEMU says so, and that it ended is reported.
    assert read("taken.status").strip() == "1", read("taken.log")
    for line in "unable to set guest cid: Address already in use", "QEMU ended with status 1":
        assert line in read("taken.log"), read("taken.log")
    offsets = {name: {int(line) for line in read(f"{name}.offsets").split()} for name in ("port", "vsock", "vsock-set")}
    assert all(len(each) == 1 for each in offsets.values()), offsets
    offsets = {name: each.pop() for name, each in offsets.items()}
    assert offsets["vsock-set"] - offsets["vsock"] > 10**9, offsets

    recording = Recording("port", 2)
    check_sources(recording, [])
    play_ns = check_marks(recording, vcpu_threads(recording), lambda n: offsets["port"])
    check_tightened(recording, offsets["port"], play_ns)
    check_verbs(recording)

    recording = Recording("vsock", 1)
    check_sources(recording, [WAS_SET])
    check_marks(recording, vcpu_threads(recording), lambda n: offsets["vsock" if n < SET else "vsock-set"])


main()
