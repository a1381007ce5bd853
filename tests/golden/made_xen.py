"""Small traces of Xen: made_xen.py DIR

many-cpus.raw    256 CPUs, of which each lost one event more than the one before
intel.raw        exits of VMX, before Xen 4.19, when it had one event for both vendors' exits
amd.raw          exits of SVM, likewise
neither.raw      exits with reasons that both vendors have
both.raw         exits with reasons that no machine has together
ends.raw         a vCPU that moves between two CPUs, of which the records of one end early"""
import os
import struct
import sys

CPU_CHANGE, LOST, RUNSTATE, CONTINUE, ENTRY, EXIT = 0x1F003, 0x1F001, 0x21311, 0x21002, 0x81001, 0x81102
STOPS, RUNS = 0x21021, 0x21201


def record(event, words, tsc):
    return struct.pack("<IQ", event | len(words) << 28 | 1 << 31, tsc) + struct.pack(f"<{len(words)}I", *words)


def window(cpu, records):
    return struct.pack("<III", CPU_CHANGE | 2 << 28, cpu, len(records)) + records


def make(name, *windows):
    with open(os.path.join(sys.argv[1], name), "wb") as out:
        out.write(b"".join(windows))


def exits(name, *reasons):
    records = record(CONTINUE, [1 << 16], 500)
    for i, reason in enumerate(reasons):
        records += record(EXIT, [reason, 0x1000, 0], 1000 * (i + 1)) + record(ENTRY, [], 1000 * (i + 1) + 100)
    make(name, window(0, records))


def ends():
    """The vCPU leaves the guest on CPU 0 and on CPU 1, stays on CPU 1, and is back on it after what CPU 0 has no records of."""
    def leave(at):
        return record(EXIT, [48, 0x1000, 0], at)

    def switch(what, at, domain=1):
        return record(what, [domain << 16], at)

    cpu0 = switch(RUNS, 500) + leave(1000) + record(ENTRY, [], 1100) + leave(2000)
    cpu1 = (record(ENTRY, [], 9000) + leave(9100) + record(ENTRY, [], 9200) + leave(9300) + switch(STOPS, 9400) +
            switch(RUNS, 9900) + record(ENTRY, [], 9950) + leave(10000))
    make("ends.raw", window(0, cpu0), window(1, switch(RUNS, 400, 2) + switch(STOPS, 600, 2) + switch(RUNS, 8000) + cpu1))


def main():
    os.makedirs(sys.argv[1])
    make("many-cpus.raw", *(window(cpu, record(LOST, [cpu + 1, 0, 1000, 0], 10**9 + cpu) +
                                   record(RUNSTATE, [cpu | 5 << 16], 10**9 + cpu + 1)) for cpu in range(256)))
    exits("intel.raw", 48, 12, 48, 1, 0x80000021)
    exits("amd.raw", 0, 0x7B, 0x400, 0xFFFFFFFF)
    exits("neither.raw", 0, 48, 50)
    exits("both.raw", 12, 0x7B)
    ends()


main()
