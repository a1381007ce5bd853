"""Traces in CTF as LTTng's tracers write them:

made_ctf.py contexts DIR   of a kernel, in which a thread changes its name
made_ctf.py process DIR    of programs, with contexts that tell the process and no thread
made_ctf.py hosts A B C    of kernels: A and C of one host, B of another
made_ctf.py since1970 A B C    the same, with a clock that counts from 1970"""
import os
import struct
import sys

METADATA = """/* CTF 1.8 */
typealias integer {{ size = 8; align = 8; signed = false; }} := uint8_t;
typealias integer {{ size = 32; align = 8; signed = false; }} := uint32_t;
typealias integer {{ size = 32; align = 8; signed = true; }} := int32_t;
typealias integer {{ size = 64; align = 8; signed = false; }} := uint64_t;
trace {{
    major = 1; minor = 8; byte_order = {order};
    packet.header := struct {{ uint32_t magic; uint32_t stream_id; }};
}};
env {{ {env} }};
clock {{ name = "monotonic"; {clock} freq = 1000000000; offset = 1700000000000000000; }};
typealias integer {{ size = 64; align = 8; signed = false; map = clock.monotonic.value; }} := time_t;
stream {{
    id = 0;
    packet.context := struct {{ uint32_t cpu_id; }};
    event.header := struct {{ uint32_t id; time_t timestamp; }};
    event.context := struct {{ {context} }};
}};
event {{ id = 0; name = "sched_switch"; stream_id = 0; fields := struct {{ int32_t _prev_tid; int32_t _next_tid; }}; }};
"""


def make(directory, env, clock, context, cpus, name="monotonic"):
    """CPUS: for each a list of (time, bytes of the context, prev_tid, next_tid)."""
    os.mkdir(directory)
    with open(f"{directory}/metadata", "w") as f:
        f.write(METADATA.replace("monotonic", name).format(order="le" if sys.byteorder == "little" else "be", env=env, clock=clock,
                                context=context))
    for cpu, events in enumerate(cpus):
        with open(f"{directory}/channel0_{cpu}", "wb") as f:
            f.write(struct.pack("=III", 0xC1FC1FC1, 0, cpu))
            for time, who, prev, after in events:
                f.write(struct.pack("=IQ", 0, time) + who + struct.pack("=ii", prev, after))


KERNEL = 'domain = "kernel"; tracer_name = "lttng-modules"; hostname = "%s";'


def main():
    if sys.argv[1] == "contexts":
        # A thread's name changes, in events of two CPUs that are read one after the other.
        def event(time, name, tid, after):
            return (time, struct.pack("=i", tid) + name.encode() + b"\0", tid, after)
        make(sys.argv[2], KERNEL % "here", "", "int32_t _tid; string _procname;",
             [[event(1, "bash", 7, 8), event(3, "ls", 7, 0), event(4, "ls", 7, 9), event(6, "a b", 9, 7)],
              [event(2, "bash", 7, 8), event(5, "bash", 7, 8)]])
    elif sys.argv[1] == "process":
        make(sys.argv[2], 'domain = "ust"; tracer_name = "lttng-ust";', "", "int32_t _vpid; string _procname;",
             [[(1, struct.pack("=i", 70) + b"one\0", 1, 2), (2, struct.pack("=i", 71) + b"two\0", 1, 2)]])
    else:
        hosts = [("a", "11111111-1111-1111-1111-111111111111"), ("b", "22222222-2222-2222-2222-222222222222"),
                 ("a", "11111111-1111-1111-1111-111111111111")]
        for number, (directory, (host, uuid)) in enumerate(zip(sys.argv[2:], hosts)):
            make(directory, KERNEL % host, f'uuid = "{uuid}";', "int32_t _tid;",
                 [[(10 * i + number, struct.pack("=i", 5), 5, 6) for i in range(3)]],
                 "monotonic" if sys.argv[1] == "hosts" else "utc")


main()
