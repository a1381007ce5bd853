"""A trace of a kernel as LTTng writes it, in which all durations are known: made_ctf_kernel.py DIR

Ten times, on CPU 0 a timer expires and wakes a thread, which reads from a disk; on CPU 1 a vCPU exits. Names and fields of
the events are those of lttng-modules, which has no groups, calls a thread's number tid, and has bits for what a request does
to a disk."""
import os
import struct
import sys

METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 32; align = 8; signed = true; } := int32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = true; } := int64_t;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := pointer_t;
typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := text_t;
trace {
    major = 1; minor = 8; byte_order = ORDER;
    packet.header := struct { uint32_t magic; uint32_t stream_id; };
};
env { domain = "kernel"; tracer_name = "lttng-modules"; hostname = "here"; };
clock { name = "monotonic"; freq = 1000000000; offset = 1700000000000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := time_t;
stream {
    id = 0;
    packet.context := struct { uint32_t cpu_id; };
    event.header := struct { uint32_t id; time_t timestamp; };
    event.context := struct { int32_t _tid; };
};
"""

SOFTIRQ = ("integer:b:vec", "softirq:b:name")
WAKEUP = ("comm:16s:comm", "int32_t:i:tid", "int32_t:i:prio", "int32_t:i:target_cpu")
BLOCK = ("uint32_t:I:dev", "uint64_t:Q:sector", "uint32_t:I:nr_sector")

EVENTS = {
    "sched_switch": ("comm:16s:prev_comm", "int32_t:i:prev_tid", "int32_t:i:prev_prio", "int64_t:q:prev_state",
                     "comm:16s:next_comm", "int32_t:i:next_tid", "int32_t:i:next_prio"),
    "sched_waking": WAKEUP,
    "sched_process_exit": ("comm:16s:comm", "int32_t:i:tid", "int32_t:i:prio"),
    "irq_handler_entry": ("int32_t:i:irq", "string:s:name"),
    "irq_handler_exit": ("int32_t:i:irq", "int32_t:i:ret"),
    "irq_softirq_raise": SOFTIRQ,
    "irq_softirq_entry": SOFTIRQ,
    "irq_softirq_exit": SOFTIRQ,
    "x86_irq_vectors_local_timer_entry": ("int32_t:i:vector",),
    "x86_irq_vectors_local_timer_exit": ("int32_t:i:vector",),
    "timer_hrtimer_start": ("pointer_t:Q:hrtimer", "pointer_t:Q:function", "int64_t:q:expires", "int64_t:q:softexpires"),
    "timer_hrtimer_expire_entry": ("pointer_t:Q:hrtimer", "int64_t:q:now", "pointer_t:Q:function"),
    "timer_hrtimer_expire_exit": ("pointer_t:Q:hrtimer",),
    "block_bio_queue": BLOCK + ("uint32_t:I:rwbs", "int32_t:i:tid", "comm:16s:comm"),
    "block_rq_issue": BLOCK + ("uint32_t:I:bytes", "int32_t:i:tid", "uint32_t:I:rwbs", "comm:16s:comm"),
    "block_rq_complete": BLOCK + ("int32_t:i:error", "uint32_t:I:rwbs"),
    "syscall_entry_pread64": ("uint32_t:I:fd", "uint64_t:Q:count", "int64_t:q:pos"),
    "syscall_exit_pread64": ("int64_t:q:ret", "pointer_t:Q:buf"),
    "kvm_x86_entry": ("uint32_t:I:vcpu_id",),
    "kvm_x86_exit": ("uint32_t:I:exit_reason", "pointer_t:Q:guest_rip", "uint32_t:I:isa", "uint64_t:Q:info1",
                     "uint64_t:Q:info2", "uint32_t:I:intr_info", "uint32_t:I:error_code", "uint32_t:I:vcpu_id"),
    "kvm_x86_pio": ("uint32_t:I:rw", "uint32_t:I:port", "uint32_t:I:size", "uint32_t:I:count"),
    "power_cpu_frequency": ("uint32_t:I:state", "uint32_t:I:cpu_id"),
}
NAMES = list(EVENTS)

IDLE, WORKER, VCPU = ("swapper/0", 0), ("worker", 100), ("CPU 0/KVM", 200)
READ, TIMER = 4, 1
DEV = 253 << 20


def declare(name):
    types = {"comm": "text_t _{}[16]", "string": "string _{}", "integer": "uint8_t _{}",
             "softirq": 'enum : uint8_t {{ HI = 0, TIMER = 1, NET_TX = 2 }} _{}'}
    fields = ""
    for field in EVENTS[name]:
        kind, _, called = field.split(":")
        fields += " " + types.get(kind, kind + " _{}").format(called) + ";"
    return f'event {{ id = {NAMES.index(name)}; name = "{name}"; stream_id = 0; fields := struct {{{fields} }}; }};\n'


class Cpu:
    def __init__(self, number):
        self.bytes = struct.pack("=III", 0xC1FC1FC1, 0, number)
        self.runs = IDLE

    def put(self, time, name, *values):
        self.bytes += struct.pack("=IQi", NAMES.index(name), time, self.runs[1])
        for field, value in zip(EVENTS[name], values, strict=True):
            form = field.split(":")[1]
            if form == "s":
                self.bytes += value.encode() + b"\0"
            else:
                self.bytes += struct.pack("=" + form, value.encode() if form == "16s" else value)

    def switch(self, time, after, state=0):
        self.put(time, "sched_switch", *self.runs, 20, state, *after, 20)
        self.runs = after

    def wake(self, time, who):
        self.put(time, "sched_waking", *who, 20, 0)


def read(cpu, t, i):
    """A timer wakes the worker, which reads."""
    sector = 1000 + 8 * i
    cpu.put(t, "x86_irq_vectors_local_timer_entry", 236)
    cpu.put(t + 100, "timer_hrtimer_expire_entry", 0xFFFF10, t + 90, 0xFFFFFFFF81168830)
    cpu.put(t + 600, "timer_hrtimer_expire_exit", 0xFFFF10)
    cpu.put(t + 700, "irq_softirq_raise", TIMER, TIMER)
    cpu.put(t + 1000, "x86_irq_vectors_local_timer_exit", 236)
    cpu.put(t + 1200, "irq_softirq_entry", TIMER, TIMER)
    cpu.wake(t + 1300, WORKER)
    cpu.put(t + 2200, "irq_softirq_exit", TIMER, TIMER)
    cpu.switch(t + 3000, WORKER)
    cpu.put(t + 3500, "timer_hrtimer_start", 0xFFFF10, 0xFFFFFFFF81168830, t + 1000000, t + 1000000)
    cpu.put(t + 4000, "syscall_entry_pread64", 3, 4096, 512 * sector)
    cpu.put(t + 4500, "block_bio_queue", DEV, sector, 8, READ, *reversed(WORKER))
    cpu.put(t + 5000, "block_rq_issue", DEV, sector, 8, 4096, WORKER[1], READ, WORKER[0])
    cpu.switch(t + 6000, IDLE, 2)
    cpu.put(t + 56000, "irq_handler_entry", 31, "virtio0")
    cpu.put(t + 56500, "block_rq_complete", DEV, sector, 8, 0, READ)
    cpu.wake(t + 57000, WORKER)
    cpu.put(t + 58000, "irq_handler_exit", 31, 1)
    cpu.switch(t + 59000, WORKER)
    cpu.put(t + 60000, "syscall_exit_pread64", 4096, 0x7F0000001000)
    cpu.switch(t + 61000, IDLE, 1)


def main():
    zero, one = Cpu(0), Cpu(1)
    one.switch(10, VCPU)
    one.put(20, "power_cpu_frequency", 3000000, 1)
    for i in range(10):
        t = 1000000 * (i + 1)
        read(zero, t, i)
        one.put(t + 10000, "kvm_x86_exit", 30, 0xFFFFFFFF81000000, 1, 0, 0, 0, 0, 0)
        one.put(t + 10500, "kvm_x86_pio", 1, 0x3F8, 1, 1)
        one.put(t + 12000, "kvm_x86_entry", 0)
    one.put(12000000, "sched_process_exit", *VCPU, 20)
    one.switch(12001000, IDLE, 0x10)
    one.put(13000000, "power_cpu_frequency", 2000000, 1)

    os.mkdir(sys.argv[1])
    with open(f"{sys.argv[1]}/metadata", "w") as f:
        f.write(METADATA.replace("ORDER", "le" if sys.byteorder == "little" else "be"))
        f.writelines(declare(name) for name in EVENTS)
    for number, cpu in enumerate((zero, one)):
        with open(f"{sys.argv[1]}/channel0_{number}", "wb") as f:
            f.write(cpu.bytes)


main()
