#!/bin/sh
# --from starts reading near that time where pages and packets say theirs: the report equals what a script selects from
# the whole report, and what is earlier is not read.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

. "$here/../lib/kernel_capture.sh"
. "$here/../lib/three_layers.sh"
state_files
kernel_capture local guest
# Small packets and pages of trace.dat, of the same events.
"$strata" export --to ctf -o ctf guest
"$strata" export --to trace.dat -o guest.dat guest

tar -xJf "$DATA/ctf/lttng-ust.tar.xz"

# shows_same [--bytes N] TRACE...: at random limits; seek.py has the option.
shows_same() {
    bytes=
    [ "$1" != --bytes ] || { bytes="--bytes $2"; shift 2; }
    # shellcheck disable=SC2086 # words
    python3 "$here/seek.py" $bytes "$strata" "$@" || fail "$*: another selection than a script's"
}

case="one clock"
shows_same guest
shows_same ctf
shows_same guest.dat
shows_same lttng-ust
# Names of tasks that only events have, also those before.
cp -r guest unnamed
find unnamed -name saved_cmdlines -delete
case="names from events"
shows_same unnamed
case="several clocks"
shows_same trace
shows_same --host-time --source guest trace
case="one after another"
shows_same guest/cpu0.raw

# A log of QEMU: lines of threads that write a little later than they took the time, and lines without one.
case="log"
python3 - <<'END'
import random
random.seed(1)
time = 1700000000.0
with open("qemu.log", "w") as log:
    for n in range(40000):
        time += random.choice([0, 0.0001, 0.001, 0.01 if n % 1000 else 5])
        if n % 500 == 499:
            log.write("what QEMU says\n" * random.choice([1, 1, 300]))
        log.write("%d@%.6f:visit_free v=0x%x\n" % (random.choice([7, 8]), time - random.choice([0, 0, 0.05]), n))
END
shows_same qemu.log

# A damaged page ends reading from the beginning, but not reading that starts after it.
case="skips"
cp -r guest damaged
page=$(($(stat -c %s damaged/cpu0.raw) / 4096 / 2))
last=$("$strata" report -f csv guest | tail -n 1 | cut -d, -f1)
printf '\377\377\377\377\377\377\377\377' |
    dd of=damaged/cpu0.raw bs=1 seek=$((page * 4096 + 8)) conv=notrunc status=none
"$strata" report damaged >/dev/null 2>err && fail "reads a damaged page"
"$strata" report --from "$last" damaged >out 2>err || fail "reads what is before --from: $(cat err)"
[ -s out ] || fail "the last event is missing"

# A tracer that was killed leaves packets whose times it had not set.
case="packets without times"
mkdir unset
cat >unset/metadata <<'END'
/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { uint32_t magic; }; };
clock { name = monotonic; freq = 1000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := time_t;
stream {
    packet.context := struct { time_t timestamp_begin; time_t timestamp_end; uint64_t content_size; uint64_t packet_size; };
    event.header := struct { uint32_t id; time_t timestamp; };
};
event { id = 0; name = "e"; fields := struct { uint32_t n; }; };
END
python3 - <<'END'
import struct
with open("unset/stream", "wb") as f:
    for packet in range(60):
        times = [1000000 + packet * 1000 + i * 10 for i in range(20)]
        events = b"".join(struct.pack("<IQI", 0, time, packet) for time in times)
        begin, end = (0, 0) if packet >= 50 else (times[0], times[-1])
        bits = 8 * (36 + len(events))
        f.write(struct.pack("<IQQQQ", 0xC1FC1FC1, begin, end, bits, bits) + events)
END
shows_same unset

# Where nothing marks the beginning of a record.
case="simpletrace"
xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot
shows_same boot
for made in "4 < late" "4 > forged" "4 < same" "3 > late" "3 < forged" "2 < late" "0 < late"; do
    case="simpletrace $made"
    # shellcheck disable=SC2086 # words
    python3 "$here/seek_simpletrace.py" $made made
    # In others, names are looked for in all that was passed over, or all is read because no place is certain.
    read_max=50000000
    case $made in "4 > forged") read_max=10000000 ;; esac
    shows_same --bytes "$read_max" made
done

case="xen"
for capture in "$DATA"/xen/xen-*.raw.xz; do
    xz -dc "$capture" >xen
    shows_same --cpu-hz 2400M xen
done
