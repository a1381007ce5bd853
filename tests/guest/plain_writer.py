"""Without an agent: what a guest's own programs write into the ports, as pages, is what its kernel shows."""

import events
from machine import CPUS, at_once, expect
from tracefs import EVENTS, TRACEFS, Tracefs


def stopped_buffers(run):
    """The pages of stopped buffers, by any program: the events of the guest's own trace files, exactly."""
    for clock in "local", "x86-tsc":
        top = Tracefs(run.guest)
        top.reset(EVENTS, clock)
        run.guest.run(at_once("guest-tool forks 0 200", "guest-tool forks 1 200", f"guest-tool marks 0 0 500 100 mark 0 {TRACEFS}"))
        top.set("tracing_on", 0)
        folder = run.folder(f"plain-{clock}")
        expected = [events.of_guest(text) for text in top.texts(folder)]
        top.export(folder)
        reader = run.host(folder)
        reader.read()
        run.guest.run(at_once(*(f"guest-tool pages {n} /dev/virtio-ports/trace-path-cpu{n}" for n in range(CPUS))))
        reader.wait_for_quiet()
        reader.gone()
        got = events.report(run.strata, folder)
        for cpu in range(CPUS):
            expect(len(expected[cpu]) >= 400, f"only {len(expected[cpu])} events on CPU {cpu}")
            events.same(expected[cpu], [item for item in got if item.cpu == cpu])


SCENARIOS = [stopped_buffers]
