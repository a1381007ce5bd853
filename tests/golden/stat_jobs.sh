#!/bin/sh
# strata stat --jobs: what several threads count, part by part, is what one counts, byte by byte, of every format, with
# any options, where the input is damaged or out of order, and where there is nothing to count. With -jN, threads begin
# after 4,096 events.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

. "$here/../lib/jobs.sh"
xz -dc "$DATA/perf/kvm.data.xz" >perf
"$strata" export --to trace.dat -o guest.dat guest 2>err
cp -r guest unnamed
find unnamed -name saved_cmdlines -delete
{ head -c 2000000 boot; head -c 500 /dev/zero | tr '\0' x; tail -c +2000001 boot; } >damaged/boot-late
# The same time twice: much of it comes too late to be put in order.
{ cat boot; tail -c +25 boot; } >damaged/twice
cp -r guest damaged/guest
dd if=/dev/zero of=damaged/guest/cpu0.raw bs=1 count=64 conv=notrunc status=none \
    seek=$(($(stat -c %s guest/cpu0.raw) / 8192 * 4096 + 8))

jobs_tried="2 3 8"
[ -z "${SANITIZED:-}" ] || jobs_tried=8
# same WORDS...: output, messages and status of -j2, -j3 and -j8 are those of -j1.
same() {
    one=0
    "$strata" stat "$@" -j1 >one 2>one.err || one=$?
    for jobs in $jobs_tried; do
        many=0
        "$strata" stat "$@" -j$jobs >many 2>many.err || many=$?
        [ $many -eq $one ] || fail "stat $* -j$jobs: status $many, not $one"
        cmp one many || fail "stat $* -j$jobs: other output"
        cmp one.err many.err || fail "stat $* -j$jobs: other messages"
    done
}

for capture in boot log xen xen-all guest guest.dat exported unnamed lttng* perf trace damaged/*; do
    [ -e "$capture" ] || continue
    same "$capture"
    same "$capture" -k --strict -f json --gaps 3
done

tries='1 2 3 4'
[ -z "${SANITIZED:-}" ] || tries=1
# Random options: a seed gives the same ones.
cat >choose.py <<'END'
import random, sys
choose = random.Random(int(sys.argv[1]))
options = [
    ["", "", "--by cpu", "--by task", "--by vcpu", "--by layer", "--by source-event", "--by event,cpu", "--by task,event",
     "--by source,pid"],
    ["", "", "--every 0.01", "--every 0.5", "--every 30"],
    ["", "", "--gaps 1", "--gaps 50"],
    ["", "", "--from +0.2", "--until +0.7", "--from +0.1 --until +0.3", "--from +1000"],
    ["", "", "", "-e *a*", "-e -*s* -e nothing_of_this", "--cpu 0", "--pid 1-500", "--vcpu 0"],
    ["-f text", "-f json", "-f csv"],
]
print(*(choose.choice(words) for words in options))
END
seed=0
for capture in boot log xen xen-all guest guest.dat exported unnamed lttng* trace damaged/boot damaged/guest; do
    [ -e "$capture" ] || continue
    for _ in $tries; do
        seed=$((seed + 1))
        set -f
        # shellcheck disable=SC2046 # words
        same "$capture" $(python3 choose.py $seed)
        set +f
    done
done

# Several inputs: of one clock, merged; of clocks of their own, one after the other.
same --host-time guest boot
same boot xen --cpu-hz 1G
same trace --host-time --by source-event --gaps 4
same trace --source guest --every 1 -f json

# named-once: the name of a thread is with its first event alone; readers of later parts do not know it. wrong: one event
# has a time after all others, and what follows it in its stream is read by nobody else.
python3 - <<'END'
import os, struct
METADATA = """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
clock { name = monotonic; freq = 1000000000; };
typealias integer { size = 64; align = 8; map = clock.monotonic.value; } := time;
typealias integer { size = 64; align = 8; } := u64;
typealias integer { size = 32; align = 8; signed = true; } := s32;
stream {
    packet.context := struct { time timestamp_begin; time timestamp_end; u64 content_size; u64 packet_size; };
    event.header := struct { time timestamp; };
    event.context := struct { s32 vtid; string procname; };
};
event { name = "tick"; fields := struct { u64 number; }; };
"""
def write(path, packets, wrong=-1):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(os.path.dirname(path) + "/metadata", "w") as metadata:
        metadata.write(METADATA)
    with open(path, "wb") as stream:
        for packet in range(packets):
            times = range(packet * 1000000, packet * 1000000 + 500000, 1000)
            events = b""
            for time in times:
                name = b"late" if packet == 8 and time == times[0] else b""
                shown = 10**12 if packet == wrong and time == times[9] else time
                events += struct.pack("<Qi", shown, 7 + packet % 2) + name + b"\0" + struct.pack("<Q", packet)
            bits = 8 * (32 + len(events))
            stream.write(struct.pack("<QQQQ", times[0], times[-1], bits, bits) + events)
write("named-once/stream", 1000)
write("wrong/a", 300)
write("wrong/b", 30, 27)
write("held/a", 300)
write("held/b", 30, 28)
END
same named-once --by task
same named-once --by task,event
grep -q "late *tick" one
same named-once --by event,number
for _ in 1 2 3 4; do
    same wrong
    same held
done

# What cannot be read in parts.
"$strata" stat -j1 boot >one
cat boot | "$strata" stat -j3 - >many
cmp one many
mkfifo fifo
cat boot >fifo &
"$strata" stat -j3 fifo >many
wait
cmp one many
for words in 0 x 1x ""; do
    if "$strata" stat -j "$words" boot >/dev/null 2>err; then fail "-j '$words'"; fi
    grep -q "is not a number of threads" err
done
if [ -w /dev/full ]; then
    status=0
    "$strata" stat -j3 boot >/dev/full 2>err || status=$?
    [ "$status" -eq 1 ]
    echo "strata: cannot write to standard output: No space left on device" | cmp err -
fi
