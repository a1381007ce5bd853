#!/bin/sh
# --last N shows the last N events of a report, and the losses after the first of them, without reading what is before.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

. "$here/../lib/three_layers.sh"
"$strata" export --to ctf -o ctf trace/guest-guest
"$strata" export --to trace.dat -o guest.dat trace/guest-guest
"$strata" export --to simpletrace -o exported trace/guest-guest
xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot
xz -dc "$DATA/qemu/stock-qemu.log.xz" >qemu.log
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen

# shows_last N OPTION... TRACE: the same events as tail.
shows_last() {
    n=$1
    shift
    "$strata" report "$@" 2>/dev/null | grep -v ' LOST' | tail -n "$n" >expected || :
    "$strata" report --last "$n" "$@" 2>err | grep -v ' LOST' >shown || :
    cmp -s expected shown || fail "--last $n $*: $(diff expected shown | head -n 5) $(cat err)"
}

for trace in trace trace/guest-guest ctf guest.dat exported boot qemu.log xen; do
    case=$trace
    for n in 0 1 17 2000 100000000; do
        shows_last "$n" "$trace"
    done
done
# A time that is damaged, far ahead of all others.
case="damaged time"
xz -dc "$DATA/xen/xen-4.17-no-guest-class.raw.xz" | head -c 150000 >damaged
printf '\000\100\000\000' | dd of=damaged bs=1 seek=149000 conv=notrunc 2>/dev/null
for n in 1 5; do
    "$strata" report -k --last $n damaged 2>/dev/null | grep -v ' LOST' >shown || :
    [ "$(wc -l <shown)" -eq $n ] || fail "$(wc -l <shown) events instead of $n"
done
case="with other options"
shows_last 5 --layer host trace
shows_last 100 -e sched_process_exit guest.dat
shows_last 3 --until +0.05 trace/guest-guest
shows_last 3 --until +10 boot
shows_last 1000 --from +20 --until +21 boot
shows_last 9 --from +24 boot
shows_last 7 -f json --cpu 1 xen
"$strata" report -f csv --last 3 boot >shown
[ "$(wc -l <shown)" = 4 ] || fail "a head and three lines: $(cat shown)"
"$strata" report --last 3 -e 'no_such*' boot >shown 2>err || fail "$(cat err)"
grep -q "no event in the trace matches 'no_such\*'" err || fail "what does not match: $(cat err)"

case="losses"
"$strata" report xen 2>/dev/null | grep -n ' LOST' | tail -n 1 >at
line=$(cut -d: -f1 at)
all=$("$strata" report xen 2>/dev/null | wc -l)
"$strata" report --last $((all - line)) xen >shown 2>err
! grep -q ' LOST' shown || fail "a loss before the first event"
[ ! -s err ] || fail "counts what is not shown: $(cat err)"
"$strata" report --last $((all - line + 1)) xen >shown 2>err
[ "$(grep -c ' LOST' shown)" = 1 ] || fail "a loss after the first event: $(head -n 3 shown)"
grep -q 'lost' err || fail "does not count what is shown: $(cat err)"

case="refuses"
! "$strata" report --last 3 --limit 3 boot 2>err || fail "--limit"
grep -q 'exclude each other' err || fail "$(cat err)"
! "$strata" report --last 3 - <boot 2>err || fail "standard input"
grep -q 'requires a file' err || fail "$(cat err)"
! "$strata" report --last x boot 2>err || fail "x"
grep -q 'not a whole number' err || fail "$(cat err)"
