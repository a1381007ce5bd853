"""What a recorder wrote of a made machine, and what is missing of it: plants, and what each leaves in the trace."""

import os

import kernel_files

BASE = 5 * 10**12  # of the host's clock, at the machine's time 0
REALTIME = 1795246302879548000
FAR = [sign * length for sign in (-1, 1) for length in (60 * 10**9, 4000 * 10**9)] + [10 * 365 * 86400 * 10**9]  # of times that are damaged
BOOT_ID = "6f1c2d5e-0b5c-4a53-9a5e-1d3a1f0c2b4d"


class Gap:
    """Events of a CPU that are missing from `since`, its last event before, to `until`, the next one. None: without an
    end, or a begin."""

    def __init__(self, cpu, since, until):
        self.cpu, self.since, self.until = cpu, since, until

    def __repr__(self):
        return f"CPU {self.cpu} {self.since}..{self.until}"


class Source:
    """A kernel as it was recorded from `begin` to `end`."""
    names = {}  # how the recorder calls events, where that is not as the kernel does

    def __init__(self, kernel, begin, end, hz=10**9, offset=0, error_ns=0):
        self.kernel, self.begin, self.end = kernel, begin, end
        self.hz, self.offset, self.error_ns = hz, offset, error_ns
        self.lie = 0  # by how much the host's times of its clock are wrong, beside their error
        self.off = (0, 0)  # the same of each of the two pairs of clocks, within their error
        self.given_hz = hz  # what its kernel takes its rate for
        self.tsc_hz = 0  # of the host, whose counter was read when the recording began and when it ended; 0: it was not
        self.gaps = []
        self.lost = 0  # by the recorder's count
        self.facts = {}
        self.sizes = {}
        self.stray = {}  # damaged times of events, and what they were
        self.cpus = self.make_pages()
        self.is_missing = [False] * kernel.n_cpus
        self.is_stated = True  # the manifest has the lengths of its files
        self.cut_bytes = [0] * kernel.n_cpus

    def ticks(self, time):
        return (BASE + time) * self.hz // 10**9 + self.offset

    def events(self):
        """Those that are in the trace."""
        return sorted(e for cpu, pages in enumerate(self.cpus) if not self.is_missing[cpu] for page in pages
                      for e in page.events if (cpu, e.time) not in self.stray)

    def drop(self, name):
        """Events of this name were not recorded."""
        self.kernel.events = [e for e in self.kernel.events if e.name != name]
        self.cpus = self.make_pages()

    def wake_late(self, rng, has_waking):
        """Wake-ups were switched on later than switches."""
        since = rng.choice([e.time for e in self.kernel.events if e.name == ("sched_waking" if has_waking else "sched_wakeup") and
                            self.begin <= e.time < (self.begin + self.end) // 2] or [self.begin])
        self.kernel.events = [e for e in self.kernel.events
                              if e.time >= since or e.name not in ("sched_waking", "sched_wakeup", "sched_wakeup_new")]
        self.cpus = self.make_pages()
        self.gaps += [Gap(cpu, None, since) for cpu in range(self.kernel.n_cpus)]

    def make_pages(self):
        return [self.pages_of([e for e in self.kernel.events if e.cpu == cpu and self.begin <= e.time < self.end])
                for cpu in range(self.kernel.n_cpus)]

    def pages_of(self, events):
        """Of one CPU: what a recorder loses or keeps as a whole."""
        return kernel_files.pages_of(events, self.ticks)

    # ---- plants ----

    def remove_cpu(self, cpu):
        """Its file is not copied."""
        if self.cpus[cpu] and sum(1 for c, pages in enumerate(self.cpus) if pages and not self.is_missing[c]) > 1:
            self.is_missing[cpu] = True
            self.gaps.append(Gap(cpu, None, None))

    def cut_cpu(self, cpu, n_pages):
        """N pages at its end are not copied."""
        pages = self.cpus[cpu]
        if 0 < n_pages < len(pages) and not self.is_missing[cpu]:
            del pages[-n_pages:]
            self.cut_bytes[cpu] = n_pages * kernel_files.PAGE
            self.gaps.append(Gap(cpu, pages[-1].events[-1].time, None))

    def lose(self, cpu, first, n_pages, is_counted):
        """The kernel overwrites N pages before they are read."""
        pages = self.cpus[cpu]
        if first < 1 or n_pages < 1 or first + n_pages >= len(pages):
            return
        n = sum(len(page.events) for page in pages[first:first + n_pages])
        del pages[first:first + n_pages]
        pages[first].missed = n if is_counted else 0
        if len(pages[first].data) + 8 > kernel_files.PAGE - kernel_files.HEADER:
            pages[first].missed = 0
        self.lost += n
        self.gaps.append(Gap(cpu, pages[first - 1].events[-1].time, pages[first].events[0].time))

    def damage_end(self, rng):
        """The time of the first page or the last one of a CPU is."""
        cpu = rng.randrange(self.kernel.n_cpus)
        pages = self.cpus[cpu]
        if len(pages) < 2 or self.is_missing[cpu] or self.stray:
            return None
        i = rng.choice([0, -1])
        pages[i].late_by = rng.choice(FAR)
        self.stray.update(((cpu, event.time), event.time) for event in pages[i].events)
        self.gaps.append(Gap(cpu, pages[-2].events[-1].time, None) if i else Gap(cpu, None, pages[1].events[0].time))
        return "last" if i else "first"

    def damage_time(self, rng):
        """The time of a page is far from where it belongs."""
        cpu = rng.randrange(self.kernel.n_cpus)
        pages = self.cpus[cpu]
        if len(pages) < 3:
            return
        i = rng.randrange(1, len(pages) - 1)
        pages[i].late_by = rng.choice(FAR)
        self.stray.update(((cpu, event.time), event.time) for event in pages[i].events)
        self.gaps.append(Gap(cpu, pages[i - 1].events[-1].time, pages[i + 1].events[0].time))

    def damage_event(self, rng):
        """That of an event is."""
        cpu = rng.randrange(self.kernel.n_cpus)
        pages = [page for page in self.cpus[cpu] if len(page.events) > 2]
        if not pages:
            return None
        page = rng.choice(pages)
        i = rng.randrange(1, len(page.events) - 1)
        before, event, after = page.events[i - 1:i + 2]
        page.events[i] = event._replace(time=event.time + rng.choice(FAR))
        self.stray[cpu, page.events[i].time] = event.time
        self.gaps.append(Gap(cpu, before.time, after.time))
        return page

    def state_no_files(self):
        """An older recorder wrote it. If a CPU ends a fiftieth of the time before another, it may be cut."""
        ends = [pages[-1].events[-1].time for pages in self.cpus if pages]
        all_of_it = max(ends) - min(pages[0].events[0].time for pages in self.cpus if pages)
        is_apart = max(ends) - min(ends) >= all_of_it // 50 + 1
        if any(self.is_missing) or (any(self.cut_bytes) and not is_apart):
            return
        self.is_stated = False
        self.gaps += [Gap(cpu, pages[-1].events[-1].time, None) for cpu, pages in enumerate(self.cpus) if pages and is_apart]

    def begin_late(self, cpu, n_pages):
        """The first pages of a CPU were released, as by a recorder that keeps the last ones."""
        if 0 < n_pages < len(self.cpus[cpu]):
            self.facts.setdefault("released", {})[cpu] = n_pages
            del self.cpus[cpu][:n_pages]

    # ---- files ----

    def write(self, path):
        """Returns the source in the manifest."""
        name = self.kernel.name
        clock = "x86-tsc" if self.kernel.is_guest else "mono"
        directory = f"{path}/{name}"
        files = {}
        kernel_files.write_formats(directory, clock)
        released = self.facts.get("released", {})
        for cpu, pages in enumerate(self.cpus):
            hole = released.get(cpu, 0) * kernel_files.PAGE
            files[f"{name}/cpu{cpu}.raw"] = hole + len(pages) * kernel_files.PAGE + self.cut_bytes[cpu]
            if not self.is_missing[cpu]:
                with open(f"{directory}/cpu{cpu}.raw", "wb") as file:
                    file.seek(hole)
                    file.write(b"".join(page.bytes(self.ticks) for page in pages))
        source = {"name": name, "kind": "ftrace", "layer": name, "path": name, "lost": self.lost, "complete": True,
                  "host": {"boot_id": BOOT_ID, "name": "made"},
                  "guest": {"release": "6.1.0", "machine": "x86_64", "boot_id": BOOT_ID[::-1] if self.kernel.is_guest else BOOT_ID},
                  "began": {"realtime_ns": REALTIME, "monotonic_ns": BASE + self.begin},
                  "ended": {"realtime_ns": REALTIME + self.end - self.begin, "monotonic_ns": BASE + self.end}}
        for moment in (source["began"], source["ended"]) if self.tsc_hz else ():
            moment.update(tsc=moment["monotonic_ns"] * self.tsc_hz // 10**9, error_ns=20)
        if self.kernel.is_guest:
            source["clock"] = {"name": clock, "hz": self.given_hz, "pairs": f"{name}/clock-pairs"}
            threads = [{"id": t.pid, "name": t.comm, "vcpu": v} for v, t in enumerate(self.kernel.vcpus)]
            source["vmm"] = {"pid": 100, "program": "qemu-system-x86_64", "accelerator": "kvm", "threads": threads}
            lines = [f"{BASE + t + self.lie + off} {self.ticks(t)} {self.error_ns}\n"
                     for t, off in zip((self.begin, self.end), self.off)]
            with open(f"{directory}/clock-pairs", "w", encoding="ascii") as file:
                file.write("".join(lines))
            files[f"{name}/clock-pairs"] = os.path.getsize(f"{directory}/clock-pairs")
        else:
            source["clock"] = {"name": clock, "hz": 10**9, "host": True, "error_ns": 0}
        if self.is_stated:
            source["files"] = files
        return source
