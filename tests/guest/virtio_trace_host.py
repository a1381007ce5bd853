"""An old host, which knows the ports of Linux's trace-agent and no more, with strata-agent in the guest."""

import collections
import os
import subprocess
import time

import events
from agent import Agent
from machine import CPUS, at_once, expect, wait_until
from tracefs import EVENTS, TRACEFS, Tracefs

# Of a page that is full, by far the most.
PAGE = 4096


def marks(count, size, name, per_second=0, cpus=range(CPUS), folder=TRACEFS, first=0):
    """A command that writes numbered lines on all CPUs at once."""
    return at_once(*(f"guest-tool marks {cpu} {first} {count} {size} {name} {per_second} {folder}" for cpu in cpus))


def marks_until_lost(run, name, first, folder=TRACEFS):
    """Writes them, a round after the other, until of a round each CPU's buffer overwrites most: then all queues before it are full,
    which hold more or less depending on the pieces that are sent. Returns the next number."""
    def overwritten():
        return [int(n) for n in run.guest.text(f"sed -n 's/^overrun: //p' {folder}/per_cpu/cpu*/stats").split()]
    count, rounds = 15000, 10
    for _ in range(rounds):
        before = overwritten()
        run.guest.run(marks(count, 1000, name, folder=folder, first=first))
        first += count
        lost = [now - was for now, was in zip(overwritten(), before)]
        if min(lost) > count * 2 / 3:
            return first
    return expect(False, f"of a round of {count}, only {lost} are lost")


def all_marks_came(run, folder, count, name, cpus=range(CPUS)):
    """The numbers of lost ones, per CPU."""
    items = events.report(run.strata, folder)
    return [events.numbered(items, cpu, name, count) for cpu in cpus]


def has_events(run, folder, expected):
    """Whether FOLDER has as many events of each CPU as EXPECTED."""
    got = collections.Counter(item.cpu for item in events.report(run.strata, "--keep-going", folder))
    return all(got[cpu] >= len(expected[cpu]) for cpu in range(CPUS))


def echo_and_cat(run):
    """Word for word what the old instructions say: `echo 1`, `cat`; the events of the guest's own trace files."""
    top = Tracefs(run.guest)
    top.reset(EVENTS)
    run.guest.run(at_once("guest-tool forks 0 200", "guest-tool forks 1 200", marks(500, 100, "mark", cpus=[0])))
    top.set("tracing_on", 0)
    folder = run.folder("echo-and-cat")
    expected = [events.of_guest(text) for text in top.texts(folder)]
    top.export(folder)
    agent = Agent(run.guest)
    cats = [subprocess.Popen(["sh", "-c", f"exec cat {run.guest.ports}/trace-path-cpu{n}.out >{folder}/cpu{n}.raw"])
            for n in range(CPUS)]
    try:
        subprocess.run(["sh", "-c", f"echo 1 >{run.guest.ports}/agent-ctl-path.in"], check=True)
        host = run.host(folder)
        wait_until(lambda: min(host.sizes()) > 0, "no data")
        # However little time a busy machine gives to cat.
        wait_until(lambda: has_events(run, folder, expected), "not all data")
        subprocess.run(["sh", "-c", f"echo 0 >{run.guest.ports}/agent-ctl-path.in"], check=True)
    finally:
        for cat in cats:
            cat.kill()
            cat.wait()
    agent.stop()
    got = events.report(run.strata, folder)
    for cpu in range(CPUS):
        expect(len(expected[cpu]) >= 400, f"only {len(expected[cpu])} events on CPU {cpu}")
        events.same(expected[cpu], [item for item in got if item.cpu == cpu])


def to_standard_output(run):
    """`trace-agent -o`, until it is ended: the same."""
    top = Tracefs(run.guest)
    top.reset(EVENTS)
    run.guest.run("guest-tool forks 0 100")
    top.set("tracing_on", 0)
    folder = run.folder("standard-output")
    expected = [event for text in top.texts(folder) for event in events.of_guest(text)]
    top.export(folder)
    run.guest.run("ln -sf strata-agent /bin/trace-agent; >/tmp/pages")
    agent = Agent(run.guest, "trace-agent -o", "/tmp/pages")
    run.host(folder).command("1")
    look = "wc -c </tmp/pages"
    wait_until(lambda: int(run.guest.text(look)) >= PAGE, "no pages")
    # All of them: an agent that is ended does not take its time.
    wait_until(lambda: len(set(run.guest.text(f"{look}; sleep 1; {look}").split())) == 1, "pages still come")
    run.host(folder).command("0")
    agent.stop()
    with open(f"{folder}/cpu0.raw", "wb") as file:
        file.write(run.guest.run("cat /tmp/pages; rm /tmp/pages"))
    # The protocol does not say from which CPU a page is.
    got = [event._replace(cpu=None) for event in events.report(run.strata, "--keep-going", folder)]
    events.same(sorted(event._replace(cpu=None) for event in expected), sorted(got))


def live(run):
    """While events happen: what another buffer of the guest holds of them."""
    top = Tracefs(run.guest)
    oracle = Tracefs(run.guest, "oracle")
    folder = run.folder("live")
    # It is on before and after the other one: a worker of the kernel that begins between the two is in both, or in it alone.
    oracle.reset(EVENTS, kilobytes=16384)
    top.reset(EVENTS)
    agent = Agent(run.guest)
    host = run.host(folder)
    host.read()
    host.command("1\n")
    run.guest.run(at_once("guest-tool forks 0 800", "guest-tool forks 1 800"))
    top.set("tracing_on", 0)
    oracle.set("tracing_on", 0)
    host.command("0\n")
    host.wait_for_quiet()
    expected = events.of_guest(oracle.get("trace"))
    top.export(folder)
    agent.stop()
    host.gone()
    oracle.remove()
    got = events.report(run.strata, folder)
    for cpu in range(CPUS):
        seen, lost = events.subsequence_with_losses(expected, got, cpu)
        print(f"  CPU {cpu}: {seen} events, {lost} lost")

        def deeds(items):
            return [events.what(item) for item in items
                    if isinstance(item, events.Event) and item.cpu == cpu and item.name == "sched_process_fork"]
        if lost == 0:
            events.same(deeds(expected), deeds(got))


def fifty_starts(run):
    """Started and stopped 50 times, in any framing: everything, once."""
    top = Tracefs(run.guest)
    folder = run.folder("fifty-starts")
    top.reset()
    top.export(folder)
    agent = Agent(run.guest)
    host = run.host(folder)
    host.read()
    starts, stops = ["1\n", "1", "0\n1\n", "1\n1\n", "1\n0\n1\n"], ["0\n", "0", "1\n0\n", "0\n0\n", "0\n1\n0"]
    run.guest.start(marks(5000, 60, "fifty", 2500))
    for n in range(50):
        host.command(starts[n % len(starts)])
        time.sleep(0.02)
        host.command(stops[n // len(starts) % len(stops)])
        time.sleep(0.02)
    status, output = run.guest.ended()
    expect(status == 0, output)
    host.command("1")
    # A stop sends what is left in the buffers.
    host.command("0")
    host.wait_for_quiet()
    agent.stop()
    host.gone()
    expect(all_marks_came(run, folder, 5000, "fifty") == [0] * CPUS, "losses")


def host_stalls(run):
    """The host does not read while more happens than any queue holds: the guest goes on, and what it lost is counted to
    the event. Then the host reads again."""
    top = Tracefs(run.guest)
    folder = run.folder("host-stalls")
    top.reset()
    top.export(folder)
    agent = Agent(run.guest)
    host = run.host(folder)
    host.read()
    host.command("1")
    run.guest.run(marks(5000, 500, "stall"))
    wait_until(lambda: min(host.sizes()) > 100 * PAGE, "no data")
    host.gone()
    end = marks_until_lost(run, "stall", 5000)
    host.read()
    run.guest.run(marks(5000, 500, "stall", first=end))
    host.command("0")
    host.wait_for_quiet()
    memory = agent.memory()
    agent.stop()
    host.gone()
    lost = all_marks_came(run, folder, end + 5000, "stall")
    print(f"  lost per CPU: {lost} of {end + 5000}; the agent's memory: {memory} KiB")
    expect(min(lost) > 1000, "the losses are not shown")
    expect(memory < (CPUS * 4 + 4) * 1024, f"the agent held {memory} KiB")


def ends_while_host_stalls(run):
    """Without a reader, the agent ends on its signal, and the next agent works."""
    top = Tracefs(run.guest)
    folder = run.folder("ends")
    top.reset(kilobytes=4096)
    host = run.host(folder)
    agent = Agent(run.guest)
    host.command("1")
    run.guest.run(marks(40000, 500, "unread"))
    took = agent.stop()
    print(f"  the agent ended within {took:.2f} s")
    # The first agent's are still on their way: whole pages, or the next ones could not be read.
    host.read()
    host.wait_for_quiet()
    host.gone()
    top.reset()
    top.export(folder)
    agent = Agent(run.guest)
    host.read()
    host.command("1")
    run.guest.run(marks(1000, 100, "after"))
    host.command("0")
    host.wait_for_quiet()
    agent.stop()
    host.gone()
    items = events.report(run.strata, "--keep-going", folder)
    for cpu in range(CPUS):
        events.numbered([item for item in items if isinstance(item, events.Event)], cpu, "after", 1000)


def agent_killed(run):
    """SIGKILL, again and again, while it works; the next one goes on, and misses nothing."""
    top = Tracefs(run.guest)
    folder = run.folder("agent-killed")
    top.reset()
    top.export(folder)
    host = run.host(folder)
    host.read()
    for _ in range(3):
        agent = Agent(run.guest)
        host.command("1")
        size = sum(host.sizes())
        run.guest.start(marks(5000, 200, "killed", 5000))
        wait_until(lambda: sum(host.sizes()) > size + 20 * PAGE, "no data")
        # By hand: the shell is at work.
        status, output = run.guest.ended()
        expect(status == 0, output)
        agent.stop("KILL")
    host.wait_for_quiet()
    top.reset()
    agent = Agent(run.guest)
    host.command("1")
    run.guest.run(marks(1000, 100, "after"))
    host.command("0")
    host.wait_for_quiet()
    agent.stop()
    host.gone()
    items = events.report(run.strata, "--keep-going", folder)
    for cpu in range(CPUS):
        events.numbered([item for item in items if isinstance(item, events.Event)], cpu, "after", 1000)


def cpu_goes_and_comes(run):
    """A CPU is taken offline and comes back, three times: what was in its buffer comes, and what happens on it then."""
    top = Tracefs(run.guest)
    folder = run.folder("hotplug")
    top.reset()
    top.export(folder)
    agent = Agent(run.guest)
    host = run.host(folder)
    host.read()
    host.command("1")
    online = "/sys/devices/system/cpu/cpu1/online"
    for n in range(3):
        # In each round CPU 1 has just been at work: something of that is in its buffer.
        run.guest.run(marks(2000, 100, f"round{n}") + f"; echo 0 >{online}")
        run.guest.run(marks(500, 100, f"alone{n}", cpus=[0]))
        expect(agent.is_running(), agent.log())
        run.guest.run(f"echo 1 >{online}")
    run.guest.run(marks(500, 100, "end"))

    def bound():
        """The CPUs that the agent's threads may run on."""
        return run.guest.text(f"sed -n 's/^Cpus_allowed_list:[^0-9]*//p' /proc/{agent.pid}/task/*/status").split()
    wait_until(lambda: "0" in bound() and "1" in bound(), f"no thread is bound to each CPU again: {bound()}")
    host.command("0")
    host.wait_for_quiet()
    agent.stop()
    host.gone()
    items = events.report(run.strata, folder)
    for cpu in range(CPUS):
        for n in range(3):
            expect(events.numbered(items, cpu, f"round{n}", 2000) == 0, "losses")
        expect(events.numbered(items, cpu, "end", 500) == 0, "losses")
    for n in range(3):
        expect(events.numbered(items, 0, f"alone{n}", 500) == 0, "losses")


def leaves_no_trace(run):
    """When the agent has ended, tracefs is as it was."""
    top = Tracefs(run.guest)
    top.reset(EVENTS, "x86-tsc", 512)
    files = ("tracing_on trace_clock buffer_size_kb buffer_percent set_event current_tracer trace_options "
             "tracing_cpumask per_cpu/cpu1/buffer_size_kb")
    look = f"cd {TRACEFS}; ls instances; for file in {files}; do echo $file; cat $file; done; cd /"
    before = run.guest.text(look)
    for name in "TERM", "INT":
        agent = Agent(run.guest)
        host = run.host(run.folder("no-trace"))
        host.read()
        host.command("1")
        run.guest.run("guest-tool forks 1 100")
        wait_until(lambda: max(host.sizes()) > 0, "no data")
        agent.stop(name)
        host.gone()
        expect(run.guest.text(look) == before, "tracefs was\n" + before, "\n\nand is\n" + run.guest.text(look))


SCENARIOS = [echo_and_cat, to_standard_output, live, fifty_starts, host_stalls, ends_while_host_stalls, agent_killed,
             cpu_goes_and_comes, leaves_no_trace]
