#!/bin/sh
# Snapshots of a program that emits as fast as it can, by `strata ctl`, a signal and both at once: each is
# a native trace that babeltrace2 and strata read, and that holds a run of each thread's newest events
# without a gap. $CONTROLLED: tests/runtime/controlled.c. What exactly is in them: tests/unit/test_snapshot.c.
. "$(dirname "$0")/../lib/golden.sh"

pid=
cleanup() {
    [ -z "$pid" ] || kill "$pid" 2>/dev/null || :
}
at_exit=cleanup
unset STRATA_TRACE STRATA_CONTROL
XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
mkdir run

# emits PID: both of its threads have events in their rings.
emits() {
    [ -S "run/strata/$1" ] || return 1
    [ "$("$strata" ctl "$1" stats | awk '/^ *[01]  / && $4 > 0' | wc -l)" -eq 2 ]
}
start() {
    : >ready
    "$CONTROLLED" "$@" >ready 2>errors &
    pid=$!
    wait_for [ -s ready ]
    read -r pid child <ready
    wait_for emits "$pid"
}

# check FOLDER PID: what both readers show of it is the same, and has no gap.
check() {
    "$strata" report "$1" >report 2>err || fail "strata report $1: $(cat err)"
    [ ! -s err ] || fail "strata report $1: $(cat err)"
    sed -n 's/.* clock_\(t.ck\): n \([0-9]*\)$/\1 \2/p' report | sort >by-strata
    [ "$(wc -l <by-strata)" -eq "$(wc -l <report)" ] || fail "$(head -3 report)"
    awk '{ if (seen[$1]++ && $2 != last[$1] + 1) { print; exit 1 } last[$1] = $2 }' <<END || fail "$1: a gap"
$(sort -k 1,1 -k 2,2n by-strata)
END
    [ "$(cut -d ' ' -f 1 by-strata | uniq -c | wc -l)" -eq 2 ] || fail "$1: not both threads: $(head -3 report)"
    if command -v babeltrace2 >/dev/null; then
        babeltrace2 "$1" >shown 2>err || fail "babeltrace2 $1: $(cat err)"
        [ ! -s err ] || fail "babeltrace2 $1: $(cat err)"
        grep -q "vm:[^:]*:($2) \|vpid = $2\|pid = $2," shown || fail "$1: not of $2: $(head -1 shown)"
        sed -n 's/.* clock_\(t.ck\): .* n = \([0-9]*\) }$/\1 \2/p' shown | sort | cmp - by-strata ||
            fail "$1: babeltrace2 shows other events"
    fi
}

case=overwrite
start -s -t '*,mode=overwrite,ring=64k,subbuffer=8k,ctf=all-%p,snapshot-signal=USR2,snapshot=sig-%n'
for i in 1 2 3; do
    [ "$("$strata" ctl "$pid" snapshot "snap-$i")" = "$work/snap-$i" ] || fail "snapshot $i"
done

case=signal
kill -USR2 "$pid"
wait_for '[ "$(ls -d sig-* 2>/dev/null | wc -l)" -eq 1 ]'

case=both
for i in 1 2 3 4 5 6 7 8 9 10; do
    kill -USR2 "$pid"
    "$strata" ctl "$pid" snapshot "both-$i" >out
done
[ ! -s errors ] || fail "$(cat errors)"
kill "$pid"
wait "$pid" || fail "it ended with $?"

case=read
for folder in snap-* sig-* both-1 both-5 both-10; do check "$folder" "$pid"; done
ls -A | grep '^\.' && fail "something was left: $(ls -A)"
# Later ones have no earlier events. (On a busy machine a thread may not have run in between.)
last=0
for i in 1 2 3; do
    now=$("$strata" report "snap-$i" | sed -n 's/.* clock_tick: n \([0-9]*\)$/\1/p' | tail -n 1)
    [ "$now" -ge "$last" ] || fail "snap-$i ends at $now"
    last=$now
done

case=discard
start -t '*,ctf=discard'
"$strata" ctl "$pid" snapshot some >out
"$strata" report some >report
kill "$pid"
wait "$pid" || fail "it ended with $?"
check discard "$pid"

case=fork
# Forked while its parent's pass takes long, a child leaves alone, and so leaks, what it may not touch.
no_leaks=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
ASAN_OPTIONS=$no_leaks start -f -s -t '*,mode=overwrite,ring=64k,subbuffer=8k,ctf=fork'
wait_for emits "$child"
"$strata" ctl "$child" snapshot of-child >out
"$strata" ctl "$pid" snapshot of-parent >out
kill "$pid"
wait "$pid" || fail "it ended with $?"
check of-child "$child"
check of-parent "$pid"
