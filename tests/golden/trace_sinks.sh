#!/bin/sh
# What a traced program emits is what readers show of its traces, event by event and value by value, in
# each form it can be written; what is lost is counted; what was flushed outlives SIGKILL.
# $EMIT: tests/runtime/emit.c.
. "$(dirname "$0")/../lib/golden.sh"

XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
mkdir run

# Nothing was lost, and the program had nothing to say. (Of the leak checker of a sanitizer's build is a
# line about threads that end while it looks.)
all_well() {
    [ "$(grep -v '^==[0-9]*==Running thread [0-9]* was not suspended' errors)" = 'dropped 0 unwritten 0' ] ||
        fail "$(cat errors)"
}

compare() {
    python3 "$here/../runtime/compare.py" "$@" || fail "compare.py $*"
}

have_babeltrace=yes
command -v babeltrace2 >/dev/null || have_babeltrace=


# show_ctf FOLDER, show_simple FILE, show_log FILE: as compare.py wants it, into `shown`.
show_ctf() {
    babeltrace2 "$1" >shown 2>errors || { cat errors >&2; fail "babeltrace2 $1"; }
}
show_simple() {
    "$STRATA_BIN/strata" report --trace-events "$here/../runtime/emit.trace-events" "$1" >report 2>errors ||
        { cat errors >&2; fail "strata report $1"; }
    # "SEC.NSEC [CPU] PID NAME: TEXT"
    sed -n 's/^[0-9.]* \[[-0-9]*\] *[0-9]* \(emit_[a-z]*\): /\1 /p' report >shown
}
# The same of a native trace, which has the names of threads, and needs no declarations; and JSON, into
# `json`.
show_native() {
    "$STRATA_BIN/strata" report "$1" >report 2>errors &&
        "$STRATA_BIN/strata" report --format json "$1" >json 2>>errors ||
        { cat errors >&2; fail "strata report $1"; }
    sed -n 's/^[0-9.]* \[[-0-9]*\] *emit-[0-9]* \(emit_[a-z]*\): /\1 /p' report >shown
}

# check EMITTED TRACE [OPTION...]: all three of TRACE.ctf, TRACE.st, TRACE.log, as far as they are there.
check() {
    emitted=$1
    trace=$2
    shift 2
    if [ -d "$trace.ctf" ]; then
        show_native "$trace.ctf"
        compare strata "$emitted" json "$@"
        compare text "$emitted" shown "$@"
        if [ "$have_babeltrace" ]; then
            show_ctf "$trace.ctf"
            compare babeltrace "$emitted" shown "$@"
        fi
    fi
    if [ -e "$trace.st" ]; then
        show_simple "$trace.st"
        compare text "$emitted" shown "$@"
    fi
    if [ -e "$trace.log" ]; then
        compare log "$emitted" "$trace.log" "$@"
    fi
}

case=all-at-once
"$EMIT" -t '*,ctf=all.ctf,simple=all.st,log=all.log' 6000 3 >emitted 2>errors
all_well
check emitted all
# The log is what strata reads of logs.
"$STRATA_BIN/strata" report --trace-events "$here/../runtime/emit.trace-events" all.log >report
sed -n 's/^[0-9.]* \[[-0-9]*\] *[0-9]* \(emit_[a-z]*\): /\1 /p' report >shown
compare text emitted shown
# simpletrace's text, by the old command.
"$STRATA_BIN/simpletrace" "$here/../runtime/emit.trace-events" all.st >simpletrace
[ "$(wc -l <simpletrace)" -eq 18000 ] || fail "simpletrace printed $(wc -l <simpletrace) lines"
grep -q "^emit_ints [0-9.]* pid=[0-9]* a=0xffffffff9e3779b1 b=0x61c8864f event=0x1$" simpletrace ||
    fail "$(head -3 simpletrace)"

case=each-alone
for sink in ctf simple log; do
    name=$sink
    [ $sink = simple ] && name=st
    "$EMIT" -t "*,$sink=alone.$name" 3000 2 >emitted 2>errors
    all_well
    check emitted alone
    rm -rf "alone.$name"
done

# By the clock that every machine has: no event is stamped in line then.
case=clock
STRATA_TRACE_CLOCK=monotonic "$EMIT" -t '*,ctf=clock.ctf,simple=clock.st,log=clock.log' 3000 2 >emitted 2>errors
all_well
check emitted clock
grep -q 'freq = 1000000000;' clock.ctf/metadata || fail "$(grep -A 9 '^clock' clock.ctf/metadata)"

# While it runs: without a flush of the program's. All that it has emitted until it waits gets into the native
# trace before it gets into the log.
case=live
"$EMIT" -w go-on -p 20000 -t "*,ctf=live.ctf,simple=live.st,log=live.log" 2000 1 >emitted 2>errors &
pid=$!
wait_for '[ -e live.log ] && [ "$(wc -l <live.log)" -ge 1000 ]'
if [ "$have_babeltrace" ]; then
    show_ctf live.ctf
    [ "$(wc -l <shown)" -eq 1000 ] || fail "only $(wc -l <shown) events in the native trace"
fi
: >go-on
wait $pid || fail "emit ended with $?: $(cat errors)"
check emitted live

# A program that switches its events by itself, as QEMU does: the writer hears of its first ring.
case=own-states
"$EMIT" -w go-on-too -s -p 20000 -t 'log=own.log' 1000 1 >emitted 2>errors &
pid=$!
wait_for '[ -s own.log ]'
: >go-on-too
wait $pid || fail "emit ended with $?: $(cat errors)"
check emitted own

# A trace that is written again replaces the one before; a directory with other things in it is not touched.
case=again
"$EMIT" -t '*,ctf=live.ctf' 600 1 >emitted 2>errors
rm -f live.st live.log
check emitted live
mkdir other
echo mine >other/file
mkdir rings
"$EMIT" -t "*,ctf=other,rings=$PWD/rings" 600 1 >emitted 2>errors
grep -q 'ctf other.*not empty' errors || fail "$(cat errors)"
grep -q '600 events could not be written (ctf): Directory not empty; they are kept' errors ||
    fail "$(cat errors)"
[ "$(ls other)" = file ] || fail "wrote into a directory of somebody else's"
"$STRATA_BIN/strata" recover -o saved rings/strata-* >saved.out || fail "$(cat saved.out)"
grep -q ': 600 events recovered' saved.out || fail "$(cat saved.out)"
[ -z "$(ls rings)" ] || fail "rings are left: $(ls rings)"

# What a reader of TRACE counts as dropped is $dropped.
counted() {
    case $1 in
    *.st)
        "$STRATA_BIN/simpletrace" "$here/../runtime/emit.trace-events" "$1" >simpletrace
        n=$(sed -n 's/^Dropped_Event .*num_events_dropped=\(0x[0-9a-f]*\)$/\1/p' simpletrace |
            python3 -c 'import sys; print(sum(int(line, 16) for line in sys.stdin))')
        ;;
    *.log)
        n=$(sed -n 's/^[0-9]*@[0-9.]*:\([0-9]*\) events were dropped$/\1/p' "$1" |
            python3 -c 'import sys; print(sum(int(line) for line in sys.stdin))')
        ;;
    esac
    [ "$n" -eq "$dropped" ] || fail "$1 counts $n, not $dropped"
}

# Rings that are too small, in the middle of a trace: a pipe without a reader blocks the writer until
# all threads have emitted half of their events, more than their rings hold. In every output the missing events are
# those counted.
case=drops
drained() {
    "$STRATA_BIN/strata" ctl "$1" stats >stats 2>&1 && # RING MODE SIZE EVER NOW ...
        awk '/^ *[0-9]+  discard / { n++; left += $5 } END { exit n == 0 || left > 0 }' stats
}
mkfifo held.log
exec 3<>held.log
"$EMIT" -w go -t 'ring=64k,subbuffer=8k,memory=256k' -t '*,ctf=drops.ctf,simple=drops.st,log=held.log' \
    8000 4 >emitted 2>errors 3>&- &
pid=$!
wait_for '[ "$(wc -l <emitted)" -ge 16000 ]'
cat held.log >drops.log 3>&- &
# There is room again for each thread to tell in the middle what it has dropped.
wait_for "drained $pid"
exec 3>&-
: >go
wait $pid || fail "emit ended with $?: $(cat errors)"
wait
dropped=$(sed -n 's/^dropped \([0-9]*\) unwritten 0$/\1/p' errors)
[ "${dropped:-0}" -gt 0 ] || fail "$(cat errors)"
check emitted drops --lost "$dropped"
counted drops.st
counted drops.log
[ "$(tail -n 1 drops.log | grep -c dropped)" -eq 0 ] || [ "$(grep -c dropped drops.log)" -gt 4 ] ||
    fail "all were dropped at the end"

# A log that cannot be written loses events; its notes of dropped ones are none.
case=unwritten
mkfifo held.st
exec 3<>held.st
"$EMIT" -w go2 -t 'ring=64k,subbuffer=8k,memory=256k' -t '*,simple=held.st,log=/dev/full' \
    20000 4 >emitted 2>errors 3>&- &
pid=$!
wait_for '[ "$(wc -l <emitted)" -ge 40000 ]'
cat held.st >unwritten.st 3>&- &
wait_for '[ -s unwritten.st ]'
exec 3>&-
: >go2
wait $pid || fail "emit ended with $?: $(cat errors)"
wait
dropped=$(sed -n 's/^dropped \([0-9]*\) unwritten [0-9]*$/\1/p' errors)
[ "${dropped:-0}" -gt 0 ] || fail "$(cat errors)"
grep -q "^dropped $dropped unwritten $((80000 - dropped))$" errors || fail "$(cat errors)"
check emitted unwritten --lost "$dropped"
counted unwritten.st

# And at full speed, each form by itself: many or few or none, as it comes.
case=fast
for name in ctf st log; do
    sink=$name
    [ $name = st ] && sink=simple
    "$EMIT" -t "ring=64k,subbuffer=8k,memory=256k" -t "*,$sink=fast.$name" 8000 4 >emitted 2>errors
    dropped=$(sed -n 's/^dropped \([0-9]*\) unwritten 0$/\1/p' errors)
    [ "$dropped" ] || fail "$sink: $(cat errors)"
    check emitted fast --lost "$dropped"
    [ $name = ctf ] || counted "fast.$name"
    rm -rf "fast.$name"
done

# A full disk, and a path that cannot be: the program goes on, all is counted.
case=unwritable
"$EMIT" -t '*,simple=/dev/full' 600 1 >emitted 2>errors
grep -q 'simple /dev/full.*No space left' errors || fail "$(cat errors)"
grep -q '^dropped 0 unwritten 600$' errors || fail "$(cat errors)"
"$EMIT" -t '*,log=/dev/full' 600 1 >emitted 2>errors
grep -q '^dropped 0 unwritten 600$' errors || fail "$(cat errors)"
"$EMIT" -t "*,ctf=/dev/null/x,rings=$PWD/rings" 600 1 >emitted 2>errors
grep -q 'ctf /dev/null/x.*Not a directory' errors || fail "$(cat errors)"
grep -q '600 events could not be written (ctf): Not a directory; they are kept' errors ||
    fail "$(cat errors)"
rm -r rings/strata-*

# On a disk that fills, the log ends with a whole line.
case='full disk'
mkdir full
if mount -t tmpfs -o size=64k strata full 2>/dev/null; then
    "$EMIT" -t "*,log=$PWD/full/log" 6000 1 >emitted 2>errors
    unwritten=$(sed -n 's/^dropped 0 unwritten \([0-9]*\)$/\1/p' errors)
    cp full/log full.log
    umount -l full
    [ "$unwritten" ] || fail "$(cat errors)"
    [ -z "$(tail -c 1 full.log)" ] || fail "torn: $(tail -n 1 full.log)"
    [ $(($(grep -c ':emit_' full.log) + unwritten)) -eq 6000 ] || fail "$(grep -c ':emit_' full.log) and $unwritten"
else
    echo 'trace_sinks: SKIPPED in part: no tmpfs of its own can be mounted' >&2
fi
rmdir full

# What was flushed is there after SIGKILL.
case=killed
for try in 1 2 3; do
    rm -rf killed.*
    "$EMIT" -k -a -t '*,ctf=killed.ctf,simple=killed.st,log=killed.log,rings=rings' 1200 2 >emitted 2>errors &&
        fail "it was not killed"
    [ "$(wc -l <emitted)" -ge 2400 ] || fail "it was killed too early"
    check emitted killed --at-least
done

# A child gets files of its own. Forked while its parent's pass takes long, it leaves alone, and so leaks, what it
# may not touch.
case=fork
no_leaks=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
ASAN_OPTIONS=$no_leaks "$EMIT" -f -t '*,ctf=fork.ctf,simple=fork.st,log=fork.log' 1200 2 >emitted 2>errors
all_well
child=$(ls -d fork.st.*)
child=${child#fork.st.}
grep "\"tid\": $child," emitted >emitted.child
grep -v "\"tid\": $child," emitted >emitted.parent
[ "$(wc -l <emitted.child)" -eq 1200 ] || fail "the child's thread is not $child"
mkdir child
mv "fork.st.$child" child/fork.st
mv "fork.ctf.$child" child/fork.ctf
mv "fork.log.$child" child/fork.log
check emitted.parent fork
check emitted.child child/fork
# But a device is for everybody.
if mknod null c 1 3 2>/dev/null && : 2>/dev/null >null; then
    ASAN_OPTIONS=$no_leaks "$EMIT" -f -t '*,simple=null,log=null' 100 1 >emitted 2>errors
    all_well
    [ "$(echo null*)" = null ] || fail "a child made regular files beside a device: $(echo null*)"
fi

# So does a process that finds another one writing there, as one that runs itself. After it, the path is free.
case="in use"
"$EMIT" -t '*,ctf=used.ctf,simple=used.st' -w go-first 2000 2 >emitted.first 2>errors.first &
first=$!
at_exit='kill -KILL $first 2>/dev/null || true'
wait_for '[ "$(ls used.ctf/stream-* 2>/dev/null | wc -l)" -ge 1 ]' || fail "nothing is written: $(cat errors.first)"
"$EMIT" -t '*,ctf=used.ctf,simple=used.st' 900 2 >emitted 2>errors & wait_status=0; second=$!
wait $second || wait_status=$?
[ $wait_status -eq 0 ] || fail "the second process: $(cat errors)"
[ "$(grep -c "another process writes the trace there; this one is .*/used\..*\.$second\$" errors)" -eq 2 ] || fail "$(cat errors)"
sed -i /another/d errors
all_well
: >go-first
wait $first || fail "$(cat errors.first)"
at_exit=
[ "$(cat errors.first)" = 'dropped 0 unwritten 0' ] || fail "$(cat errors.first)"
mkdir second
mv "used.st.$second" second/used.st
mv "used.ctf.$second" second/used.ctf
check emitted second/used
check emitted.first used
"$EMIT" -t '*,ctf=used.ctf,simple=used.st' 300 1 >emitted 2>errors
all_well
check emitted used

# The flight recorder: nothing until it is asked, then the newest.
case=overwrite
"$EMIT" -t 'mode=overwrite,ring=64k,subbuffer=8k' -t '*,ctf=flight.ctf' 8000 1 >emitted 2>errors
if [ "$have_babeltrace" ]; then
    show_ctf flight.ctf
    n=$(wc -l <shown)
    [ "$n" -ge 500 ] && [ "$n" -lt 8000 ] || fail "$n events"
    tail -n "$n" emitted >newest
    compare babeltrace newest shown
fi

[ "$have_babeltrace" ] || { echo "babeltrace2 is not installed: the native trace was not read"; exit 77; }
