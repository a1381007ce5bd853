# SPDX-License-Identifier: MIT
"""What the tracks of a timeline show, found by reading the lines of `strata report -f json` from the first to the last, and
by no code of Strata's: a second way to know it.

Where events contradict each other, or one is missing, nothing is stated. Times are ns since the begin of the trace."""

import bisect
import collections

Interval = collections.namedtuple("Interval", "begin end name state")

# prev_state of sched_switch: its lowest bits are the same in all kernels.
SLEEP_STATES = {0: "preempted", 1: "sleeping", 2: "uninterruptible"}
XEN_STATES = {"running": "running", "blocked": "sleeping", "offline": "offline"}


class Line:
    """Intervals of one thing, in order of time. What lies between them is known to be empty, but for DOUBTS."""

    def __init__(self):
        self.intervals, self.doubts = [], []
        self.begin = None  # known from there on

    def finish(self, losses):
        """Around LOSSES it is not known what ended, nor what was there up to the next begin."""
        self.intervals.sort()
        for since, until in losses:
            across = [one for one in self.intervals if one.begin <= until and one.end >= since]
            self.intervals = [one for one in self.intervals if one.begin > until or one.end < since]
            following = min((one.begin for one in self.intervals if one.begin > until), default=1 << 62)
            self.doubts.append((min([since, *(one.begin for one in across)]), max([following, *(one.end for one in across)])))
        self.doubts.sort()
        self.longest = max((one.end - one.begin for one in self.intervals), default=0)
        self.longest_doubt = max((end - begin for begin, end in self.doubts), default=0)

    def is_doubtful(self, begin, end):
        """Whether it is not known what is between two times."""
        if self.begin is None or begin < self.begin:
            return True
        i = bisect.bisect_left(self.doubts, (begin - self.longest_doubt,))
        return any(one[0] <= end and one[1] >= begin for one in self.doubts[i:bisect.bisect_right(self.doubts, (end + 1,))])

    def between(self, begin, end):
        """Those that touch a span, as many as there are."""
        i = bisect.bisect_left(self.intervals, (begin - self.longest,))
        return [one for one in self.intervals[i:bisect.bisect_right(self.intervals, (end + 1,))] if one.end >= begin]


class Naive:
    """By (layer, kind, number) a Line: kinds are cpu, cpu states, interrupts, thread states, vcpu, vcpu states, and the
    names of requests. `events` by (layer,) and (layer, cpu): times; `errors` by layer: (time, error)."""

    def __init__(self, lines, begin_ns, duration):
        self.lines = collections.defaultdict(Line)
        self.events = collections.defaultdict(list)
        self.errors = collections.defaultdict(list)
        self.losses = collections.defaultdict(list)
        self.duration = duration
        items = []
        for line in lines:
            time = line["time_ns"] - begin_ns
            if "event" not in line:
                since = line.get("since_ns", line["time_ns"]) - begin_ns
                self.losses[line["layer"]].append((since, time))
                self.losses[line["layer"], line.get("cpu")].append((since, time))
                continue
            items.append((time, line))
            self.events[line["layer"],].append(time)
            if "cpu" in line:
                self.events[line["layer"], line["cpu"]].append(time)
            self.errors[line["layer"]].append((time, line.get("error_ns", 0)))
        for layer in {line["layer"] for _, line in items}:
            part = [(time, line) for time, line in items if line["layer"] == layer]
            if layer == "hypervisor":
                self.read_xen(part)
            elif layer in ("guest", "host"):
                self.read_kernel(layer, part)
            self.read_requests(layer, part)
        for key, line in self.lines.items():
            if key[1].endswith(" states"):
                line.doubts.append((self.events[key[0],][-1], 1 << 62))  # its source is not recorded any longer
            line.finish(self.losses[key[0]])

    # ---- kernels ----

    def read_kernel(self, layer, items):
        cpus = collections.defaultdict(list)
        switched = any(line["event"] == "sched_switch" for _, line in items)
        for time, line in items:
            cpus[line["cpu"]].append((time, line))
        if not switched:
            return
        runs = collections.defaultdict(list)  # by pid: (begin, end, how it left)
        for cpu, part in cpus.items():
            self.read_cpu(layer, cpu, part, runs)
        for pid, spans in runs.items():
            if pid:
                self.read_thread(layer, pid, spans, items)

    def read_cpu(self, layer, cpu, items, runs):
        tasks, states = self.lines[layer, "cpu", cpu], self.lines[layer, "cpu states", cpu]
        interrupts = self.lines[layer, "interrupts", cpu]
        current = None  # time of the switch, pid, name
        handler = None
        bounds = []
        for time, line in items:
            fields, name = line["fields"], line["event"]
            if name == "sched_switch":
                if current:
                    self.end_task(tasks, states, current, time, fields["prev_pid"], bounds)
                    state = SLEEP_STATES.get(fields["prev_state"]) if fields["prev_pid"] == current[1] else None
                    runs[current[1]].append((current[0], time, state))
                    if fields["prev_pid"] != current[1]:
                        runs[fields["prev_pid"]].append((current[0], time, None))
                else:
                    tasks.begin = states.begin = time
                current = (time, fields["next_pid"], fields["next_comm"], set())
                bounds, handler = [], None
            elif name == "irq_handler_entry":
                handler = (time, fields)
                interrupts.begin = min(time, interrupts.begin if interrupts.begin is not None else time)
            elif name == "irq_handler_exit":
                if handler and handler[1]["irq"] == fields["irq"]:
                    interrupts.intervals.append(Interval(handler[0], time, "irq " + handler[1]["name"], None))
                    bounds.append((handler[0], time))
                else:
                    interrupts.doubts.append((handler[0] if handler else 0, time))
                handler = None
            if current and name != "sched_switch" and "pid" in line:
                current[3].add(line["pid"])
        if current:  # until when it ran is the end of the trace, or of what is known
            tasks.doubts.append((current[0], self.duration))
            states.doubts.append((current[0], self.duration))
            runs[current[1]].append((current[0], self.duration, None))
        if handler:
            interrupts.doubts.append((handler[0], self.duration))

    def end_task(self, tasks, states, current, time, left, bounds):
        begin, pid, name, seen = current
        if left != pid or seen - {pid}:
            tasks.doubts.append((begin, time))
            states.doubts.append((begin, time))
            return
        if pid:
            tasks.intervals.append(Interval(begin, time, name, None))
        at = begin
        for start, end in bounds:
            states.intervals.append(Interval(at, start, None, "running" if pid else "idle"))
            states.intervals.append(Interval(start, end, None, "interrupt"))
            at = end
        states.intervals.append(Interval(at, time, None, "running" if pid else "idle"))

    def read_thread(self, layer, pid, spans, items):
        line = self.lines[layer, "thread states", pid]
        spans.sort()
        line.begin = spans[0][0]
        woken = sorted(time for time, item in items if item["event"] in ("sched_waking", "sched_wakeup", "sched_wakeup_new")
                       and item["fields"]["pid"] == pid)
        for i, (begin, end, state) in enumerate(spans):
            following = spans[i + 1][0] if i + 1 < len(spans) else self.duration
            if end > following or state is None or i + 1 == len(spans):
                line.doubts.append((spans[i - 1][1] if i > 0 else 0, following))
                continue
            line.intervals.append(Interval(begin, end, None, "running"))
            early = woken[bisect.bisect_left(woken, begin):bisect.bisect_right(woken, end)]
            late = woken[bisect.bisect_right(woken, end):bisect.bisect_left(woken, following)]
            if early or (state == "preempted") == bool(late):
                line.doubts.append((end, following))  # woken while it runs, or twice; goes on without being woken
            elif state == "preempted":
                line.intervals.append(Interval(end, following, None, state))
            else:
                line.intervals += [Interval(end, late[0], None, state), Interval(late[0], following, None, "woken")]

    # ---- Xen ----

    def read_xen(self, items):
        current, inside, states = {}, {}, {}
        for time, item in items:
            name, fields, cpu = item["event"], item["fields"], item.get("cpu")
            if name == "switch_infnext":
                line = self.lines["hypervisor", "cpu", cpu]
                line.begin = time if line.begin is None else line.begin
                if cpu in current:
                    begin, domain, unit, left = current[cpu]
                    if left != (domain, unit):
                        line.doubts.append((begin, time))
                    elif domain != 32767:
                        line.intervals.append(Interval(begin, time, f"d{domain}v{unit}", None))
                current[cpu] = (time, fields["dom"], fields["unit"], None)
            elif name == "switch_infprev" and cpu in current:
                current[cpu] = *current[cpu][:3], (fields["dom"], fields["unit"])
            elif name in ("vmentry", "vmexit"):
                line = self.lines["hypervisor", "vcpu", item["vcpu"]]
                line.begin = time if line.begin is None else line.begin
                if item["vcpu"] in inside:
                    begin, was, called = inside[item["vcpu"]]
                    if was == name:
                        line.doubts.append((begin, time))
                    else:
                        line.intervals.append(Interval(begin, time, called, None))
                reason = item.get("names", fields).get("reason", fields.get("reason"))
                inside[item["vcpu"]] = (time, name, "guest" if name == "vmentry" else f"hypervisor: {reason}")
            elif "_to_" in name and "dom" in fields and fields["dom"] != 32767:
                self.change(states, f"d{fields['dom']}v{fields['vcpu']}", time, *name.split("_to_"))
        for cpu, (begin, *_) in current.items():
            self.lines["hypervisor", "cpu", cpu].doubts.append((begin, self.duration))
        for vcpu, (begin, *_) in inside.items():
            self.lines["hypervisor", "vcpu", vcpu].doubts.append((begin, self.duration))
        for vcpu, (begin, _, _) in states.items():
            self.lines["hypervisor", "vcpu states", vcpu].doubts.append((begin, self.duration))

    def change(self, states, vcpu, time, was, becomes):
        line = self.lines["hypervisor", "vcpu states", vcpu]
        if vcpu not in states:
            line.begin = time
        else:
            begin, state, shown = states[vcpu]
            if state == was:
                line.intervals.append(Interval(begin, time, None, shown))
            else:
                line.doubts.append((begin, time))
        waits = "preempted" if was == "running" else "woken"
        states[vcpu] = (time, becomes, XEN_STATES.get(becomes, waits))

    # ---- requests ----

    def read_requests(self, layer, items):
        """Requests that begin while their number is in use, or end without a begin, leave a doubt."""
        open_requests = {}
        for time, item in items:
            fields, name = item["fields"], item["event"]
            if name in ("block_rq_issue", "block_rq_complete"):
                kind, key, begins = "block", (fields["dev"], fields["sector"]), name == "block_rq_issue"
                called = "block " + fields["rwbs"]
            elif name in ("thread_pool_submit", "thread_pool_complete"):
                kind, key, begins = "thread_pool", fields["req"], name == "thread_pool_submit"
                called = "thread_pool"
            elif name in ("virtio_blk_handle_read", "virtio_blk_handle_write", "virtio_blk_rw_complete"):
                kind, key, begins = "virtio_blk", fields["req"], name != "virtio_blk_rw_complete"
                called = "read" if name.endswith("read") else "write"
            else:
                continue
            line = self.lines[layer, kind, None]
            line.begin = 0
            was = open_requests.pop((kind, key), None)
            if begins:
                if was:
                    line.doubts.append((was[0], time))
                open_requests[kind, key] = (time, called)
            elif was:
                line.intervals.append(Interval(was[0], time, was[1], None))
        for (kind, _), (begin, _) in open_requests.items():
            self.lines[layer, kind, None].doubts.append((begin, self.duration))

    # ---- tracks ----

    def is_covered(self, track):
        """Whether the thing of a track of states is there all the time."""
        if track["layer"] == "hypervisor":
            return track.get("vcpu") is not None
        return track.get("cpu") is not None and any(key[:2] == (track["layer"], "cpu states") for key in self.lines)

    def span_of(self, track):
        """The first event of its source, the last of its own, and that of its source."""
        times = self.events[track["layer"],]
        own = self.events.get((track["layer"], track.get("cpu")), times)
        return times[0], own[-1], times[-1]

    def line_of(self, track, parents):
        """The line of a track of slices or states, and whether others beside it share the line; None: it is not known."""
        layer, name = track["layer"], track["name"]
        states = track["kind"] == "states"
        if track.get("cpu") is not None and layer != "program":
            kind = "interrupts" if name.endswith(" interrupts") else "cpu states" if states else "cpu"
            found = (layer, kind, track["cpu"]), False
        elif layer == "hypervisor":
            vcpu = next((part.split()[-1] for part in (name, parents) if part.startswith("vCPU ")), None)
            found = (layer, "vcpu states" if states else "vcpu", vcpu), False
        elif states and track.get("pid") is not None:
            found = (layer, "thread states", track["pid"]), False
        else:
            found = (layer, name.rpartition(" ")[0], None), True
        return (self.lines[found[0]], found[1]) if found[0] in self.lines else None
