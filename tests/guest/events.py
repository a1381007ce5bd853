"""Events as the guest shows them, as `strata report` shows them, and their comparison."""

import collections
import re
import subprocess

from machine import expect

# The time in the clock's smallest unit that the guest shows: microseconds, or ticks.
Event = collections.namedtuple("Event", "time cpu task name text")
Loss = collections.namedtuple("Loss", "cpu count")

GUEST = re.compile(r"^ *(.+)-(\d+) +\[(\d+)\] \S+ +([0-9.]+): (\w+):? ?(.*)$")
REPORT = re.compile(r"^([0-9.]+) \[(\d+|---)\] +(\S.*?) (\S+): ?(.*)$")


def number(time):
    """The digits of TIME, microseconds if it has a fraction."""
    if "." not in time:
        return int(time)
    whole, fraction = time.split(".")
    # The kernel rounds to microseconds.
    return (int(whole) * 10**9 + int(fraction.ljust(9, "0")) + 500) // 1000


def of_guest(text):
    """The events in a `trace` file of tracefs, in their order."""
    events = []
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        match = GUEST.match(line)
        expect(match, "no line of a trace file:", line)
        task, pid, cpu, time, name, rest = match.groups()
        # What is written into trace_marker is shown under the name of the function that took it.
        if name == "tracing_mark_write":
            name, rest = "print", f"{name}: {rest}"
        # So it shows a task whose name it does not know.
        task = f"{task}-{pid}" if task != "<...>" else pid
        events.append(Event(number(time), int(cpu), task, name, rest.strip()))
    return events


def of_report(lines):
    """What `strata report` printed, in its order."""
    items = []
    for line in lines:
        match = REPORT.match(line)
        expect(match, "no line of a report:", line)
        time, cpu, task, name, rest = match.groups()
        if name == "LOST":
            count = re.match(r"(\d+)", rest)
            items.append(Loss(int(cpu) if cpu != "---" else None, int(count.group(1)) if count else None))
        else:
            items.append(Event(number(time), int(cpu), task, name, rest.strip()))
    return items


def report(strata, *arguments):
    done = subprocess.run([strata, "report", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          text=True, errors="surrogateescape")
    expect(done.returncode == 0, "strata report:", done.stderr)
    return of_report(done.stdout.splitlines())


def same(expected, got):
    """Both are the same events in the same order."""
    for n, (want, have) in enumerate(zip(expected, got)):
        expect(is_same(want, have), f"event {n} of {len(expected)} is\n  {have}, expected\n  {want}")
    expect(len(expected) == len(got), f"{len(got)} events, expected {len(expected)}; the first without partner is",
           (expected[len(got):] + got[len(expected):] + [None])[0])


def what(event):
    """All but the time, which differs where two buffers hold the same event."""
    return event._replace(time=None)


def is_same(known, event):
    """Whether EVENT is KNOWN, of the guest's own trace, in which a task whose name the guest has forgotten is a number."""
    if isinstance(known, Event) and known.task.isdigit():
        event = event._replace(task=event.task.rsplit("-", 1)[-1])
    return known == event


def subsequence_with_losses(oracle, items, cpu):
    """From the first new process on, the items of CPU are its events in ORACLE, but for the losses, each exactly
    as long as it says. Returns the number of events and of lost ones."""
    oracle = [event for event in oracle if event.cpu == cpu]
    items = [item for item in items if item.cpu == cpu]
    # That is an event as there is no second one.
    while items and (isinstance(items[0], Loss) or items[0].name != "sched_process_fork"):
        del items[0]
    seen = lost = 0
    at = None
    for item in items:
        if isinstance(item, Loss):
            expect(item.count is not None, f"CPU {cpu}: a loss without a number")
            lost += item.count
            at += item.count
            continue
        if at is None:
            at = next((n for n, event in enumerate(oracle) if is_same(what(event), what(item))), None)
            expect(at is not None, f"CPU {cpu}: the guest never had", item)
        expect(at < len(oracle), f"CPU {cpu}: after the guest's last event, {seen} seen, {lost} lost:", item)
        expect(is_same(what(oracle[at]), what(item)), f"CPU {cpu}: after {seen} events and {lost} lost ones comes\n  {item},"
               f" expected\n  {oracle[at]}")
        at += 1
        seen += 1
    return seen, lost


def numbered(items, cpu, name, count, on_the_way=False):
    """The lines `tool marks CPU COUNT ... NAME` are in ITEMS in their order, and as many as are not there are
    counted as lost, exactly where they are missing. Returns the number of lost ones. ON_THE_WAY: where pages were
    lost between guest and host, there is a loss of an unknown number of events."""
    next_number = lost = 0
    is_known = True
    for item in items:
        if item.cpu != cpu:
            continue
        if isinstance(item, Loss):
            expect(item.count is not None or on_the_way, f"CPU {cpu}: a loss without a number")
            is_known = is_known and item.count is not None
            lost += item.count or 0
            next_number += item.count or 0
            continue
        # In front stands who wrote it, as a name or an address.
        words = item.text.split()
        if item.name != "print" or words[1] != name:
            continue
        got = int(words[2])
        if not is_known and got >= next_number:
            lost += got - next_number
            next_number = got
            is_known = True
        expect(got == next_number, f"CPU {cpu}: after {lost} lost ones comes number {got}, expected {next_number}")
        next_number += 1
    expect(next_number == count, f"CPU {cpu}: {count} were written, but {next_number - lost} came and {lost} were lost")
    return lost
