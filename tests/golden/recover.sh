#!/bin/sh
# What a traced program had committed outlives its being killed: at any moment, from threads and from
# signal handlers within them, with rings that overflow and disks that are full.
# $VICTIM: tests/runtime/victim.c; $EMIT: tests/runtime/emit.c. KILLS: how many (100).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset STRATA_TRACE
strata=$STRATA_BIN/strata
mkdir rings

fail() {
    echo "recover: $case: $*" >&2
    exit 1
}

have_babeltrace=yes
command -v babeltrace2 >/dev/null || have_babeltrace=

# count_shown TRACE: events as other readers see them.
count_shown() {
    "$strata" report "$1" >report 2>errors || { grep -q 'events were lost' errors ||
        fail "strata report: $(cat errors)"; }
    grep -c 'victim_t[a-z]*: ' report || true
}

# recover_and_check MESSAGE [OPTION]: what is in `rings`, into `trace`.
recover_and_check() {
    "$strata" recover rings >told 2>errors || fail "$1: $(cat errors)"
    "$VICTIM" check counters trace ${2-} >checked 2>errors || fail "$1: $(cat errors checked told)"
    [ -z "$(ls rings)" ] || fail "$1: left in rings: $(ls -lR rings; cat told errors)"
}

# ---- Killed at random moments
case=kill
kills=${KILLS-100}
n=0
recovered=0
while [ $n -lt "$kills" ]; do
    n=$((n + 1))
    # Moments, threads, pauses and sizes differ: overflowing rings and idle ones, packets of many sizes.
    eval "$(awk -v seed="$n$$" 'BEGIN { srand(seed); printf "after=%.4f threads=%d pause=%d signals=%d ring=%d",
        0.02 + rand() * 0.1, 1 + rand() * 4, (rand() < 0.5) * rand() * 3000, rand() < 0.8, rand() < 0.5 }')"
    sizes=
    [ "$ring" -eq 1 ] && sizes=,ring=64k,subbuffer=8k
    rm -rf trace
    STRATA_TRACE="*,ctf=trace,rings=rings$sizes" \
        "$VICTIM" run counters "$threads" "$signals" "$pause" 2>errors &
    pid=$!
    sleep "$after"
    kill -KILL $pid
    wait $pid 2>/dev/null || true
    [ ! -s errors ] || fail "the program says: $(cat errors)"
    [ -n "$(ls rings)" ] || continue # it was killed before its first event
    recover_and_check "kill $n after $after, $threads threads, pause $pause, signals $signals$sizes"
    events=$(sed 's/^.*): \([0-9]*\) events recovered.*/\1/' told | awk '{ n += $1 } END { print n + 0 }')
    recovered=$((recovered + events))
    if [ $((n % 10)) -eq 1 ] && [ -d trace ]; then
        found=$(sed 's/ events.*//' checked)
        shown=$(count_shown trace)
        [ "$shown" -eq "$found" ] || fail "strata report shows $shown events of $found"
        if [ $((n % 50)) -eq 1 ] && [ "$have_babeltrace" ]; then
            shown=$(babeltrace2 trace 2>/dev/null | grep -c 'victim_t[a-z]*: ' || true)
            [ "$shown" -eq "$found" ] || fail "babeltrace2 shows $shown events of $found"
        fi
    fi
done
[ $recovered -gt 0 ] || fail "in $kills kills there was nothing to recover"
echo "$kills kills, $recovered events recovered"
