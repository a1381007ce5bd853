"""Strata on both sides: `strata collect` on the host, strata-agent in the guest."""

import signal
import time

import events
from agent import Agent
from collect import Collect
from host import Wire
from machine import CPUS, at_once, expect, wait_until
from virtio_trace_host import marks, marks_until_lost
from tracefs import EVENTS, TRACEFS, Tracefs

GLOBS = [f"--event={event.replace('/', ':')}" for event in EVENTS]


def no_instance(run):
    # The kernel may take longer for it than an agent that is ended has time.
    wait_until(lambda: run.guest.text(f"ls {TRACEFS}/instances") == "", "instances are left")


def compared(run, folder, expected):
    """The folder holds what the guest held."""
    got = events.report(run.strata, folder)
    for cpu in range(CPUS):
        seen, lost = events.subsequence_with_losses(expected, got, cpu)
        print(f"  CPU {cpu}: {seen} events, {lost} lost")
        deeds = [[events.what(item) for item in items
                  if isinstance(item, events.Event) and item.cpu == cpu and item.name == "sched_process_fork" and
                  item.text.startswith("comm=guest-tool ")] for items in (expected, got)]
        expect(len(deeds[0]) > 100, "the guest did nothing")
        if lost == 0:
            events.same(*deeds)


def collected(run):
    """While events happen: what another buffer of the guest holds of them; plain, and compressed."""
    oracle = Tracefs(run.guest, "oracle")
    agent = Agent(run.guest)
    for level in 0, 3:
        oracle.reset(EVENTS, kilobytes=16384)
        collect = Collect(run, run.folder(f"collected-{level}"), *GLOBS, f"--compress={level}")
        run.guest.run(at_once("guest-tool forks 0 500", "guest-tool forks 1 500"))
        folder = collect.stop()
        oracle.set("tracing_on", 0)
        compared(run, folder, events.of_guest(oracle.get("trace")))
    agent.stop()
    oracle.remove()
    no_instance(run)


def shown_live(run):
    """What is shown while it happens is what is written."""
    agent = Agent(run.guest)
    collect = Collect(run, run.folder("shown-live"), "--event=sched:sched_process_fork", "--live", "--clock=mono")
    run.guest.run(marks(2000, 400, "live", folder=collect.instance))

    def shown():
        return [line for line in collect.says().splitlines() if " [0" in line]

    wait_until(lambda: sum(" live 1999" in line for line in shown()) == CPUS, "it is not shown before it ends")
    folder = collect.stop()
    agent.stop()
    written = events.report(run.strata, folder)
    live = events.of_report(shown())
    for cpu in range(CPUS):
        expect(events.numbered(live, cpu, "live", 2000) == 0, "losses")
        # The names of tasks may be known later than they are shown.
        events.same([(item.time, item.name, item.text) for item in written if item.cpu == cpu],
                    [(item.time, item.name, item.text) for item in live if item.cpu == cpu])
    print(f"  {len(live)} lines are shown as they are written")
    no_instance(run)


def taking_wakes_nobody(run):
    """Each piece that the host takes is an interrupt; the agent's receiver wakes only for what the host says."""
    agent = Agent(run.guest)
    collect = Collect(run, run.folder("taking"), "--event=sched:sched_process_fork")

    def counts():
        wakes, interrupts = run.guest.text(
            f"for t in /proc/{agent.pid}/task/*; do grep -q receiver $t/comm && sed -n 's/^voluntary_ctxt_switches:\t//p' $t/status; done; "
            "sed -n 's/ *[0-9]*: *\\([0-9]*\\) *\\([0-9]*\\) .*virtio0-virtqueues.*/\\1+\\2/p' /proc/interrupts").split()
        return int(wakes), sum(map(int, interrupts.split("+")))

    before = counts()
    # Once, but where the host takes few large pieces, or has so little time that what wakes the receiver now and then counts.
    for n in range(1, 9):
        run.guest.run(marks(20000, 500, "taken", 10000, folder=collect.instance, first=20000 * (n - 1)))
        wakes, interrupts = (after - was for after, was in zip(counts(), before))
        if interrupts > 100 and wakes < interrupts / 2:
            break
    items = events.report(run.strata, collect.stop())
    agent.stop()
    for cpu in range(CPUS):
        events.numbered(items, cpu, "taken", 20000 * n)
    print(f"  {wakes} wakes at {interrupts} interrupts")
    expect(interrupts > 100 and wakes < interrupts / 2, "the receiver wakes with each interrupt")
    no_instance(run)


def collected_again(run):
    """One session after the other: each takes all of its own time."""
    agent = Agent(run.guest)
    for n in range(5):
        collect = Collect(run, run.folder("again"), "--event=sched:sched_process_fork")
        run.guest.run(marks(1000 + n, 100, f"session{n}", folder=collect.instance))
        items = events.report(run.strata, collect.stop())
        for cpu in range(CPUS):
            expect(events.numbered(items, cpu, f"session{n}", 1000 + n) == 0, "losses")
    agent.stop()
    no_instance(run)


def collector_stalls(run):
    """The collector stands still for 10 s, in which more happens than any queue holds: the guest goes on, and what it
    lost is counted to the event. Then the collector goes on."""
    agent = Agent(run.guest)
    # An event that does not happen: each that is lost is a mark.
    collect = Collect(run, run.folder("collector-stalls"), "--event=sched:sched_process_hang")
    run.guest.run(marks(5000, 500, "stall", folder=collect.instance))
    collect.signal(signal.SIGSTOP)
    back = time.monotonic() + 10
    end = marks_until_lost(run, "stall", 5000, collect.instance)
    time.sleep(max(0, back - time.monotonic()))
    collect.signal(signal.SIGCONT)
    run.guest.run(marks(5000, 500, "stall", folder=collect.instance, first=end))
    memory = agent.memory()
    items = events.report(run.strata, collect.stop())
    agent.stop()
    lost = [events.numbered(items, cpu, "stall", end + 5000) for cpu in range(CPUS)]
    print(f"  lost per CPU: {lost} of {end + 5000}; the agent's memory: {memory} KiB")
    expect(min(lost) > 1000, "the losses are not shown")
    expect(memory < (CPUS * 4 + 4) * 1024, f"the agent held {memory} KiB")
    no_instance(run)


def collector_killed(run):
    """The collector is killed; the next one gets all that happens then. What the killed one wrote can be read."""
    agent = Agent(run.guest)
    for n in range(3):
        collect = Collect(run, run.folder(f"collector-killed-{n}"), "--event=sched:sched_process_fork")
        run.guest.run(marks(5000, 200, f"session{n}", folder=collect.instance))
        if n < 2:
            collect.kill()
            events.report(run.strata, collect.folder)
    items = events.report(run.strata, collect.stop())
    for cpu in range(CPUS):
        expect(events.numbered(items, cpu, "session2", 5000) == 0, "losses")
    agent.stop()
    no_instance(run)


def collected_agent_killed(run):
    """The agent is killed, and started again while the collector waits: it is traced again."""
    agent = Agent(run.guest)
    collect = Collect(run, run.folder("collected-agent-killed"), "--event=sched:sched_process_fork")
    run.guest.run(marks(5000, 200, "first", folder=collect.instance))
    agent.stop("KILL")
    agent = Agent(run.guest)
    collect.traces(2)
    collect.look_for_instance()
    run.guest.run(marks(5000, 200, "second", folder=collect.instance))
    items = events.report(run.strata, "--keep-going", collect.stop(0, 1))
    for cpu in range(CPUS):
        expect(events.numbered([item for item in items if isinstance(item, events.Event)], cpu, "second", 5000) == 0,
               "losses")
    agent.stop()
    no_instance(run)


def collected_while_cpu_is_away(run):
    """A CPU is taken offline and comes back while it is traced."""
    agent = Agent(run.guest)
    collect = Collect(run, run.folder("collected-hotplug"), "--event=sched:sched_process_fork")
    online = "/sys/devices/system/cpu/cpu1/online"
    run.guest.run(marks(2000, 100, "before", folder=collect.instance) + f"; echo 0 >{online}")
    run.guest.run(marks(500, 100, "alone", cpus=[0], folder=collect.instance))
    run.guest.run(f"echo 1 >{online}")
    run.guest.run(marks(2000, 100, "end", folder=collect.instance))
    items = events.report(run.strata, collect.stop())
    for cpu in range(CPUS):
        expect(events.numbered(items, cpu, "before", 2000) == 0, "losses")
        expect(events.numbered(items, cpu, "end", 2000) == 0, "losses")
    expect(events.numbered(items, 0, "alone", 500) == 0, "losses")
    agent.stop()
    no_instance(run)


def collected_from_cpu_of_a_moment(run):
    """A CPU that is online only for a moment, between two looks of the agent, and just before the end."""
    online = "/sys/devices/system/cpu/cpu1/online"
    run.guest.run(f"echo 0 >{online}")
    agent = Agent(run.guest)
    collect = Collect(run, run.folder("collected-moment"), "--event=sched:sched_process_fork")
    run.guest.run(f"echo 1 >{online}; {marks(20, 100, 'moment', cpus=[1], folder=collect.instance)}; echo 0 >{online}")
    items = events.report(run.strata, collect.stop())
    run.guest.run(f"echo 1 >{online}")
    expect(events.numbered(items, 1, "moment", 20) == 0, "losses")
    agent.stop()
    no_instance(run)


def agent_ends_while_collected(run):
    """SIGTERM of the agent: what it read still comes, it takes its instance away, and the collector waits for the
    next one until it gets SIGTERM."""
    agent = Agent(run.guest)
    collect = Collect(run, run.folder("agent-ends"), "--event=sched:sched_process_fork")
    run.guest.run(marks(5000, 200, "mark", folder=collect.instance))
    took = agent.stop()
    print(f"  the agent ended within {took:.2f} s")
    no_instance(run)
    collect.stop(0, 1)


def connection_cut(run):
    """The connection is cut again and again: the collector makes it again, the agent goes on where it was, and where
    pages were lost on their way a loss is shown."""
    folder = run.folder("connection-cut")
    wire = Wire(f"{folder}/wire", f"{run.guest.folder}/agent")
    agent = Agent(run.guest)
    collect = Collect(run, folder, "--event=sched:sched_process_fork", port=wire.path)
    instance = collect.instance
    run.guest.start(marks(20000, 500, "cut", 5000, folder=collect.instance))
    for n in range(3):
        time.sleep(0.7)
        wire.cut()
        collect.traces(n + 2)
    status, output = run.guest.ended()
    expect(status == 0, output)
    # How much is lost is how long the collector is away. A session that began anew would have another instance.
    collect.look_for_instance()
    expect(collect.instance == instance, "the agent did not go on where it was, in", instance, "but in", collect.instance)
    items = events.report(run.strata, collect.stop())
    agent.stop()
    wire.gone()
    lost = [events.numbered(items, cpu, "cut", 20000, on_the_way=True) for cpu in range(CPUS)]
    print(f"  lost per CPU: {lost}")
    no_instance(run)


def filtered(run):
    """Only what a filter of the kernel's lets through, and a glob means."""
    agent = Agent(run.guest)
    collect = Collect(run, run.folder("filtered"), "--event=task:*,sched:sched_process_fork{parent_comm == 'nobody'}")
    run.guest.run("guest-tool forks 0 100")
    names = {item.name for item in events.report(run.strata, collect.stop())}
    expect("task_newtask" in names and "sched_process_fork" not in names, names)
    agent.stop()
    no_instance(run)


SCENARIOS = [collected, shown_live, taking_wakes_nobody, collected_again, collector_stalls, collector_killed, collected_agent_killed,
             collected_while_cpu_is_away, collected_from_cpu_of_a_moment, agent_ends_while_collected, connection_cut, filtered]
