"""The host's ends of the guest's ports: FIFOs, as virtio-trace's own instructions make them, and a wire that can
be cut."""

import os
import select
import socket
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
        self.file = open(path, "ab", buffering=0)
        self.size = 0
        self.start()

    def run(self):
        while True:
            ready = select.select([self.fifo, self.wake], [], [])[0]
            if self.fifo in ready:
                data = os.read(self.fifo, 1 << 20)
                self.file.write(data)
                self.size += len(data)
            elif self.wake in ready:
                break

    def stop(self):
        """Takes what is there, and no more."""
        os.write(self.stop_end, b"x")
        self.join()
        self.file.close()
        for fd in self.fifo, self.wake, self.stop_end:
            os.close(fd)


class Host:
    """An old host: says 1 and 0, and reads pages into FOLDER/cpuN.raw until it is gone."""

    def __init__(self, machine, folder):
        self.machine = machine
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
        """Of files that a program which was just started may not have created yet."""
        paths = [f"{self.folder}/cpu{n}.raw" for n in range(CPUS)]
        return [os.path.getsize(path) if os.path.exists(path) else 0 for path in paths]

    def wait_for_quiet(self):
        """Until nothing has come while the guest did something else, some times, for a second. What comes later is
        missed, so this is for ends that the protocol does not tell; what is then missing, a comparison finds. A time of
        this side's own would end also where the guest stands still."""
        def quiet():
            before = self.sizes()
            self.machine.run("for i in 1 2 3 4 5; do sleep 0.2; done")
            return self.sizes() == before
        wait_until(quiet, "data still comes")


class Wire(threading.Thread):
    """A socket PATH that leads to the socket TARGET, until it is cut; then it can be connected again."""

    def __init__(self, path, target):
        super().__init__(daemon=True)
        self.path, self.target = path, target
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(path)
        # Who was let in by a listening socket need not be root.
        os.chmod(path, 0o666)
        self.listening.listen()
        self.ends = []
        self.start()

    def run(self):
        while True:
            try:
                here = self.listening.accept()[0]
            except OSError:
                return
            there = socket.socket(socket.AF_UNIX)
            there.connect(self.target)
            self.ends = [here, there]
            for a, b in (here, there), (there, here):
                threading.Thread(target=self._carry, args=(a, b), daemon=True).start()

    @staticmethod
    def _carry(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
        except OSError:
            pass
        for end in a, b:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        """What is on its way is lost."""
        for end in self.ends:
            end.shutdown(socket.SHUT_RDWR)

    def gone(self):
        self.listening.close()
        for end in self.ends:
            end.close()
