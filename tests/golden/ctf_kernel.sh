#!/bin/sh
# Analyses of a trace of LTTng's kernel tracer, which has no groups and names of its own: each finds its events, and the numbers
# are those that the trace was made with (made_ctf_kernel.py).
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/perfetto.sh"
python3 "$here/made_ctf_kernel.py" kernel

# rows VERB FILTER: what jq's FILTER makes of each row.
rows() {
    "$strata" "$1" -f json kernel 2>err | jq -r ".rows[] | \"$2\"" | sort >out
}

case=irq
rows irq '\(.key.kind) \(.key.name) \(.n) \(.sum) \(.self) \(.delay_n) \(.delay_max)'
diff - out <<'END' || fail "differs"
hrtimer 0xffffffff81168830 10 5000 5000 9 90
irq virtio0 10 20000 20000 0 null
softirq TIMER 10 10000 10000 10 500
vector local_timer 10 10000 5000 0 null
END

case=io
rows io '\(.key.device) \(.key.kind) \(.key.stage) \(.n) \(.sum) \(.bytes)'
diff - out <<'END' || fail "differs"
253,0 read device 10 510000 null
253,0 read guest 10 5000 null
253,0 read queue 10 5000 null
253,0 read total 10 520000 40960
END

case=exits
"$strata" exits -f json --by detail kernel | jq -r '.rows[] | "\(.key.reason) \(.key.detail) \(.n) \(.sum) \(.run)"' >out
[ "$(cat out)" = 'IO_INSTRUCTION port 0x3f8 write 10 20000 20000' ] || fail "$(cat out)"

case=sched
rows sched '\(.key.task) \(.run) \(.wait)'
diff - out <<'END' || fail "differs"
CPU 0/KVM 12000990 null
worker 50000 37000
END

case=latency
rows latency '\(.key.name) \(.n) \(.sum)'
diff - out <<'END' || fail "differs"
block 10 515000
block-queue 10 5000
exit 10 20000
hrtimer 10 5000
hrtimer-start 9 8969400
irq 10 20000
softirq 10 10000
softirq-raise 10 5000
syscall-pread64 10 560000
vector 10 10000
END
# Rules of users name events and fields as the kernel does.
"$strata" latency -f json -p 'sched:sched_waking(pid) -> sched:sched_switch(next_pid){next_pid != 0}' kernel |
    jq -r '.rows[] | "\(.n) \(.sum)"' >out
[ "$(cat out)" = '20 37000' ] || fail "a rule: $(cat out)"
"$strata" latency -f json --by rwbs block kernel | jq -r '.rows[].key.rwbs' >out
[ "$(cat out)" = R ] || fail "kind: $(cat out)"

case=summary
"$strata" summary kernel >out
if grep -E 'no (interrupts|requests to disks|VM exits) are in this trace' out; then fail "finds nothing"; fi

case=timeline
export_perfetto kernel || fail "$(cat err)"
perfetto_marks | jq -r 'select(.kind == "B" or .kind == "C") | .name // .track[0]' | sort | uniq -c | sed 's/^ *//' >out
diff - out <<'END' || fail "differs"
1 CPU 0/KVM
10 block R
10 exit: IO_INSTRUCTION
2 frequency of CPU 1
10 hrtimer
10 in the guest
10 irq virtio0
10 local_timer
10 pread64
10 softirq TIMER
20 worker
END

# An export in CTF has another tracer, no names of numbers, and the same answers.
case="a copy"
"$strata" export --to ctf -o copy kernel
for verb in irq io exits sched latency; do
    "$strata" $verb -f json kernel | jq '.rows[] | del(.key)' >of.kernel
    "$strata" $verb -f json copy | jq '.rows[] | del(.key)' >of.copy
    cmp of.kernel of.copy || fail "$verb differs"
done

# perf convert leaves out what was lost, and counts nothing.
case="of perf"
cp -r kernel perf
sed 's/lttng-modules/perf/' kernel/metadata >perf/metadata
"$strata" info perf >out
grep -q 'lost  *unknown: the file does not say' out || fail "info: $(cat out)"
for verb in stat summary latency irq io exits 'sched --by cpu'; do
    "$strata" $verb perf >out 2>&1
    grep -q 'events may be missing; how many is unknown' out || fail "$verb: $(cat out)"
done

# What is exported of some threads says so; where perf wrote it, its events show it.
case="of some threads"
xz -dc "$DATA/perf/packed.data.xz" >packed.data
for format in ctf trace.dat; do
    "$strata" export --to $format --from 34.691 --pid 133 -o threads.$format packed.data 2>err || fail "$(cat err)"
    "$strata" info threads.$format >out 2>err || fail "$(cat err)"
    grep -q '^  lost  *unknown: only certain threads were recorded$' out || fail "$format: $(cat out)"
    ! "$strata" sched threads.$format >out 2>err || fail "$format: states of some threads: $(cat out)"
done
sed -i 's/tracer_name = "strata-export"/tracer_name = "perf"/; /source_0_threads_only/d' threads.ctf/metadata
! "$strata" sched threads.ctf >out 2>err || fail "perf's CTF of some threads: $(cat out)"
grep -qFx 'strata: threads.ctf: only certain threads were recorded: what these and others did meanwhile is unknown' err || fail "$(cat err)"

# perf begins on one CPU after the other, and says nothing of that in CTF.
case="CPUs that begin one after the other"
"$strata" export --to ctf -o cpus.ctf packed.data 2>err || fail "$(cat err)"
sed -i 's/tracer_name = "strata-export"/tracer_name = "perf"/; /source_0_complete_from/d' cpus.ctf/metadata
[ "$("$strata" info -f json cpus.ctf | jq -r '.facts["complete from"]')" = 34.690957994 ] || fail "$("$strata" info cpus.ctf)"

# Of a CPU that perf was not told to record, all is unknown.
case="of some CPUs"
ls cpus.ctf >files
rm "cpus.ctf/$(grep '1$' files)"
"$strata" sched --by cpu -f json cpus.ctf 2>err >out || fail "$(cat err)"
[ "$(jq -c '[.rows[] | [.key.cpu, .unknown_share == 1]]' out)" = '[[0,false],[1,true]]' ] || fail "$(cat out)"
jq -e '.covered_ns < .duration_ns' out >told || fail "$(cat out)"
"$strata" sched -f json cpus.ctf 2>err | jq -e '[.rows[].unknown_share] | min > 0.1' >told || fail "$("$strata" sched cpus.ctf)"
