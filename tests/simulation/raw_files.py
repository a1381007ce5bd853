"""Pages of a kernel's CPUs that were read one after the other while it went on, or after its tracing was off; without a manifest."""

import os

import kernel_files
from recording import Gap, Source


class RawFiles(Source):
    def __init__(self, kernel, begin, end, ends):
        """ENDS: until when each CPU was read. Where all are END, tracing was off."""
        self.ends = ends
        super().__init__(kernel, begin, end)
        self.is_stopped = min(ends) == end

    def make_pages(self):
        return [self.pages_of([e for e in self.kernel.events if e.cpu == cpu and self.begin <= e.time < end])
                for cpu, end in enumerate(self.ends)]

    def begin_late(self, cpu, n_pages):
        """Its buffer went round."""
        if 0 < n_pages < len(self.cpus[cpu]):
            self.facts["begins_apart"] = True
            del self.cpus[cpu][:n_pages]
            self.cpus[cpu][0].missed = 0

    def write(self, path):
        kernel_files.write_formats(path, "mono")
        with open(f"{path}/tracing_on", "w", encoding="ascii") as file:
            file.write("0\n" if self.is_stopped else "1\n")
        for cpu, pages in enumerate(self.cpus):
            if pages and not self.is_stopped:
                self.gaps.append(Gap(cpu, pages[-1].events[-1].time, None))
            os.makedirs(f"{path}/per_cpu/cpu{cpu}")
            with open(f"{path}/per_cpu/cpu{cpu}/trace_pipe_raw", "wb") as file:
                file.write(b"".join(page.bytes(self.ticks) for page in pages))
