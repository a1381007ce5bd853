#!/bin/sh
# Formats stap, log-stap and simpletrace-stap: what the tapsets do, step by step as SystemTap would
# (stap_run.py), with the arguments of probes.c; then what strata reads of the lines and the records.
. "${0%/*}/common.sh"

# tapset TARGET FORMAT
tapset() {
    "$strata" gen --target "$1" --format "$2" --backend dtrace --group probes --provider probes \
        --binary /usr/bin/program --probe-prefix demo.x -o "$dir/$2.stp" "$here/probes.trace-events"
}
# same WHAT: out is as expected.
same() {
    diff -u "$dir/expected" "$dir/out" >&2 || fail "$1: not as expected"
}

# What C's printf makes of the arguments.
cat >"$dir/texts" <<'E2'
nothing nothing at all
numbers -8 208 -1600 65000 -320000 0xdeadbeef -64000000000 18364758544493064720 1 4096
ten 1 -2 3 -4 5 -6 7 -8 9 -10
texts name=a name other=other    where=0x1234 address=0x502000 100%
texts name=<null> other=<null>   where=0x0 address=0x0 100%
words next=1 string=0x22 self=self probe=4 class=5 printf=6 next_=7
types 18446744073709551615 c 0x7f00 0x7f08 -1 4000000000 -5
stars [ right] [cut] "quoted" \ %
linux 7
last__one mask=0xffffffff00000000 negative=4294967295
E2

tapset strata stap
tapset strata log-stap
python3 "$here/stap_run.py" demo.x log "$dir/stap.stp" "$dir/log-stap.stp" >"$dir/log"
sed 's/^\([a-z_]*\) /4712@1700000000.123456:\1 /' "$dir/texts" >"$dir/expected"
cp "$dir/log" "$dir/out"
same "log-stap"
"$strata" report --trace-events "$here/probes.trace-events" --format json "$dir/log" >"$dir/json" ||
    fail "strata does not read the lines of log-stap"
# (An address where the declaration has a text is no value to read back: the line stays text.)
jq -r '[.pid, .event, (.fields | length)] | join(" ")' "$dir/json" >"$dir/out"
cat >"$dir/expected" <<'E2'
4712 nothing 0
4712 numbers 10
4712 ten 10
4712 texts 1
4712 texts 1
4712 words 7
4712 types 7
4712 stars 4
4712 linux 1
4712 last__one 2
E2
same "the lines of log-stap as strata reads them"

tapset qemu stap
tapset qemu log-stap
python3 "$here/stap_run.py" demo.x log "$dir/stap.stp" "$dir/log-stap.stp" >"$dir/out"
sed 's/^\([a-z_]*\) /4711@1700000000123456789 \1 /' "$dir/texts" >"$dir/expected"
same "log-stap for QEMU"

for target in strata qemu; do
    tapset $target stap
    tapset $target simpletrace-stap
    python3 "$here/stap_run.py" demo.x simpletrace "$dir/stap.stp" "$dir/simpletrace-stap.stp" \
        >"$dir/records"
    "$STRATA_BIN/simpletrace" --no-header "$here/probes.trace-events" "$dir/records" >"$dir/out"
    cat >"$dir/expected" <<'E2'
nothing 0.000 pid=4711
numbers 0.000 pid=4711 i8=0xfffffffffffffff8 u8=0xd0 i16=0xfffffffffffff9c0 u16=0xfde8 i32=0xfffffffffffb1e00 u32=0xdeadbeef i64=0xfffffff1194d8000 u64=0xfedcba9876543210 flag=0x1 size=0x1000
ten 0.000 pid=4711 a=0x1 b=0xfffffffffffffffe c=0x3 d=0xfffffffffffffffc e=0x5 f=0xfffffffffffffffa g=0x7 h=0xfffffffffffffff8 i=0x9 j=0xfffffffffffffff6
texts 0.000 pid=4711 name=b'a name' other=b'other' where=0x1234 address=b'address'
texts 0.000 pid=4711 name=b'<null>' other=b'<null>' where=0x0 address=b'<null>'
words 0.000 pid=4711 next=0x1 string=0x22 self=b'self' probe=0x4 class=0x5 printf=0x6 next_=0x7
types 0.000 pid=4711 ull=0xffffffffffffffff uc=0x63 cuc=0x7f00 vpp=0x7f08 sc=0xffffffffffffffff u=0xee6b2800 li=0xfffffffffffffffb
stars 0.000 pid=4711 width=0x6 s=b'right' precision=0x3 t=b'cut off'
linux 0.000 pid=4711 unix=0x7
last__one 0.000 pid=4711 mask=0xffffffff00000000 negative=0xffffffffffffffff
E2
    same "records of simpletrace-stap for $target"
    n=$("$strata" report --no-header --trace-events "$here/probes.trace-events" "$dir/records" | wc -l)
    [ "$n" -eq 10 ] || fail "strata report reads $n records of 10"
done
echo "the tapsets do what they should"
