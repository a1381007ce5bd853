"""What really happened in a recording, as the checks ask for it."""

from bisect import bisect_right
from functools import cached_property

from recording import BASE


class Difference(Exception):
    """What Strata says is not true."""


def overlap(states, begin, end, names, until):
    """How much of BEGIN..END was in states of these NAMES."""
    total = 0
    for state in states[max(0, bisect_right(states, begin, key=lambda s: s.begin) - 1):]:
        if state.begin >= end:
            break
        if state.state in names:
            total += max(0, min(end, state.end if state.end is not None else until) - max(begin, state.begin))
    return total


class Truth:
    def __init__(self, source):
        self.source, self.kernel = source, source.kernel
        self.until = source.end
        self.visible = source.events()
        self.first, self.last = self.visible[0].time, self.visible[-1].time
        self.window = self.last - self.first  # the most that it can have been recorded
        self.times = [e.time for e in self.kernel.events]
        self.raises = {e.time for e in self.visible if e.name == "softirq_raise"}
        self.threads = {t.pid: t for t in self.kernel.threads}
        self.spans = {(s.kind, s.begin): s for s in self.kernel.spans}

    def state_at(self, states, time):
        """The one that began at TIME or before, and goes on after it."""
        i = bisect_right(states, time, key=lambda s: s.begin) - 1
        return states[i] if i >= 0 and (states[i].end is None or states[i].end > time) else None

    @cached_property
    def names(self):
        """What the trace calls its threads: {pid: set of names}."""
        names = {}
        for event in self.visible:
            for prefix in ("", "prev_", "next_") if event.name.startswith("sched_") else ():
                if f"{prefix}comm" in event.values:
                    names.setdefault(event.values[f"{prefix}pid"], set()).add(event.values[f"{prefix}comm"])
        return names

    def time(self, ns):
        """The time of the event that is printed with NS, when the source is shown alone, by its own clock."""
        hz, offset = self.source.hz, self.source.offset
        about = (ns * hz // 10**9 - offset) * 10**9 // hz - BASE
        i = bisect_right(self.times, about + 2) - 1
        return self.times[i] if i >= 0 and abs(self.times[i] - about) <= 2 else about

    def count(self, *names):
        return sum(e.name in names for e in self.visible)

    # Where nothing is missing: up to the first gap, and from where the last one ended.
    def is_near_gap(self, begin, end, cpu=None):
        """Whether a part of the trace, or of CPU, is missing in BEGIN..END."""
        late = [pages[0].events[0].time for c, pages in enumerate(self.source.cpus) if pages and cpu in (None, c)]
        if (self.source.facts.get("released") or self.source.facts.get("begins_apart")) and any(begin <= time for time in late):
            return True
        # A file that is shorter than the recorder wrote may lack its beginning.
        if any(self.source.cut_bytes[c] and pages and begin <= pages[0].events[0].time for c, pages in enumerate(self.source.cpus)
               if cpu in (None, c)):
            return True
        return any((g.until is None or g.until >= begin) and (g.since is None or g.since <= end) for g in self.source.gaps
                   if cpu in (None, g.cpu))


    def begins_in_interrupt(self, cpu, begin, end):
        """How long CPU handled an interrupt in BEGIN..END whose begin is not in the trace."""
        total = 0
        starts = [pages[0].events[0].time for pages in [self.source.cpus[cpu]] if pages]
        starts += [g.until for g in self.source.gaps if g.cpu == cpu and g.until]
        for start in starts:
            state = self.state_at(self.kernel.cpus[cpu], start)
            if state and state.state == "interrupt" and state.begin < start:
                total += max(0, min(end, self.until if state.end is None else state.end) - max(begin, start))
        return total

