"""The guest's tracefs, from the host."""

import os

from machine import CPUS, expect, wait_until

TRACEFS = "/sys/kernel/tracing"
# Of these each is recorded where no interrupt and no other task comes between two buffers that record
# the same event, so that two buffers hold them in the same order.
EVENTS = ["sched/sched_switch", "sched/sched_process_fork", "sched/sched_process_exit", "task/task_newtask"]


def tracing_instances(machine):
    """Those of agents, as paths, that are switched on: one whose session is over may be there still, on its way out."""
    text = machine.text(f"grep -lx 1 {TRACEFS}/instances/strata-agent-*/tracing_on 2>/dev/null || :")
    return [os.path.dirname(path) for path in text.split()]


def the_instance(machine):
    """The path of that which traces, once no other one does any more, as that of an agent that was killed."""
    def only():
        paths = tracing_instances(machine)
        return paths[0] if len(paths) == 1 else None
    return wait_until(only, "there is not one instance that traces")


class Tracefs:
    """The top-level buffer, or an instance."""

    def __init__(self, machine, instance=None):
        self.machine = machine
        self.folder = TRACEFS if instance is None else f"{TRACEFS}/instances/{instance}"
        if instance is not None:
            machine.run(f"mkdir {self.folder}")

    def set(self, file, value):
        self.machine.run(f"echo '{value}' >{self.folder}/{file}")

    def get(self, file):
        return self.machine.run(f"cat {self.folder}/{file}").decode(errors="surrogateescape")

    def reset(self, events=(), clock="local", kilobytes=1408):
        """Empty, nothing on but EVENTS, and switched on."""
        lines = [f"cd {self.folder}", "echo 0 >tracing_on", "echo 0 >events/enable", f"echo {clock} >trace_clock",
                 f"echo {kilobytes} >buffer_size_kb", "echo >trace",
                 "echo 4096 >/sys/kernel/tracing/saved_cmdlines_size"]
        lines += [f"echo 1 >events/{event}/enable" for event in events] + ["echo 1 >tracing_on", "cd /"]
        self.machine.run(" && ".join(lines))

    def remove(self):
        self.machine.run(f"rmdir {self.folder}")

    def texts(self, folder):
        """What each CPU's buffer holds, as the guest shows it; also left in FOLDER, to look at."""
        texts = [self.get(f"per_cpu/cpu{n}/trace") for n in range(CPUS)]
        for n, text in enumerate(texts):
            with open(os.path.join(folder, f"cpu{n}.txt"), "w", errors="surrogateescape") as file:
                file.write(text)
        return texts

    def lost(self, text):
        """What the head of a trace file says was overwritten."""
        for line in text.splitlines():
            if line.startswith("# entries-in-buffer/entries-written:"):
                held, written = line.split(":")[1].split()[0].split("/")
                return int(written) - int(held)
        return expect(False, "no head in a trace file")

    def export(self, folder):
        """Copies what decoding needs into FOLDER."""
        data = self.machine.run(f"guest-tool export {self.folder}; echo kallsyms $(wc -c </proc/kallsyms); cat /proc/kallsyms")
        at = 0
        while at < len(data):
            end = data.index(b"\n", at)
            path, size = data[at:end].decode().rsplit(" ", 1)
            at = end + 1 + int(size)
            full = os.path.join(folder, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "wb") as file:
                file.write(data[end + 1:at])
