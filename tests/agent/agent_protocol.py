#!/usr/bin/env python3
"""The agent by its own protocol, on this machine's own kernel, over sockets, with a host of these tests' own."""
import collections
import contextlib
import errno
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import host
from host import Host, connect
from process import Process, all_ended
from tracefs import CPUS, Instance, Tracefs, account, check, read_folder, wait_for

BIN = sys.argv[1]
STRATA = os.environ.get("STRATA", f"{BIN}/strata")  # reads what the agent sent
EVENTS = [("sched:sched_switch", "")]


def agent_of(*words):
    return Process([f"{BIN}/strata-agent", *words])


class Listening:
    """An agent that listens at a socket in a file."""

    def __init__(self, work, name, *words):
        self.path = f"{work}/{name}"
        self.agent = agent_of("-l", f"unix:{self.path}", *words)
        # It has begun, and swept, when it listens; a look is a connection that ends at once.
        connect(self.path).close()

    def connect(self):
        return connect(self.path)

    def end(self, *words, **keywords):
        return self.agent.end(*words, **keywords)


def instances_of(tracefs, agent):
    return [name for name in os.listdir(f"{tracefs.path}/instances")
            if name.startswith(f"strata-agent-{agent.process.pid}-")]


def none_left(tracefs, agent):
    """Where the kernel is slow to remove an instance, the agent does not wait for it."""
    wait_for(lambda: not instances_of(tracefs, agent), "the agent's instance to be removed")


def instance_of(tracefs, agent):
    names = instances_of(tracefs, agent)
    check(len(names) == 1, f"the agent has the instances {names}")
    return Instance(tracefs, names[0])


def fails(function, number, words, *arguments, **keywords):
    try:
        function(*arguments, **keywords)
    except OSError as e:
        check(e.errno == number and words in e.strerror, f"it failed with {e.errno}: {e.strerror}")
        return e.filename  # what to do
    check(False, f"that should have failed: {words}")


def rm_if_there(path):
    if os.path.exists(path):
        os.unlink(path)


def write_folder(work, got):
    """What arrived, as a directory that strata report reads."""
    folder = tempfile.mkdtemp(dir=work)
    for path, content in got.metas.items():
        os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
        with open(f"{folder}/{path}", "wb") as f:
            f.write(content)
    for cpu, pages in got.pages.items():
        with open(f"{folder}/cpu{cpu}.raw", "wb") as f:
            f.write(pages)
    return folder


def conversation(tracefs, work):
    """From HELLO to BYE: what decodes the trace, the clock, filters, all that was written, counts, and nothing left behind."""
    listening = Listening(work, "conversation")
    h = listening.connect()
    h.hello()
    check(not h.needs_auth and h.agent.startswith("strata-agent ") and h.release == os.uname().release, "HELLO is wrong")
    check(h.possible >= len(h.online) and set(CPUS) <= set(h.online), "HELLO's CPUs are wrong")
    check("mono" in h.clocks and h.clock in h.clocks, f"HELLO offers the clocks {h.clocks}")
    check(h.boot_id == open("/proc/sys/kernel/random/boot_id").read().strip(), "HELLO's boot_id is wrong")
    h.setup([("sched:sched_s*", ""), ("sched:sched_process_exit", "pid == 1"), ("workqueue", "")], clock="mono", level=3)
    check(instances_of(tracefs, listening.agent) and h.trace_clock == "mono" and h.hz == 1000000000, "READY is wrong")
    check(h.compressed > 0, "nothing is compressed")
    formats = [path for path in h.metas if path.startswith("events/") and path.endswith("/format")]
    enabled = [path for path in formats if not path.startswith("events/ftrace/")]
    check(len(enabled) == h.n_events and formats[:h.n_events] == enabled, "the formats of the enabled events do not come first")
    check(list(h.metas)[0].endswith("/format"), "something comes before the formats")
    for path in formats + ["events/header_page", "trace_clock"]:
        want = open(f"{tracefs.path}/{path}").read()
        check(path == "trace_clock" or h.metas[path].decode() == want, f"{path} came as another file")
    check("[mono]" in h.metas["trace_clock"].decode(), "trace_clock does not say mono")
    check(h.facts["hostname"] == os.uname().nodename and "saved_cmdlines" in h.metas, "facts or names of tasks are missing")
    instance = instance_of(tracefs, listening.agent)
    check(instance.read("tracing_on") == "0\n", "it traces before START")
    check(instance.read("events/sched/sched_process_exit/filter") == "pid == 1\n", "the filter is not set")
    check(instance.read("events/workqueue/enable") == "1\n" and instance.read("events/irq/enable") == "0\n", "wrong events")

    # On this machine the guest's clock is the host's, so the true offset is known: 0.
    for _ in range(20):
        before, came, sent, behind = h.ping()
        check(before <= came <= sent <= behind, f"PONG's times {came}, {sent} do not lie between {before} and {behind}")

    instance.write("events/enable", "0")
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    started = h.start()
    check(before <= started <= time.clock_gettime_ns(time.CLOCK_MONOTONIC), "STARTED's time is wrong")
    written = {}
    for i in range(10):
        for cpu in CPUS:
            instance.mark(cpu, 300)
            written[cpu] = instance.next[cpu]
        h.ping()
    stopped = h.stop()
    check(started < stopped <= time.clock_gettime_ns(time.CLOCK_MONOTONIC), "STOPPED's time is wrong")
    # Complete: nothing comes behind STOPPED.
    check(account(read_folder(STRATA, write_folder(work, h)), written, "conversation", instance) == 0, "something was lost")
    for cpu in CPUS:
        status = h.status[cpu]
        check(status["read_events"] == written[cpu] and status["overrun"] == 0 and status["bytes_queued"] == 0 and
              status["pages_sent"] == status["pages_read"] == h.next_page[cpu] and status["online"] == 1, f"STATUS: {status}")

    # Again, in the same session: numbers of pages go on.
    pages = dict(h.next_page)
    h.start()
    for cpu in CPUS:
        instance.mark(cpu, 10)
        written[cpu] = instance.next[cpu]
    h.stop()
    check(all(h.next_page[cpu] > pages[cpu] for cpu in CPUS) and h.gaps == 0, "pages are not numbered on")
    account(read_folder(STRATA, write_folder(work, h)), written, "again", instance)
    h.send(host.ASK_STATUS)
    check(h.wait(host.STATUS), "no status")
    instance.leave()
    h.send(host.BYE)
    none_left(tracefs, listening.agent)
    h.hello()
    h.setup(EVENTS)
    check(h.trace_clock in ("x86-tsc", "mono_raw"), f"the best clock is {h.trace_clock}")
    check(instances_of(tracefs, listening.agent), "there is no second instance")
    # Where nothing was traced before, since this machine has booted, the kernel has only now names to tell.
    wait_for(lambda: (h.start(), h.stop(), h.metas["saved_cmdlines"])[2], "names of tasks")
    listening.end()
    none_left(tracefs, listening.agent)
    h.close()
    print(f"conversation: {sum(written.values())} markers, {len(h.metas)} files")


def start_stop(tracefs, work):
    """50 times, each complete."""
    listening = Listening(work, "startstop")
    h = listening.connect()
    h.hello()
    h.setup(EVENTS)
    instance = instance_of(tracefs, listening.agent)
    instance.write("events/enable", "0")
    written = {}
    for i in range(50):
        h.start()
        for cpu in CPUS:
            instance.mark(cpu, 1 + 60 * (i % 4))
            written[cpu] = instance.next[cpu]
        h.stop()
        check(all(h.pages[cpu].count(b" of cpu ") == written[cpu] for cpu in CPUS), f"stop {i} is not complete")
    check(account(read_folder(STRATA, write_folder(work, h)), written, "start_stop", instance) == 0, "something was lost")
    instance.leave()
    listening.end()
    h.close()
    print(f"start_stop: {sum(written.values())} markers")


def flushed(tracefs, work):
    """What was recorded before a flush comes before its answer, also in pages that are not full, and recording goes on."""
    listening = Listening(work, "flushed")
    h = listening.connect()
    h.hello(1, 1)
    check(h.flush(1) is not None, "FLUSH before SETUP is not answered")
    h.hello()
    h.setup([*EVENTS, ("sched:sched_process_exit", "")], clock="mono", wants=4 + 32)
    instance = instance_of(tracefs, listening.agent)
    instance.write("events/enable", "0")
    started = h.start()
    written = {}

    def marked(n):
        for cpu in CPUS:
            instance.mark(cpu, n)
            written[cpu] = instance.next[cpu]

    def check_complete(where):
        """By its records: what pages hold behind these, and between, may be what they held before."""
        check(account(read_folder(STRATA, write_folder(work, h)), written, where, instance) == 0, f"{where}: something was lost")

    # Few and many; no page is full after the few, and no reader would look at its ring within two seconds.
    for i, n in enumerate([1, 3, 0, 2000, 1, 0, 0, 5, 700, 2] * 3):
        marked(n)
        h.metas.pop("saved_cmdlines", None)
        h.status = {}
        flushed_at = h.flush(100 + i)
        check_complete(f"flush {i}")
        check(started < flushed_at <= time.clock_gettime_ns(time.CLOCK_MONOTONIC), "FLUSHED's time is wrong")
        check("saved_cmdlines" in h.metas, "the names of tasks do not come with a flush")
        check(all(h.status[cpu]["read_events"] == written[cpu] for cpu in CPUS), "a flush without its status")
    check(instance.read("tracing_on") == "1\n", "a flush ended the tracing")
    # While events come without an end.
    instance.write("events/sched/sched_process_exit/enable", "1")
    for i in range(10):
        marked(20)
        h.flush(200 + i)
        check_complete(f"flush {i} under load")
    instance.write("events/enable", "0")
    # STOP right behind it, and the flush of a session that is stopped.
    marked(10)
    h.send(host.FLUSH, struct.pack("<Q", 300))
    h.send(host.STOP)
    check(h.wait(host.FLUSHED).get("Q") == 300 and h.wait(host.STOPPED), "a flush before STOP is not answered")
    h.flush(301)
    check(account(read_folder(STRATA, write_folder(work, h)), written, "flushed", instance) == 0, "something was lost")
    h.send(host.FLUSH, b"bad")
    fails(h.wait, errno.EBADMSG, "FLUSH is not well formed", host.FLUSHED)
    instance.leave()
    listening.end()
    none_left(tracefs, listening.agent)
    h.close()
    print(f"flushed: {sum(written.values())} markers")


def held(tracefs, work):
    """A host that asks for what it wants: the kernel holds the rest, and what it has no room for is sent unasked."""
    listening = Listening(work, "held")
    h = listening.connect()
    h.hello()
    h.setup(EVENTS, clock="mono", wants=64, buffer_kib=64)
    instance = instance_of(tracefs, listening.agent)
    check(instance.read("buffer_percent") == "75\n", "the kernel does not wait until a buffer is three quarters full")
    instance.write("events/enable", "0")
    h.start()
    written = {}
    for i in range(3):
        for cpu in CPUS:
            instance.mark(cpu, 3)
            written[cpu] = instance.next[cpu]
        h.flush(i)
        account(read_folder(STRATA, write_folder(work, h)), written, f"flush {i}", instance)
    # A buffer that fills is read though nobody asks.
    for i in range(3):
        for cpu in CPUS:
            before = instance.was_read(cpu)
            while instance.was_read(cpu) == before:
                instance.mark(cpu, 100)
            written[cpu] = instance.next[cpu]
        h.flush(10 + i)
    h.stop()
    account(read_folder(STRATA, write_folder(work, h)), written, "held", instance)
    instance.leave()
    listening.end()
    h.close()
    print(f"held: {sum(written.values())} markers")


def stalled(tracefs, work):
    """A host that does not read: bounded memory, exact counts, pings when it is back."""
    listening = Listening(work, "stalled", "-q", "128k")
    h = listening.connect()
    h.hello()
    h.setup(EVENTS, buffer_kib=64, queue_kib=1 << 20)
    instance = instance_of(tracefs, listening.agent)
    instance.write("events/enable", "0")
    written = {}
    memory = 0
    # Once, but where the agent is not given the time to fill its queues.
    for _ in range(20):
        h.start()
        for _ in range(10):
            for cpu in CPUS:
                instance.mark(cpu, 6000)
                written[cpu] = instance.next[cpu]
            memory = max(memory, listening.agent.memory())
        h.ping()
        h.stop()
        if all(h.status[cpu]["times_full"] > 0 for cpu in CPUS):
            break
    lost = account(read_folder(STRATA, write_folder(work, h)), written, "stalled", instance)
    check(lost > 0, "nothing was lost, so nothing was tried")
    for cpu in CPUS:
        status = h.status[cpu]
        check(status["overrun"] + status["read_events"] == written[cpu], f"STATUS does not count what was lost: {status}")
        check(status["times_full"] > 0, "no queue was ever full")
    if not os.environ.get("SANITIZED"):
        check(memory < (4 << 20) + len(CPUS) * (128 << 10), f"it took {memory} bytes of memory")
    # Once more, and ended so.
    h.start()
    for cpu in CPUS:
        instance.mark(cpu, 20000)
    instance.leave()
    took = listening.end()
    none_left(tracefs, listening.agent)
    h.close()
    print(f"stalled: {lost} of {sum(written.values())} markers lost and counted, {memory >> 10} KiB of memory, ended in {took:.3f} s")


def resumed(tracefs, work):
    """A connection is lost in the midst of a frame: the session goes on, and pages that did not come show."""
    folder = f"{work}/ports"
    os.mkdir(folder)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{folder}/org.strata.agent")
    listener.listen()
    listener.settimeout(60)
    # Here the agent connects, as to a virtio-serial port.
    agent = agent_of("-p", folder)
    h = Host(listener.accept()[0])
    h.hello()
    h.setup(EVENTS, buffer_kib=4096)
    instance = instance_of(tracefs, agent)
    instance.write("events/enable", "0")
    first = h
    h.start()
    written = {}
    for i in range(5):
        for cpu in CPUS:
            instance.mark(cpu, 2000)
            written[cpu] = instance.next[cpu]
        # Some of it is read, the rest thrown away with the connection.
        for _ in range(2):
            kind, body = h.next()
            if kind == host.DATA:
                h.on_data(body)
        h.close()
        for cpu in CPUS:
            instance.mark(cpu, 500)
            written[cpu] = instance.next[cpu]
        h = Host(listener.accept()[0], before=h)
        h.hello()
        check(h.session == first.session, "the agent has begun another session")
        h.resume(first)
    h.stop()
    seen = read_folder(STRATA, write_folder(work, h))
    for cpu in CPUS:
        numbers = [item for item in seen[cpu] if not isinstance(item, str)]
        check(numbers == sorted(set(numbers)) and numbers[-1] == written[cpu] - 1, "markers are out of order")
        missing = written[cpu] - len(numbers)
        check(instance.overrun(cpu) == 0, "the kernel's buffer was too small for this")
        check(h.status[cpu]["pages_sent"] == h.next_page[cpu], "pages are missing that no gap shows")
        check(missing == 0 or h.gaps > 0, f"CPU {cpu}: {missing} markers are missing without a gap")
    # An id that is not its own.
    fails(h.resume, errno.ESTALE, "has ended", Wrong(h))
    instance.leave()
    agent.end()
    none_left(tracefs, agent)
    h.close()
    listener.close()
    print(f"resumed: 5 times, {h.gaps} pages were on their way and lost")


class Wrong:
    def __init__(self, h):
        self.session, self.page_size = b"x" * 16, h.page_size


def kept(tracefs, work):
    """A host that does not come back: for as long as it said. One that is killed and comes anew begins anew."""
    listening = Listening(work, "kept")
    h = listening.connect()
    h.hello()
    h.setup(EVENTS, keep=3600)
    h.start()
    h.close()
    first, h = h, listening.connect()
    h.hello()
    check(h.session == first.session, "the session did not outlive its connection")
    h.resume(first)
    h.setup(EVENTS, keep=1)
    h.start()
    h.close()
    none_left(tracefs, listening.agent)
    # BYE counts, also where the connection ends right behind it.
    for _ in range(5):
        h = listening.connect()
        h.hello()
        h.setup(EVENTS)
        h.start()
        # While the agent has something else to do, so that it sees both at once.
        h.socket.sendall(b"".join(host.frame(kind) for kind in [host.ASK_STATUS] * 50 + [host.BYE]))
        h.close()
        none_left(tracefs, listening.agent)
    # And where a trace is under way, so that the agent is between two looks for what the host says.
    for _ in range(20):
        h = listening.connect()
        h.hello()
        h.setup([("raw_syscalls:*", "")])
        h.start()
        h.socket.sendall(host.frame(host.BYE))
        h.close()
        none_left(tracefs, listening.agent)
    for _ in range(3):
        h = listening.connect()
        h.hello()
        h.setup(EVENTS)
        h.start()
        h.close()
    check(len(instances_of(tracefs, listening.agent)) == 1, "sessions pile up")
    listening.end()
    check(b"no host reconnected within 1 s" in listening.agent.said, listening.agent.said)
    print("kept: fine")


def killed(tracefs, work):
    """The instance of an agent that was killed is removed by the next one; that of one that lives is not."""
    def traced(name):
        listening = Listening(work, name)
        listening.h = listening.connect()
        listening.h.hello()
        listening.h.setup(EVENTS)
        listening.h.start()
        return listening

    other = traced("other")
    # Once, but where an agent of another test that begins in this moment removes it.
    for i in range(20):
        one = traced(f"one{i}")
        one.agent.process.kill()
        one.agent.process.wait()
        one.agent.process.stderr.close()
        if instances_of(tracefs, one.agent):
            break
    else:
        check(False, "the kernel removes an instance by itself")
    third = Listening(work, "third")
    none_left(tracefs, one.agent)
    check(instances_of(tracefs, other.agent), "the instance of the living is gone")
    other.h.stop()
    other.end()
    third.end()
    print("killed: fine")


def wrong(tracefs, work):
    """What cannot be is refused with a reason, and leaves nothing behind; garbage is passed over."""
    listening = Listening(work, "wrong")
    h = listening.connect()
    h.send(host.SETUP, b"before HELLO")
    h.socket.sendall(os.urandom(100) + host.frame(host.START)[:20])
    h.hello()
    fails(h.hello, errno.EPROTONOSUPPORT, "version", 3, 4)
    h.hello()
    fails(h.setup, errno.ENOENT, "no event 'sched:sched_nothing'", [("sched:sched_switch", ""), ("sched:sched_nothing", "")])
    fails(h.setup, errno.EINVAL, "rejects the filter 'prio >'", [("sched:sched_waking", "prio >")])
    fails(h.setup, errno.ENOENT, "no trace clock 'sundial'", EVENTS, clock="sundial")
    fails(h.setup, errno.ENOMEM, "more than a quarter of the guest's memory", EVENTS, buffer_kib=1 << 31)
    fails(h.start, errno.EINVAL, "START without SETUP")
    fails(h.stop, errno.EINVAL, "STOP without SETUP")
    h.send(host.SETUP, b"nonsense")
    fails(h.wait, errno.EBADMSG, "not well formed", host.READY)
    h.send(99)
    fails(h.wait, errno.EPROTO, "does not know this message", host.READY)
    check(not instances_of(tracefs, listening.agent), "an instance is left of what failed")
    # A frame whose end never comes, then another host on the same stream.
    h.socket.sendall(host.frame(host.SETUP, b"x" * 60000)[:1000])
    h.sent = 0
    h.hello()
    h.setup(EVENTS)
    h.start()
    # Everything twice, and in the midst of it HELLO again.
    h.start()
    h.hello()
    h.setup(EVENTS)
    h.start()
    h.stop()
    h.stop()
    listening.end()
    none_left(tracefs, listening.agent)
    h.close()
    print("wrong: fine")


def flooded(tracefs, work):
    """A host that asks for more than it can have heard of, and is gone: none of that is done, and the next one is served."""
    listening = Listening(work, "flooded")
    h = listening.connect()
    h.hello()
    h.setup(EVENTS)
    setup = struct.pack("<III", 0, 0, 0) + host.text("") + struct.pack("<BBI", 0, 6, 1) + host.text("sched:sched_switch") + host.text("")
    with contextlib.suppress(OSError):
        for _ in range(2000):
            h.send(host.SETUP, setup)
    h.close()
    h = listening.connect()
    h.hello()
    h.setup(EVENTS)
    # Each setup makes an instance, whose name ends with its number.
    [name] = instances_of(tracefs, listening.agent)
    check(int(name.rsplit("-", 1)[1]) < 70, f"what the host that is gone had asked for is done: {name}")
    h.send(host.BYE)
    listening.end()
    none_left(tracefs, listening.agent)
    print("flooded: fine")


def tcp(tracefs, work):
    """TCP, never without a key, and nothing for who does not know it."""
    # Nobody else is given that port while it is bound, and the agent may still listen there.
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    port = reserved.getsockname()[1]
    key_file = f"{work}/key"
    with open(key_file, "w") as f:
        f.write("a key of some length\n")
    for mode, words, told in [
            (0o600, [], "give a key with --key=FILE"),
            (0o644, ["-k", key_file], "others can read this key"),
            (0o600, ["-k", "/dev/null"], "others can read this key"),
            (0o600, ["-k", f"{work}/none"], "No such file")]:
        os.chmod(key_file, mode)
        done = subprocess.run([f"{BIN}/strata-agent", "-l", f"tcp:127.0.0.1:{port}", *words], capture_output=True, text=True)
        check(done.returncode == 1 and told in done.stderr, done)
    for address in "tcp:localhost:1", "tcp:127.0.0.1", "tcp:1.2.3.4:0", "tcp:1.2.3.4:65536", "vsock:x", "unix:", "file:x":
        done = subprocess.run([f"{BIN}/strata-agent", "-l", address], capture_output=True, text=True)
        check(done.returncode == 1 and "invalid address" in done.stderr and "to listen at" in done.stderr, done)

    agent = agent_of("-l", f"tcp:127.0.0.1:{port}", "-k", key_file)

    def attempt():
        try:
            return Host(socket.create_connection(("127.0.0.1", port)))
        except ConnectionRefusedError:
            return None

    connections = []
    wait_for(lambda: connections.append(attempt()) or connections[-1], "the agent to listen")
    h = connections[-1]
    h.hello()
    check(h.needs_auth, "the agent asks for no key")
    # Without a proof nothing is answered, nothing is done.
    h.send(host.PING, struct.pack("<QQ", 1, 2))
    h.send(host.SETUP, struct.pack("<III", 0, 0, 0) + host.text("") + struct.pack("<BBI", 0, 0, 0))
    h.send(host.START)
    fails(h.auth, errno.EACCES, "does not know the key", b"another key of some length")
    check(not instances_of(tracefs, agent), "it traces for somebody unknown")
    try:
        h.next()
        check(False, "it goes on talking to somebody unknown")
    except host.Gone:
        pass
    h.close()
    h = attempt()
    h.hello()
    h.auth(b"a key of some length")
    h.setup(EVENTS, clock="mono")
    before, came, sent, behind = h.ping()
    check(before <= came <= sent <= behind, "PONG is wrong")
    h.start()
    h.stop()
    agent.end()
    h.close()
    reserved.close()

    # The agent connects.
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(60)
        agent = agent_of("-c", f"tcp:127.0.0.1:{listener.getsockname()[1]}", "-k", key_file)
        h = Host(listener.accept()[0])
        h.hello()
        h.auth(b"a key of some length")
        h.setup(EVENTS)
        agent.end()
        h.close()
    print("tcp: fine")


def strangers(tracefs, work):
    """A connection that says nothing holds nobody up, and keeps its own; one that proves nothing makes room, however much it says."""
    key_file = f"{work}/key2"
    with open(os.open(key_file, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
        f.write("a key of some length\n")
    listening = Listening(work, "strangers", "-k", key_file)

    def serve():
        h = listening.connect()
        h.hello()
        h.auth(b"a key of some length")
        h.setup(EVENTS)
        h.send(host.BYE)
        h.wait(host.BYE)
        return h

    silent = [listening.connect() for _ in range(20)]
    h = serve()
    silent[-1].socket.setblocking(False)
    try:
        check(silent[-1].socket.recv(1), "the agent has closed a connection that said nothing for one that did")
    except BlockingIOError:
        pass
    # Whoever speaks first is served first, whoever connected first.
    h.close()
    late = silent[-1]
    late.socket.setblocking(True)
    late.hello()
    late.auth(b"a key of some length")
    late.close()

    stranger = listening.connect()
    done = threading.Event()

    def chatter():
        with contextlib.suppress(OSError):
            while not done.wait(0.1):
                stranger.send(host.HELLO, struct.pack("<HH", 1, 1) + os.urandom(16))

    thread = threading.Thread(target=chatter)
    thread.start()
    try:
        stranger.next()
        h = serve()
    finally:
        done.set()
        thread.join()
    for connection in [h, stranger, *silent]:
        connection.close()
    listening.end()
    print("strangers: fine")


def given(tracefs, work):
    """A connection that was made beforehand: the agent ends with it, also when its host is killed; and records the threads of one process."""
    if os.stat("/proc/self/ns/pid").st_ino != 0xEFFFFFFC:  # PROC_PID_INIT_INO
        print("agent_protocol: SKIPPED in part: whose events come: the kernel's numbers are unknown in this PID namespace", file=sys.stderr)
        return
    for pid in [None, os.getpid()]:
        ours, its = socket.socketpair()
        words = [f"--pid={pid}"] if pid else []
        other = subprocess.Popen(["python3", "-c", "import os\ninput()\nfor _ in range(7): os.getppid()"], stdin=subprocess.PIPE)
        agent = Process([f"{BIN}/strata-agent", f"--fd={its.fileno()}", *words], pass_fds=[its.fileno()])
        its.close()
        h = Host(ours)
        h.hello()
        h.setup([("syscalls:sys_enter_getppid", "")], clock="mono")
        instance = instance_of(tracefs, agent)
        pids = {int(p) for p in instance.read("set_event_pid").split() if p.isdigit()}
        check(h.facts["pid_filter"] == str(pid or 0), f"it tells {h.facts}")
        check(pids == ({int(t) for t in os.listdir("/proc/self/task")} if pid else set()), f"it records the threads {pids}")
        h.start()
        instance.leave()
        other.communicate(b"\n")
        for _ in range(5):
            os.getppid()
        child = subprocess.Popen(["python3", "-c", "import os\nfor _ in range(3): os.getppid()"])
        child.wait()
        h.stop()
        found = collections.Counter()
        done = subprocess.run([STRATA, "report", "--format=json", "-e", "sys_enter_getppid", write_folder(work, h)],
                              capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            found[json.loads(line).get("pid")] += 1
        check(found[os.getpid()] == 5 and found[child.pid] == 3, f"of 5 and 3 events came {found[os.getpid()]} and {found[child.pid]}")
        check(found[other.pid] == (0 if pid else 7), f"of another process came {found[other.pid]} events")
        h.close()
        agent.process.wait(60)
        check(agent.process.returncode == 0, f"it ended with {agent.process.returncode}")
        agent.process.stderr.close()
        none_left(tracefs, agent)
    # What is no connection.
    agent = Process([f"{BIN}/strata-agent", "--fd=0"], stdin=subprocess.DEVNULL)
    agent.process.wait(60)
    said = agent.process.stderr.read()
    agent.process.stderr.close()
    check(agent.process.returncode == 1 and b"not a socket" in said, f"with --fd=0 it says {said}")
    print("given: fine")


def run_recorded(tracefs, work, name, marker):
    """Whether the trace has the name of the command, which begins after SETUP: it comes at the end."""
    # A system call that nothing else makes 41 times, and a signal that the agent blocks and the command must not.
    work_of = ["python3", "-c", f"import os, signal, time\nopen('{marker}', 'w').close()\n"
               "assert not signal.pthread_sigmask(signal.SIG_BLOCK, [])\n"
               "for _ in range(41): os.getppid(); time.sleep(0.001)\nraise SystemExit(7)"]
    rm_if_there(marker)
    listening = Listening(work, name, "--run", *work_of)
    h = listening.connect()
    h.hello()
    h.setup([("syscalls:sys_enter_getppid", "")], clock="mono")
    h.send(host.ASK_STATUS)
    h.wait(host.STATUS)
    check(not os.path.exists(marker), "the command was started before START")
    h.start()
    h.wait(host.BYE)
    # Names come after the last page, as with STOP.
    check(h.status is not None, "the agent did not send its status at the end")
    listening.agent.process.wait(60)
    check(listening.agent.process.returncode == 7, f"the command ended with 7, the agent with {listening.agent.process.returncode}")
    listening.agent.process.stderr.close()
    found = collections.Counter()
    done = subprocess.run([STRATA, "report", "--format=json", "-e", "sys_enter_getppid", write_folder(work, h)],
                          capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        found[json.loads(line).get("pid")] += 1
    check(41 in found.values(), f"of 41 calls of the command the trace has: {found}")
    pid = next(pid for pid, n in found.items() if n == 41)
    h.close()
    none_left(tracefs, listening.agent)
    return any(line.split()[0] == str(pid).encode() for line in h.metas["saved_cmdlines"].splitlines())


def run(tracefs, work):
    """--run: the command starts when the host's events are on, and all that it does is in the trace; the agent ends with it, and as it."""
    marker = f"{work}/ran"
    # Once, but where the kernel, which knows the names of 128 tasks, has had to do with as many others since the command ended.
    check(any(run_recorded(tracefs, work, f"run{i}", marker) for i in range(20)), "the agent did not send the names of tasks at the end")

    # STOP does not end the command, and another START does not start it again; a signal to the agent ends both.
    runs = f"{work}/runs"
    listening = Listening(work, "stop", "--run", "sh", "-c", f"echo run >>{runs}; trap 'echo ended >>{runs}; exit 3' TERM; "
                          f"echo ready >>{runs}; exec 2>&-; n=0; while [ $n -lt 3000 ]; do n=$((n + 1)); sleep 0.02; done")
    h = listening.connect()
    h.hello()
    h.setup(EVENTS)
    h.start()
    wait_for(lambda: os.path.exists(runs) and "ready" in open(runs).read(), "the command to run")
    h.stop()
    h.start()
    h.stop()
    listening.end(status=128 + signal.SIGTERM)
    wait_for(lambda: open(runs).read() == "run\nready\nended\n", "the command to get the signal")
    h.close()

    # No host: with --run-after the command runs nevertheless, and the agent says so.
    agent = agent_of("-l", f"unix:{work}/nobody", "--run-after=0", "--run", "sh", "-c", "exit 5")
    agent.process.wait(60)
    said = agent.process.stderr.read()
    agent.process.stderr.close()
    check(agent.process.returncode == 5 and b"no host has started tracing after 0 s" in said, f"{agent.process.returncode}: {said}")
    # Without it a signal ends the wait, and the status says that the command has not run.
    rm_if_there(marker)
    listening = Listening(work, "never", "--run", "touch", marker)
    listening.end(status=128 + signal.SIGTERM)
    check(not os.path.exists(marker), "the command ran though no host came")
    # What cannot be run.
    for words, status in [(["/nonexistent"], 127), (["/dev/null"], 126)]:
        agent = agent_of("-l", f"unix:{work}/cannot", "--run-after=0", "--run", *words)
        agent.process.wait(60)
        said = agent.process.stderr.read()
        agent.process.stderr.close()
        check(agent.process.returncode == status and b"cannot run" in said, f"{words}: {agent.process.returncode}: {said}")
    agent = agent_of("-w", "0", "-p", work, "--run", "touch", marker)
    agent.process.wait(60)
    agent.process.stderr.close()
    check(agent.process.returncode == 125 and not os.path.exists(marker), f"without a port: {agent.process.returncode}")
    print("run: fine")


def main():
    only = sys.argv[2:]
    with tempfile.TemporaryDirectory() as work:
        tracefs = Tracefs(work)
        try:
            for scenario in [conversation, start_stop, flushed, held, stalled, resumed, kept, killed, wrong, flooded, tcp, strangers, given, run]:
                if not only or scenario.__name__ in only:
                    scenario(tracefs, work)
        finally:
            all_ended()
            tracefs.close()


main()
