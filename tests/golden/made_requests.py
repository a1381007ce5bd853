"""made_requests.py DIR [LOST]: a trace directory of a host with two CPUs and requests to one disk. For two seconds, every 40 ms two
reads of sector 8, of 5 ms each: one that CPU 0 issues and CPU 1 completes, and one the other way round. LOST is `cpu1`, whose
file is removed, or `part`: of CPU 1, the events from 0.5 to 1.5 s are lost."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../simulation"))
import kernel_files  # noqa: E402
from recording import BASE, BOOT_ID, REALTIME  # noqa: E402

MS = 10**6
DISK = {"dev": 8 << 20, "sector": 8, "nr_sector": 8, "rwbs": "R"}


class Event:
    def __init__(self, time, name, pid, **values):
        self.time, self.name, self.pid, self.values = time, name, pid, values | DISK


def read(cpus, time, begin, end):
    cpus[begin].append(Event(time, "block_bio_queue", 50, comm="reader"))
    cpus[begin].append(Event(time + 10000, "block_rq_issue", 50, bytes=4096, comm="reader", cmd=""))
    cpus[end].append(Event(time + 5 * MS, "block_rq_complete", 0, error=0, cmd=""))


def main(path, lost=None):
    cpus, files = ([], []), {}
    for time in range(0, 2000 * MS, 40 * MS):
        read(cpus, time, 0, 1)
        read(cpus, time + 10 * MS, 1, 0)
    kernel_files.write_formats(f"{path}/host", "mono")
    for cpu, events in enumerate(cpus):
        parts = [events]
        if cpu == 1 and lost == "part":
            parts = [[e for e in events if e.time < 500 * MS], [e for e in events if e.time >= 1500 * MS]]
        pages = [kernel_files.pages_of(part, lambda time: BASE + time) for part in parts]
        if len(pages) > 1:
            pages[1][0].missed = len(events) - sum(map(len, parts))
        data = b"".join(page.bytes(lambda time: BASE + time) for part in pages for page in part)
        files[f"host/cpu{cpu}.raw"] = len(data)
        if cpu == 0 or lost != "cpu1":
            with open(f"{path}/host/cpu{cpu}.raw", "wb") as file:
                file.write(data)
    kernel_files.write_manifest(path, [{
        "name": "host", "kind": "ftrace", "layer": "host", "path": "host", "lost": 0, "complete": True, "files": files,
        "host": {"boot_id": BOOT_ID, "name": "made"},
        "clock": {"name": "mono", "hz": 10**9, "host": True, "error_ns": 0},
        "began": {"realtime_ns": REALTIME, "monotonic_ns": BASE - MS},
        "ended": {"realtime_ns": REALTIME + 2001 * MS, "monotonic_ns": BASE + 2000 * MS}}])


main(*sys.argv[1:])
