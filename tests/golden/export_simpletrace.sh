#!/bin/sh
# strata export --to simpletrace and trace-events: read back, event by event. What strata reads of such
# files is compared with QEMU's own reader by simpletrace_boot.sh.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

# A trace of QEMU comes back as it was, with the declarations of QEMU and with those exported.
. "$here/../lib/qemu_events.sh"
xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot.trace
"$strata" report boot.trace >report
"$strata" export --to simpletrace boot.trace >boot.export
"$strata" export --to trace-events boot.trace >boot.events
"$strata" report boot.export | cmp report - || fail "a trace of QEMU differs"
"$strata" report --trace-events boot.events boot.export | cmp report - || fail "a trace of QEMU differs with its exported declarations"
"$STRATA_BIN/simpletrace" boot.events boot.trace >pretty
[ "$(wc -l <pretty)" -eq "$(wc -l <report)" ] || fail "$(wc -l <pretty) lines"
"$STRATA_BIN/simpletrace" boot.events boot.export | cmp pretty - || fail "QEMU's form of it differs"

# Others, with strings, arrays, floats, bit fields, losses.
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen
tar -xf "$DATA/ctf/lttng-ust.tar.xz"
. "$here/../lib/kernel_capture.sh"
kernel_capture local guest
# The file cannot say that times are ticks, as those of Xen are where no rate is given.
"$strata" export --to simpletrace -o ticks.export xen 2>err && fail "ticks become nanoseconds"
grep -q 'xen: times are ticks of a clock whose rate is unknown, which the format cannot say; give --cpu-hz=HZ$' err || fail "$(cat err)"
[ ! -e ticks.export ] || fail "a file is left"
for name in xen lttng-ust guest; do
    hz=
    [ $name != xen ] || hz=--cpu-hz=1G
    # shellcheck disable=SC2086
    "$strata" export --to simpletrace $hz -o $name.export $name 2>err
    "$strata" export --to trace-events -o $name.events $name
    "$strata" report -f json $hz $name >before 2>err
    "$strata" report -f json --trace-events $name.events $name.export >after 2>err
    [ ! "$(grep -v 'events were lost' err)" ] || fail "$name: $(cat err)"
    python3 "$here/export_simpletrace.py" before after || fail "$name differs"
    # Declarations that QEMU's own build would take.
    "$strata" gen --format h --backend nop --group all $name.events >header 2>err || fail "$name: $(head -3 err)"
done

# Of an event of more fields than readers accept arguments, the last argument holds the rest as text.
mkdir many
python3 - <<'END'
import struct
names = [f"f{i}" for i in range(13)]
fields = "".join(f"uint32_t {name}; " for name in names)
open("many/metadata", "w").write(f"""/* CTF 1.8 */
typealias integer {{ size = 32; align = 8; signed = false; }} := uint32_t;
typealias integer {{ size = 64; align = 8; signed = false; }} := uint64_t;
trace {{ major = 1; minor = 8; byte_order = le; packet.header := struct {{ uint32_t magic; }}; }};
clock {{ name = monotonic; freq = 1000000000; }};
typealias integer {{ size = 64; align = 8; signed = false; map = clock.monotonic.value; }} := stamp;
stream {{ event.header := struct {{ uint32_t id; stamp timestamp; }}; }};
event {{ id = 0; name = "many"; fields := struct {{ {fields}string s; }}; }};
event {{ id = 1; name = "ten"; fields := struct {{ {"".join(f"uint32_t {name}; " for name in names[:10])}}}; }};
""")
with open("many/stream", "wb") as f:
    f.write(struct.pack("<I", 0xc1fc1fc1))
    f.write(struct.pack("<IQ13I", 0, 1000, *range(100, 113)) + b"a b\0")
    f.write(struct.pack("<IQ10I", 1, 2000, *range(10)))
END
"$strata" export --to simpletrace -o many.export many
"$strata" export --to trace-events -o many.events many
"$strata" report -f json --trace-events many.events many.export | jq -c '[.event, .fields]' >out
cat >expected <<'END'
["many",{"f0":100,"f1":101,"f2":102,"f3":103,"f4":104,"f5":105,"f6":106,"f7":107,"f8":108,"other_fields":"f9=109 f10=110 f11=111 f12=112 s=a b"}]
["ten",{"f0":0,"f1":1,"f2":2,"f3":3,"f4":4,"f5":5,"f6":6,"f7":7,"f8":8,"f9":9}]
END
diff expected out || fail "an event of many fields"
"$strata" report --trace-events many.events many.export | grep -q 'f8=108 f9=109 f10=110' || fail "its text"
"$strata" gen --format h --backend nop --group all many.events >header 2>err || fail "many: $(head -3 err)"

# Two traces of one QEMU have their events in common.
cp boot.trace again.trace
"$strata" export --to trace-events boot.trace again.trace | cmp boot.events - || fail "two traces have events twice"

# Standard input, and selection.
"$strata" export --to simpletrace -n 100 - <boot.trace >out
"$strata" report --trace-events boot.events out >after
head -n 100 report | cmp - after || fail "selected from a pipe"
