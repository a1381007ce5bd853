#!/usr/bin/env python3
"""The agent by the old protocol, on this machine's own kernel, with FIFOs and sockets in place of virtio-serial ports."""
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time

from process import Process, all_ended
from tracefs import CPUS, Tracefs, account, check, decode, wait_for

BIN = sys.argv[1]
STRATA = os.environ.get("STRATA", f"{BIN}/strata")  # reads what the agent sent
PAGE = 4096


class Fifos:
    """A folder of ports as FIFOs. The host's ends stay open, as QEMU keeps them."""

    def __init__(self, path, cpus=CPUS):
        os.mkdir(path)
        self.path, self.cpus = path, cpus
        for name in ["agent-ctl-path"] + [f"trace-path-cpu{cpu}" for cpu in cpus]:
            os.mkfifo(f"{path}/{name}")
        self.control = os.open(f"{path}/agent-ctl-path", os.O_RDWR | os.O_NONBLOCK)
        self.data = {cpu: os.open(f"{path}/trace-path-cpu{cpu}", os.O_RDWR | os.O_NONBLOCK) for cpu in cpus}
        self.got = {cpu: bytearray() for cpu in cpus}

    def order(self, words):
        os.write(self.control, words)

    def take(self):
        """Whatever is there now."""
        n = 0
        for cpu, fd in self.data.items():
            try:
                while True:
                    piece = os.read(fd, 65536)
                    self.got[cpu] += piece
                    n += len(piece)
            except BlockingIOError:
                pass
        return n

    def is_full(self, cpu):
        return not select.select([], [self.data[cpu]], [], 0)[1]

    def take_until(self, condition, what, seconds=60):
        wait_for(lambda: (self.take(), condition())[1], what, seconds)

    def take_rest(self):
        """Until nothing has come for a while. The end of a page that was begun comes however long it takes."""
        quiet = time.monotonic() + 0.5
        while time.monotonic() < quiet:
            if self.take():
                quiet = time.monotonic() + 0.5
            time.sleep(0.01)
        self.take_until(lambda: all(len(got) % PAGE == 0 for got in self.got.values()), "whole pages")

    def close(self):
        for fd in [self.control] + list(self.data.values()):
            os.close(fd)


def Agent(*words, **keywords):
    return Process([f"{BIN}/strata-agent", *words], **keywords)


def marks_in(got):
    """How many markers are in raw bytes: a marker's text occurs once."""
    return got.count(b" of cpu ")


def start_stop(tracefs, work):
    """50 starts and stops in all framings; every marker arrives, once and in its order."""
    instance = tracefs.instance("startstop")
    before = instance.settings()
    ports = Fifos(f"{work}/startstop")
    agent = Agent("-p", ports.path, "-i", instance.name)
    written = dict.fromkeys(CPUS, 0)
    framings = [(b"1\n", b"0\n"), (b"1", b"0"), (b"1\r\n", b"0\0"), (b" 1", b"\n\n0")]
    for i in range(50):
        start, stop = framings[i % len(framings)]
        for cpu in CPUS:
            instance.mark(cpu, 7 + 40 * (i % 5))
            written[cpu] = instance.next[cpu]
        if i % 7 == 3:
            # Together in one write: a start, and a stop that takes what there was.
            ports.order(start + stop)
        else:
            ports.order(start)
            for cpu in CPUS:
                instance.mark(cpu, 11 * (i % 4))
                written[cpu] = instance.next[cpu]
            ports.order(stop)
        # A stop is complete: what was written before it comes without a further order.
        ports.take_until(lambda: all(marks_in(ports.got[cpu]) == written[cpu] for cpu in CPUS),
                         f"the markers of round {i}")
    ports.order(b"hello")
    agent.says(b"0x68 is not a command")
    ports.take_rest()
    took = agent.end()
    lost = account(decode(STRATA, instance, ports.got, work), written, "start_stop", instance)
    check(lost == 0, f"start_stop: {lost} events were lost though nobody was slow")
    # Of more CPUs than there are ports for, it says that, too.
    said = [line for line in agent.said.splitlines() if not re.match(rb".*CPU [0-9]+: cannot use the port .* it does not exist", line)]
    check(len(said) == 1, agent.said)
    check(instance.settings() == before, "the agent left the instance changed")
    ports.close()
    print(f"start_stop: {sum(written.values())} markers, ended in {took:.3f} s")


def stalled(tracefs, work):
    """A host that does not read: memory is bounded, losses are counted exactly, and it ends."""
    instance = tracefs.instance("stalled", buffer_kb=64)
    ports = Fifos(f"{work}/stalled")
    agent = Agent("-p", ports.path, "-i", instance.name, "-q", "128k")
    ports.order(b"1")
    memory = 0
    written = {}
    for _ in range(10):
        for cpu in CPUS:
            instance.mark(cpu, 4000)
            written[cpu] = instance.next[cpu]
        memory = max(memory, agent.memory())
    # The host comes back, takes all, and stops in the midst of a page here and there.
    for i in range(200):
        for cpu, fd in ports.data.items():
            try:
                ports.got[cpu] += os.read(fd, 1 + i * 37 % 9000)
            except BlockingIOError:
                pass
    ports.take_rest()
    for cpu in CPUS:
        instance.mark(cpu, 100)
        written[cpu] = instance.next[cpu]
    ports.order(b"0")
    last = {cpu: b"%d of cpu %d\n" % (written[cpu] - 1, cpu) for cpu in CPUS}
    ports.take_until(lambda: all(last[cpu] in ports.got[cpu] for cpu in CPUS), "the last markers")
    ports.take_rest()
    lost = account(decode(STRATA, instance, ports.got, work), written, "stalled", instance)
    check(lost > 0, "stalled: nothing was lost, so nothing was tried")

    # Stalled again, and ended so, when it has read something that the FIFO does not take.
    ports.order(b"1")
    for cpu in CPUS:
        wait_for(lambda: (instance.mark(cpu, 100), ports.is_full(cpu))[1], f"the FIFO of CPU {cpu} to be full")
        before = instance.was_read(cpu)
        wait_for(lambda: (instance.mark(cpu, 100), instance.was_read(cpu))[1] > before, f"the agent to read from CPU {cpu}")
    took = agent.end()
    check(re.search(rb"\d+ pages were read but could not be sent", agent.said), agent.said)
    # 128 KiB per CPU, and what a process is; sanitisers need more.
    if not os.environ.get("SANITIZED"):
        check(memory < (3 << 20) + len(CPUS) * (128 << 10), f"it took {memory} bytes of memory")
    ports.close()
    print(f"stalled: {sum(written.values())} markers, {lost} lost and counted, {memory >> 10} KiB of memory, "
          f"ended in {took:.3f} s")


def receive(connection, size):
    connection.settimeout(60)
    got = connection.recv(size)
    check(got, "the agent has closed its port")
    return got


def sockets(tracefs, work):
    """Ports that are sockets, whose other end goes away in the midst of a page: the next one begins with a page."""
    instance = tracefs.instance("sockets")
    folder = f"{work}/sockets"
    os.mkdir(folder)
    listening = {}
    for name in ["agent-ctl-path"] + [f"trace-path-cpu{cpu}" for cpu in CPUS]:
        listening[name] = socket.socket(socket.AF_UNIX)
        listening[name].bind(f"{folder}/{name}")
        listening[name].listen()
        listening[name].settimeout(60)
    agent = Agent("-p", folder, "-i", instance.name)
    control = listening["agent-ctl-path"].accept()[0]
    data = {cpu: listening[f"trace-path-cpu{cpu}"].accept()[0] for cpu in CPUS}
    cpu = CPUS[0]
    # More than fits into the socket, so that a page is being written when it is closed.
    instance.mark(cpu, 12000)
    control.send(b"1\n")
    first = b""
    while len(first) < 3 * PAGE + 100:
        first += receive(data[cpu], 3 * PAGE + 100 - len(first))
    data[cpu].close()
    control.close()
    data[cpu] = listening[f"trace-path-cpu{cpu}"].accept()[0]
    control = listening["agent-ctl-path"].accept()[0]
    control.send(b"0\n")
    instance.mark(cpu, 0)
    got = b""
    while b"11999 of cpu" not in got:
        got += receive(data[cpu], 65536)
    while len(got) % PAGE:
        got += receive(data[cpu], PAGE - len(got) % PAGE)
    seen = decode(STRATA, instance, {cpu: got}, work)[cpu]
    numbers = [item for item in seen if not isinstance(item, str)]
    check(numbers == list(range(numbers[0], 12000)), "sockets: what came behind the break is not whole")
    agent.end()
    for s in [control, *data.values(), *listening.values()]:
        s.close()
    print(f"sockets: went on with marker {numbers[0]} behind the break")


def standard_output(tracefs, work):
    """-o: pages of all CPUs on standard output; by the old name; and to a reader that goes away."""
    for name in ["strata-agent", "trace-agent"]:
        instance = tracefs.instance(f"stdout-{name}")
        words = ["-o"]
        if name == "strata-agent":
            words += ["-i", instance.name, "-p", work]
        else:
            # The old name knows no instance; the top-level buffer is only looked at for its protocol.
            words = ["-h"]
        if name == "trace-agent":
            done = subprocess.run([f"{BIN}/{name}", *words], capture_output=True)
            check(done.returncode == 1 and b"usage: trace-agent [-h] [-o] [-s <size of pipe>]" in done.stderr, done)
            done = subprocess.run([f"{BIN}/{name}", "-s", "4K"], capture_output=True)
            check(done.returncode == 1 and b"64K to 1M" in done.stderr, done)
            continue
        with open(f"{work}/stdout.raw", "wb") as out:
            agent = Agent(*words, stdout=out)
            written = {}
            for cpu in CPUS:
                instance.mark(cpu, 3000)
                written[cpu] = instance.next[cpu]
            wait_for(lambda: marks_in(open(f"{work}/stdout.raw", "rb").read()) == sum(written.values()), "the markers")
            agent.end(signal.SIGINT)
        pages = open(f"{work}/stdout.raw", "rb").read()
        check(len(pages) % PAGE == 0, "standard output: no whole pages")
        # Whose a page is shows in its markers.
        raws = {cpu: bytearray() for cpu in CPUS}
        for at in range(0, len(pages), PAGE):
            page = pages[at:at + PAGE]
            marker = re.search(rb" of cpu (\d+)", page)
            # In some there is nothing but what the kernel has discarded.
            if marker:
                raws[int(marker[1])] += page
        account(decode(STRATA, instance, raws, work), written, "standard output", instance)

        # A pipe whose reader stalls, then goes.
        read_end, write_end = os.pipe()
        agent = Agent(*words, stdout=write_end)
        os.close(write_end)
        for cpu in CPUS:
            instance.mark(cpu, 20000)
        time.sleep(0.2)
        os.close(read_end)
        check(agent.process.wait(60) == -signal.SIGPIPE, f"a closed pipe ended it with {agent.process.returncode}")
        agent.process.stderr.close()
    print("standard_output: fine")


def nobody(work):
    """Who may not enter tracefs is told so, and not that it is not mounted."""
    with open(f"{BIN}/strata-agent", "rb") as f:
        agent = os.memfd_create("agent", 0)
        os.write(agent, f.read())
    # The file may be where this user may not go.
    done = subprocess.run([f"/proc/self/fd/{agent}", "-o"], pass_fds=[agent], capture_output=True,
                          text=True, cwd="/", user=65534, group=65534, extra_groups=[])
    os.close(agent)
    is_there = any(os.path.exists(f"{at}/events") for at in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"))
    remedy = "run as root, or let this user read tracefs" if is_there else "as root: mount -t tracefs none /sys/kernel/tracing"
    check(done.returncode == 1 and remedy in done.stderr, done)


def without_a_port(tracefs, work):
    """A CPU without a port does not stop the others, and gets its port when it appears; no ports at all is told."""
    done = subprocess.run([f"{BIN}/strata-agent", "-p", work, "-w", "0"], capture_output=True, text=True)
    check(done.returncode == 1 and "no virtio-serial port org.strata.agent or agent-ctl-path" in done.stderr, done)
    done = subprocess.run([f"{BIN}/strata-agent", "-p", work, "-w", "0", "-i", "no-such-instance"],
                          capture_output=True, text=True)
    check(done.returncode == 1 and "no instance 'no-such-instance'" in done.stderr, done)
    nobody(work)
    if len(CPUS) < 2:
        return
    instance = tracefs.instance("noport")
    ports = Fifos(f"{work}/noport", CPUS[1:])
    agent = Agent("-p", ports.path, "-i", instance.name)
    ports.order(b"1")
    for cpu in CPUS:
        instance.mark(cpu, 50)
    ports.take_until(lambda: marks_in(ports.got[CPUS[1]]) == 50, "markers of the CPU that has a port")
    late = f"{ports.path}/trace-path-cpu{CPUS[0]}"
    os.mkfifo(f"{late}.new")
    fd = os.open(f"{late}.new", os.O_RDWR | os.O_NONBLOCK)
    os.rename(f"{late}.new", late)
    ports.data[CPUS[0]] = fd
    ports.got[CPUS[0]] = bytearray()
    ports.take_until(lambda: marks_in(ports.got[CPUS[0]]) == 50, "markers of the CPU whose port came late")
    agent.end()
    check(b"CPU %d: cannot use the port trace-path-cpu%d: it does not exist" % (CPUS[0], CPUS[0]) in agent.said, agent.said)
    ports.close()
    print("without_a_port: fine")


def killed(tracefs, work):
    """An agent that is killed leaves the trace to the next one."""
    instance = tracefs.instance("killed")
    ports = Fifos(f"{work}/killed")
    for _ in range(5):
        agent = Agent("-p", ports.path, "-i", instance.name)
        ports.order(b"1")
        for cpu in CPUS:
            instance.mark(cpu, 500)
        ports.take()
        agent.process.kill()
        agent.process.wait()
        agent.process.stderr.close()
        ports.take()
    ports.close()
    ports = Fifos(f"{work}/killed2")
    agent = Agent("-p", ports.path, "-i", instance.name)
    for cpu in CPUS:
        instance.mark(cpu, 500)
    ports.order(b"10")
    ports.take_until(lambda: all(b"2999 of cpu" in ports.got[cpu] for cpu in CPUS), "the last markers")
    ports.take_rest()
    agent.end()
    ports.close()
    print("killed: fine")


def run(tracefs, work):
    """--run: the command starts when the host has switched the agent on, its work arrives, and the agent ends as it does."""
    instance = tracefs.instance("run")
    ports = Fifos(f"{work}/run")
    command = ["sh", "-c", f"echo 0 of cpu 0 >{instance.path}/trace_marker; echo to standard output; exit 9"]
    agent = Agent("-p", ports.path, "-i", instance.name, "--run", *command, stdout=subprocess.PIPE)
    agent.says(b"starts when a host starts tracing")
    check(agent.process.poll() is None and instance.read("trace").count(" of cpu ") == 0, "the command did not wait for the host")
    ports.order(b"1")
    ports.take_until(lambda: sum(marks_in(got) for got in ports.got.values()) == 1, "the command's marker")
    agent.process.wait(60)
    check(agent.process.returncode == 9 and agent.process.stdout.read() == b"to standard output\n", f"it ended with {agent.process.returncode}")
    agent.process.stdout.close()
    agent.process.stderr.close()
    ports.close()
    # Where standard output has the pages, the command's goes to standard error.
    done = subprocess.run([f"{BIN}/strata-agent", "-o", "-i", instance.name, "-p", work, "--run", *command], capture_output=True)
    check(done.returncode == 9 and b"to standard output\n" in done.stderr and len(done.stdout) % PAGE == 0 and
          marks_in(done.stdout) == 1, f"-o: {done.returncode}, {len(done.stdout)} bytes, {done.stderr}")
    print("run: fine")


def main():
    with tempfile.TemporaryDirectory() as work:
        tracefs = Tracefs(work)
        try:
            for scenario in [start_stop, stalled, sockets, standard_output, without_a_port, killed, run]:
                scenario(tracefs, work)
        finally:
            all_ended()
            tracefs.close()


main()
