"""What strata says of a trace, and comparisons of that with others. Each raises ValueError at the
first thing that differs; Events are as strata report --format json shows them."""
import collections
import json
import os
import re
import subprocess

import stream

Event = collections.namedtuple("Event", "cpu time vcpu group name fields text")


class Strata:
    def __init__(self, bin):
        self.command = os.path.join(bin, "strata")

    def run(self, *arguments, status=0, errors=False):
        done = subprocess.run(
            [self.command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        if done.returncode != status:
            raise ValueError(
                f"strata {' '.join(arguments)}: status {done.returncode}, not {status}: {done.stderr}"
            )
        return done.stderr if errors else done.stdout

    def report(self, path, *options):
        """Its events and its losses, each in their order. Times: ticks, or nanoseconds where strata
        knows the clock's rate."""
        events = []
        losses = []
        texts = self.run("report", *options, path).splitlines()
        items = self.run("report", "--format", "json", *options, path).splitlines()
        if len(texts) != len(items):
            raise ValueError(f"{path}: {len(texts)} lines of text, {len(items)} of JSON")
        for line, text in zip(items, texts):
            item = json.loads(line)
            if "event" not in item:
                losses.append(item)
                continue
            time = item.get("time_ns", item.get("ticks"))
            name = item["event"]
            text = text[text.index(f" {name}:") + 1 :]
            events.append(
                Event(item["cpu"], time, item.get("vcpu"), item["group"], name, item["fields"], text)
            )
        return events, losses

    def stat(self, path, *options):
        return json.loads(self.run("stat", "--format", "json", *options, path))


def same_vcpu(ours, theirs):
    """Names of vCPUs: that of an idle domain, 32767, is ours alone."""
    return ours.replace("idlev", "d32767v") == theirs


def with_stream(events, losses, stream_, hz=None):
    """Every record of the stream is an event: cpu, time, class, in this order; one name for each
    number. Returns these names."""
    records = stream_.records()
    if len(events) != len(records):
        raise ValueError(f"{stream_.path}: {len(records)} records, but {len(events)} events")
    names = {}
    for i, (event, record) in enumerate(zip(events, records)):
        time = record.time
        if hz is not None and time is not None:
            time = time * 1000000000 // hz
            close = event.time is not None and abs(event.time - time) <= 1
        else:
            close = time is None or event.time == time
        group = stream.CLASSES[record.event >> 16]
        if event.cpu != record.cpu or not close or event.group != group:
            raise ValueError(f"{stream_.path}: event {i} is {event}, but the record {record}, time {time}")
        if names.setdefault(record.event, event.name) != event.name:
            raise ValueError(f"{record.event:#x} is {names[record.event]}, and then {event.name}")
    ours = [(loss["cpu"], loss["lost"], loss.get("since_ticks")) for loss in losses if loss["cause"] == "dropped"]
    theirs = [(loss.cpu, loss.count, loss.first) for loss in stream_.losses]
    if hz is not None:
        ours = [loss[:2] for loss in ours]
        theirs = [loss[:2] for loss in theirs]
    if sorted(ours) != sorted(theirs) or len(ours) != len(losses):
        raise ValueError(f"{stream_.path}: lost were {theirs}, not {losses}")
    return names


RUNSTATE = re.compile(r"runstate_change d(\d+)v(\d+) (\w+)->(\w+)")
HYPERCALL = re.compile(r"hypercall +([0-9a-f]+) \((\w+)\)")
# Names that xenalyze kept and Xen's headers gave up.
TODAY = {"acm_op": "xsm_op", "evtchn_op": "event_channel_op"}
PORT = re.compile(r"io (read|write) port ([0-9a-f]+) val ([0-9a-f]+)")
EXIT = re.compile(r"vmexit exit_reason (\w+) eip ([0-9a-f]+)")


def with_peer(events, stream_, lines, named=False):
    """The same records in the same order as xenalyze has them, at the same times; the same vCPU wherever
    both know it; and the same said of those that xenalyze explains. Returns how many of each kind were
    compared. NAMED: the reasons of exits are known by name, as the processor's vendor is. What happened on several cpus in the same tick may come in any order."""
    records = stream_.records()
    lines = [line for line in lines if line.event >> 12 != 0x1F]
    if not len(lines) == len(records) == len(events):
        raise ValueError(f"{len(lines)} lines of xenalyze, {len(records)} records, {len(events)} events")
    waiting = collections.defaultdict(collections.deque)
    for event, record in zip(events, records):
        waiting[record.cpu].append((event, record))
    compared = collections.Counter()
    cpu = None
    for i, line in enumerate(lines):

        def differs(what):
            raise ValueError(f"{stream_.path}: {what} of line {i}: {line}\n  {record}\n  {event}")

        # A line that does not say its cpu: its record is the next one of some cpu, of the same as
        # before if it has no time of its own.
        if line.cpu is not None:
            cpus = [line.cpu]
        else:
            cpus = ([cpu] if line.tsc is None else []) + sorted(waiting)
        for cpu in cpus:
            event, record = waiting[cpu][0] if waiting[cpu] else (None, None)
            if record and (line.event, line.tsc, line.words) == (record.event, record.tsc, record.words):
                waiting[cpu].popleft()
                break
        else:
            differs("record")
        if record.time != records[i].time:
            differs("order")
        if line.vcpu is not None and event.vcpu is not None:
            compared["vcpu"] += 1
            if not same_vcpu(event.vcpu, line.vcpu):
                differs("vCPU")
        text = line.text or ""
        fields = event.fields
        if match := RUNSTATE.match(text):
            compared["runstate"] += 1
            dom, vcpu, old, new = match.groups()
            if event.name != f"{old}_to_{new}" or (fields["dom"], fields["vcpu"]) != (int(dom), int(vcpu)):
                differs("run state")
        elif match := HYPERCALL.match(text):
            compared["hypercall"] += 1
            op, name = match.groups()
            name = TODAY.get(name, name)
            # xenalyze knows no name of the newer ones.
            if fields["op"] != int(op, 16) or (name != "unknown" and event.text.split()[1] != f"op={name}"):
                differs("hypercall")
        elif match := PORT.match(text):
            compared["port"] += 1
            how, port, value = match.groups()
            if event.name != f"ioport_{how}" or (fields["port"], fields["data"]) != (int(port, 16), int(value, 16)):
                differs("port")
        elif match := EXIT.match(text):
            compared["vmexit"] += 1
            # xenalyze shows the number of a reason that it has no name for.
            named_so = f"reason={match[1][7:].lower()} " if match[1].startswith("VMEXIT_") else None
            if event.name != "vmexit" or fields["rip"] != int(match[2], 16):
                differs("exit")
            if named and (named_so not in event.text if named_so else int(match[1], 16) != record.words[0]):
                differs("exit's reason")
    return compared


def stat_classes(stat):
    counts = collections.Counter()
    for row in stat["rows"]:
        counts[row["group"]] += row["count"]
    return counts
