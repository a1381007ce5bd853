"""What the guest of tests/xen/guest.S is known to do, looked for among events."""
import collections

ROUNDS = 40


def check(check, events, guest_class=True):
    """All of one run of the guest is among the events."""
    seen = collections.defaultdict(collections.Counter)
    for event in events:
        values = tuple(tuple(v) if isinstance(v, list) else v for v in event.fields.values())
        seen[event.name][values] += 1

    def count(name, *first):
        return sum(n for values, n in seen[name].items() if values[: len(first)] == first)

    for leaf, times in (0, ROUNDS + 8), (0x40000001, ROUNDS), (0x40000000, 8), (1, 1):
        check.equal(f"cpuid of leaf {leaf:#x}", count("cpuid", leaf), times)
    for msr, times in (0x1B, ROUNDS + 8), (0xC0000080, ROUNDS + 1), (0x12345, ROUNDS):
        check.equal(f"reads of MSR {msr:#x}", count("msr_read", msr), times)
    check.equal("writes of EFER", count("msr_write", 0xC0000080), ROUNDS + 1)
    check.equal("port 0x1234 read", count("ioport_read", 0x1234), ROUNDS)
    check.equal("port 0x1234 written", count("ioport_write", 0x1234, 0x11223344), ROUNDS)
    check.equal("unassigned memory read", count("mmio_read", 0xFE000000, 0xFFFFFFFF), ROUNDS)
    check.equal("unassigned memory written", count("mmio_write", 0xFE000000, 0x55), ROUNDS)
    check.equal("hypercall xen_version", count("vmmcall", 17), ROUNDS + 8)
    check.equal("hypercall hvm_op", count("vmmcall", 34), ROUNDS)
    check.equal("hypercall sched_op", count("vmmcall", 29), ROUNDS + 1)
    check.equal("HLT", count("hlt"), ROUNDS)
    own = [e.fields["words"] for e in events if e.group == "guest"]
    wanted = [[0xDECAFBAD, 1, n] for n in range(ROUNDS)] if guest_class else []
    check.equal("the guest's own events", own, wanted)
    check.equal("names of its own events", {e.name for e in events if e.group == "guest"}, {"guest_0x123"} if guest_class else set())
    check.equal("as many exits as entries", abs(count("vmexit") - count("vmentry")) <= 1, True)
