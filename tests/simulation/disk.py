"""Made requests to disks: from a guest's block layer through QEMU's virtio-blk device and its thread pool to the host's disk,
and back. It makes the events of each layer, and says at which time which request passed which point."""

import os
import struct

from recording import BASE, BOOT_ID, REALTIME, Gap

# A stage is called after the event that ends it; "begin" has none.
POINTS = ("begin", "queue", "kick", "dispatch", "vmm", "backend", "done", "notify", "inject", "guest")
VDEV, POOL, QUEUE = 0x55a0c0de1000, 0x55a0c0de2000, 0x55a0c0de3000
ARGUMENTS = {
    "virtio_queue_notify": [("void *", "vdev"), ("int", "n"), ("void *", "vq")],
    "virtio_blk_handle_read": [("void *", "vdev"), ("void *", "req"), ("uint64_t", "sector"), ("size_t", "nsectors")],
    "virtio_blk_handle_write": [("void *", "vdev"), ("void *", "req"), ("uint64_t", "sector"), ("size_t", "nsectors")],
    "blk_co_preadv": [("void *", "blk"), ("void *", "bs"), ("int64_t", "offset"), ("int64_t", "bytes"), ("int", "flags")],
    "blk_co_pwritev": [("void *", "blk"), ("void *", "bs"), ("int64_t", "offset"), ("int64_t", "bytes"), ("int", "flags")],
    "thread_pool_submit": [("void *", "pool"), ("void *", "req"), ("void *", "opaque")],
    "thread_pool_complete": [("void *", "pool"), ("void *", "req"), ("void *", "opaque"), ("int", "ret")],
    "virtio_blk_req_complete": [("void *", "vdev"), ("void *", "req"), ("int", "status")],
    "virtio_notify": [("void *", "vdev"), ("void *", "vq")],
}


class Request:
    def __init__(self, disk, kind, sector, sectors):
        self.disk, self.kind, self.sector, self.sectors = disk, kind, sector, sectors
        self.at = {}
        self.cpu = self.pid = self.end_cpu = None
        self.thread = None
        self.is_done = False
        self.taken_since = None  # QEMU's last event before it handled this that could be the notification of it


class Disk:
    """A block device of a kernel. What the device does with a request is `send`; what it has done is in `finished`."""

    def __init__(self, kernel, dev, irq, name):
        self.kernel, self.dev, self.irq, self.name = kernel, dev, irq, name
        self.requests, self.at_device, self.finished = [], [], []
        self.send = self.at_device.append

    def emit(self, cpu, name, request, **more):
        rwbs = "R" if request.kind == "read" else "WS"
        return self.kernel.emit(cpu, name, dev=self.dev, sector=request.sector, nr_sector=request.sectors, rwbs=rwbs, **more)

    def choose_sector(self):
        """Often one that a request before had, which is over."""
        number = self.kernel.rng.randrange(1 << 40)
        open_sectors = {request.sector for request in self.requests if not request.is_done}
        over = [request.sector for request in self.requests[-8:] if request.sector not in open_sectors]
        return over[number % len(over)] if over and number >> 39 else number * 8

    def do(self, thread, must_wait=False):
        """The body of a thread while it reads or writes."""
        kernel = self.kernel
        request = Request(self, kernel.rng.choice(["read", "write"]), self.choose_sector(), kernel.rng.choice([8, 16, 256]))
        self.requests.append(request)
        request.thread, request.pid = thread, thread.pid
        request.at["begin"] = self.emit(thread.cpu, "block_bio_queue", request, comm=thread.comm)
        yield kernel.some(1, 20)
        request.cpu = thread.cpu
        request.at["queue"] = self.emit(thread.cpu, "block_rq_issue", request, bytes=request.sectors * 512, comm=thread.comm, cmd="")
        self.send(request)
        yield kernel.some(1, 5)
        while not request.is_done and (must_wait or kernel.chance(0.8)):
            yield "D"
            yield kernel.some(1, 5)

    def take_finished(self):
        """The device interrupts: requests that it has done."""
        if self.at_device and self.send == self.at_device.append and self.kernel.chance(0.5):
            self.finished.append(self.at_device.pop(self.kernel.rng.randrange(len(self.at_device))))
        taken, self.finished = self.finished, []
        return taken

    def complete(self, cpu, request, entry):
        """In the handler that began at ENTRY."""
        request.at["inject"] = entry
        request.at["guest"] = self.emit(cpu, "block_rq_complete", request, error=0, cmd="")
        request.is_done, request.end_cpu = True, cpu
        wake(self.kernel, cpu, request.thread)


def wake(kernel, cpu, thread):
    if not thread.is_new and not thread.is_stopped and thread.states[-1].end is None and thread.states[-1].state in ("sleeping", "uninterruptible"):
        kernel.wake(cpu, thread)


class Vmm:
    """The virtio-blk device of a guest, in QEMU: an I/O thread and a pool of threads."""
    name = "qemu"

    def __init__(self, guest, host):
        self.guest, self.host = guest, host
        self.ring, self.pool, self.worked, self.events = [], [], [], []
        self.number = 0
        self.is_kicked = False
        guest.disk.send = self.put
        self.io_thread = host.add_thread("IO disk", 0, self.body)
        self.workers = [host.add_thread("worker", 0, self.worker) for _ in range(host.rng.randint(1, 2))]

    def put(self, request):
        self.ring.append(request)
        self.is_kicked = True

    def emit(self, thread, name, **values):
        time = self.host.machine.stamp()
        self.events.append((time, thread.pid, name, values))
        return time

    def after_exit(self, cpu):
        """On the CPU on which a vCPU left the guest: the notification of the device."""
        if self.is_kicked:
            self.is_kicked = False
            wake(self.host, cpu, self.io_thread)

    def handle(self, thread):
        kernel, taken = self.host, self.ring
        kick = self.emit(thread, "virtio_queue_notify", vdev=VDEV, n=0, vq=QUEUE)
        self.ring = []
        for i, request in enumerate(taken):
            yield kernel.some(1, 8)
            self.number += 1
            request.number = self.number
            request.taken_since = taken[i - 1].at["dispatch"] if i else kick
            if i == 0:
                request.at["kick"] = kick
            address = 0x7f0000000000 + self.number % 61 * 256
            request.address = address
            request.at["dispatch"] = self.emit(thread, f"virtio_blk_handle_{request.kind}", vdev=VDEV, req=address,
                                               sector=request.sector, nsectors=request.sectors)
            yield kernel.some(1, 5)
            self.emit(thread, "blk_co_preadv" if request.kind == "read" else "blk_co_pwritev", blk=1, bs=2,
                      offset=request.sector * 512, bytes=request.sectors * 512, flags=0)
            yield kernel.some(1, 5)
            request.at["vmm"] = self.emit(thread, "thread_pool_submit", pool=POOL, req=address + 64, opaque=0)
            self.pool.append(request)
            wake(kernel, thread.cpu, kernel.rng.choice(self.workers))

    def give_back(self, thread):
        kernel, worked = self.host, self.worked
        self.worked = []
        for request in worked:
            request.at["backend"] = self.emit(thread, "thread_pool_complete", pool=POOL, req=request.address + 64, opaque=0, ret=0)
            yield kernel.some(1, 5)
            request.at["done"] = self.emit(thread, "virtio_blk_req_complete", vdev=VDEV, req=request.address, status=0)
            yield kernel.some(1, 5)
        notify = self.emit(thread, "virtio_notify", vdev=VDEV, vq=QUEUE)
        for request in worked:
            request.at["notify"] = notify
        self.guest.disk.finished += worked
        number = kernel.rng.randrange(self.guest.n_cpus)
        self.guest.kicks.add(number)
        wake(kernel, thread.cpu, self.guest.vcpus[number])

    def body(self, kernel, thread):
        while True:
            yield kernel.some(1, 10)
            if self.ring:
                yield from self.handle(thread)
            elif self.worked:
                yield from self.give_back(thread)
            else:
                yield "S"

    def worker(self, kernel, thread):
        while True:
            yield kernel.some(1, 10)
            if not self.pool:
                yield "S"
                continue
            request = self.pool.pop(0)
            yield from kernel.disk.do(thread, must_wait=True)
            yield kernel.some(1, 10)
            self.worked.append(request)
            wake(kernel, thread.cpu, self.io_thread)


class VmmFile:
    """What QEMU's simpletrace backend wrote of a Vmm from `begin` to `end`: as recording.Source, with one stream."""

    def __init__(self, vmm, begin, end):
        self.vmm, self.begin, self.end = vmm, begin, end
        self.records = [e for e in vmm.events if begin <= e[0] < end]
        self.gaps, self.notes, self.cut_at = [], {}, None

    def lose(self, first, n):
        """QEMU's buffer is full."""
        if first < 1 or n < 1 or first + n >= len(self.records):
            return
        before, after = self.records[first - 1], self.records[first + n]
        self.notes[after[0]] = n + self.notes.pop(after[0], 0) + sum(self.notes.pop(e[0], 0) for e in self.records[first:first + n])
        del self.records[first:first + n]
        self.gaps.append(Gap(None, before[0], after[0]))

    def cut(self, n):
        """The file ends within a record."""
        if 1 <= n < len(self.records):
            self.cut_at = self.records[n]
            self.gaps.append(Gap(None, self.records[n - 1][0], None))
            del self.records[n:]

    def record(self, event):
        time, pid, name, values = event
        body = b"".join(struct.pack("<Q", values[field] & (1 << 64) - 1) for _, field in ARGUMENTS[name])
        return struct.pack("<QQQII", 1, list(ARGUMENTS).index(name), BASE + time, 24 + len(body), pid) + body

    def write(self, path):
        """Returns the source in the manifest."""
        os.makedirs(f"{path}/vmm")
        with open(f"{path}/vmm/trace-events", "w", encoding="ascii") as file:
            for name, fields in ARGUMENTS.items():
                words = " ".join(f"{field} %" + {"void *": "p", "int": "d"}.get(kind, '"PRIu64"') for kind, field in fields)
                file.write(f'{name}({", ".join(f"{kind} {field}" for kind, field in fields)}) "{words}"\n')
        with open(f"{path}/vmm/trace.simple", "wb") as file:
            file.write(struct.pack("<QQQ", (1 << 64) - 1, 0xf2b177cb0aa429b4, 4))
            for number, name in enumerate(ARGUMENTS):
                file.write(struct.pack("<QQI", 0, number, len(name)) + name.encode())
            for event in self.records:
                if event[0] in self.notes:
                    file.write(struct.pack("<QQQIIQ", 1, (1 << 64) - 2, BASE + event[0] - 1, 32, 0, self.notes[event[0]]))
                file.write(self.record(event))
            if self.cut_at:
                file.write(self.record(self.cut_at)[:21])
        threads = [{"id": t.pid, "name": t.comm} for t in [self.vmm.io_thread, *self.vmm.workers]]
        threads += [{"id": t.pid, "name": t.comm, "vcpu": v} for v, t in enumerate(self.vmm.guest.vcpus)]
        return {"name": "qemu", "kind": "simpletrace", "layer": "vmm", "path": "vmm/trace.simple", "events": ["vmm/trace-events"],
                "clock": {"name": "monotonic", "hz": 10**9, "host": True}, "host": {"boot_id": BOOT_ID, "name": "made"},
                "vmm": {"pid": 100, "program": "qemu-system-x86_64", "accelerator": "kvm", "threads": threads}, "complete": True, "lost": 0,
                "began": {"realtime_ns": REALTIME, "monotonic_ns": BASE + self.begin},
                "ended": {"realtime_ns": REALTIME + self.end - self.begin, "monotonic_ns": BASE + self.end}}
