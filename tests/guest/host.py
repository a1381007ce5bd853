"""The host's ends of the old agents' ports: FIFOs, as virtio-trace's own instructions make them."""

import os
import select
import threading

from machine import CPUS, wait_until


class Reader(threading.Thread):
    """Appends what comes out of a FIFO to a file until it is stopped.

    QEMU has the FIFO open for both directions, so there is no end to read.
    """

    def __init__(self, fifo, path):
        super().__init__(daemon=True)
        self.fifo = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.wake, self.stop_end = os.pipe()
        self.path = path
        self.size = 0
        self.start()

    def run(self):
        with open(self.path, "ab", buffering=0) as file:
            while True:
                ready = select.select([self.fifo, self.wake], [], [])[0]
                if self.fifo in ready:
                    data = os.read(self.fifo, 1 << 20)
                    file.write(data)
                    self.size += len(data)
                elif self.wake in ready:
                    break

    def stop(self):
        """Takes what is there, and no more."""
        os.write(self.stop_end, b"x")
        self.join()
        for fd in self.fifo, self.wake, self.stop_end:
            os.close(fd)


class Host:
    """An old host: says 1 and 0, and reads pages into FOLDER/cpuN.raw until it is gone."""

    def __init__(self, machine, folder):
        self.ports = machine.ports
        self.folder = folder
        self.readers = []
        os.makedirs(folder, exist_ok=True)

    def command(self, text):
        with open(f"{self.ports}/agent-ctl-path.in", "wb", buffering=0) as fifo:
            fifo.write(text.encode())

    def read(self):
        self.readers = [Reader(f"{self.ports}/trace-path-cpu{n}.out", f"{self.folder}/cpu{n}.raw") for n in range(CPUS)]

    def gone(self):
        for reader in self.readers:
            reader.stop()
        self.readers = []

    def sizes(self):
        return [os.path.getsize(f"{self.folder}/cpu{n}.raw") for n in range(CPUS)]

    def wait_for_quiet(self, seconds=1.0):
        """Until nothing has come for so long. What comes later is missed, so this is for ends that the
        protocol does not tell; what is then missing, a comparison finds."""
        import time
        last = [self.sizes(), time.monotonic()]

        def quiet():
            if self.sizes() != last[0]:
                last[:] = [self.sizes(), time.monotonic()]
            return time.monotonic() - last[1] > seconds
        wait_until(quiet, "data still comes")
