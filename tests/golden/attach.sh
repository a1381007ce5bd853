#!/bin/sh
# strata record --attach to a program without a writer: each event arrives once and in order, even if recorders and
# then the program are killed. $EMIT, $VICTIM: tests/runtime. KILLS: the number of recorders to kill (5).
. "$(dirname "$0")/../lib/golden.sh"

pid=
at_exit='[ -z "$pid" ] || kill -KILL $pid 2>/dev/null || true'

have_babeltrace=yes
command -v babeltrace2 >/dev/null || have_babeltrace=

# The program exits: the recorder drains the rings and removes them.
case=ends
mkdir rings
"$EMIT" -w attached -t '*,writer=none,rings=rings' 3000 2 >emitted 2>errors &
pid=$!
wait_for '[ -e rings/*/ring-1 ]'
of=$(dirname rings/*/ring-1)
"$strata" record --attach -o trace "$of" >told 2>told.errors &
collector=$!
wait_for '[ -s trace/stream-1 ]'
: >attached
wait $pid || fail "the program: $(cat errors)"
pid=
wait $collector || fail "$(cat told told.errors)"
grep -q ': 6000 events written to' told || fail "$(cat told)"
[ ! -s told.errors ] || fail "$(cat told.errors)"
[ -z "$(ls rings)" ] || fail "left in rings: $(ls rings)"
"$strata" report trace >report
[ "$(wc -l <report)" -eq 6000 ] || fail "strata report shows $(wc -l <report) events"
if [ "$have_babeltrace" ]; then
    babeltrace2 trace >shown
    python3 "$here/../runtime/compare.py" babeltrace emitted shown || fail compare.py
fi

# --max-size: further events are lost and counted; the program is not disturbed.
case=max-size
rm -rf trace attached
"$EMIT" -w attached -t '*,writer=none,rings=rings' 30000 2 >emitted 2>errors &
pid=$!
wait_for '[ -e rings/*/ring-1 ]'
of=$(dirname rings/*/ring-1)
"$strata" record --attach --max-size 64K -o trace "$of" >told 2>told.errors &
collector=$!
wait_for '[ -s trace/metadata ]'
: >attached
wait $pid || fail "the program: $(cat errors)"
pid=
status=0
wait $collector || status=$?
[ $status -eq 1 ] || fail "status $status: $(cat told told.errors)"
events=$(sed -n 's/.*: \([0-9]*\) events written to.*/\1/p' told)
lost=$(sed -n 's/^  \([0-9]*\) events were lost: --max-size is reached$/\1/p' told.errors)
[ "$((events + ${lost:-0}))" -eq 60000 ] && [ "$lost" -gt 0 ] || fail "$(cat told told.errors)"
rm -rf rings/* trace

# No recorder attaches: strata recover finds all events after the program has ended.
case=nobody
"$EMIT" -t '*,writer=none,rings=rings' 600 2 >emitted 2>errors
rm -rf trace
"$strata" recover -o trace rings >told || fail "$(cat told)"
grep -q ': 1200 events recovered into the new trace' told || fail "$(cat told)"
[ -z "$(ls rings)" ] || fail "left in rings: $(ls rings)"

# Recorders of one trace are killed one after the other, then the program is; strata recover gets the rest.
case=killed
kills=${KILLS-5}
for sizes in '' ',ring=64k,subbuffer=8k'; do
    rm -rf trace trace.*
    STRATA_TRACE="*,writer=none,rings=rings$sizes" "$VICTIM" run counters 2 1 500 &
    pid=$!
    wait_for '[ -e rings/*/ring-1 ]'
    of=$(dirname rings/*/ring-1)
    if grep -q strata-writer /proc/$pid/task/*/comm; then
        fail "the program has a writer"
    fi
    k=0
    while [ $k -lt "$kills" ]; do
        k=$((k + 1))
        "$strata" record --attach -o trace "$of" >told 2>&1 &
        collector=$!
        wait_for "[ -e trace/metadata ] && ls trace/stream-* >/dev/null 2>&1 || ! kill -0 $collector 2>/dev/null"
        kill -0 $collector 2>/dev/null || fail "collector $k: $(cat told)"
        if [ $k -eq 1 ]; then
            status=0
            "$strata" record --attach -o other "$of" >other.told 2>&1 || status=$?
            [ $status -eq 1 ] && grep -q 'another strata' other.told || fail "$(cat other.told)"
        fi
        sleep "0.0$((k % 10))"
        kill -KILL $collector
        wait $collector 2>/dev/null || true
    done
    "$strata" record --attach -o trace "$of" >told 2>&1 &
    collector=$!
    # The recorder blocks SIGTERM (bit 14 of SigBlk) once it reads signals from a signalfd.
    wait_for "grep -qs '^SigBlk:.*[4-7c-f]...$' /proc/$collector/status"
    kill -TERM $collector
    wait $collector || fail "SIGTERM: $(cat told)"
    grep -q 'events written to' told || fail "SIGTERM: $(cat told)"
    kill -KILL $pid
    wait $pid 2>/dev/null || true
    pid=
    "$strata" recover rings >told 2>&1 || fail "$(cat told)"
    "$VICTIM" check counters trace >checked 2>&1 || fail "$(cat checked told)"
    [ -z "$(ls rings)" ] || fail "left in rings: $(ls rings)"
done

# Each recorder has its own directory. The second one cuts from the first trace what the first recorder wrote but did
# not release, so that no event is in both.
case=folders
rm -rf trace trace.*
STRATA_TRACE="*,writer=none,rings=rings" "$VICTIM" run counters 1 0 2000 &
pid=$!
wait_for '[ -e rings/*/ring-0 ]'
"$strata" record --attach -o trace.1 rings/* >told 2>&1 &
collector=$!
wait_for '[ -s trace.1/stream-0 ]'
# The recorder releases what it has written before it writes more.
size=$(stat -c %s trace.1/stream-0)
wait_for '[ "$(stat -c %s trace.1/stream-0)" -gt $size ]'
kill -KILL $collector
wait $collector 2>/dev/null || true
"$strata" record --attach -o trace.2 rings/* >told 2>&1 &
collector=$!
wait_for '[ -s trace.2/stream-0 ]'
kill -KILL $pid
wait $pid 2>/dev/null || true
pid=
wait $collector || fail "$(cat told)"
for t in trace.1 trace.2; do
    "$strata" report $t 2>/dev/null | sed -n 's/.*stream 0 n \([0-9]*\) .*/\1/p' >$t.n
    [ -s $t.n ] || fail "$t is empty"
done
cat trace.1.n trace.2.n | sort -n -u -c 2>order || fail "not in order, or twice: $(cat order)"

# A program has no guest, and its events are not switched. record_matrix has what is recorded beside it.
case=usage
for option in --guest '-e*'; do
    status=0
    "$strata" record --attach -o none "$option" rings/any >told 2>&1 || status=$?
    [ $status -eq 2 ] && grep -q -e '--guest without an endpoint is for QEMU' -e '--event switches no events' told ||
        fail "$(cat told)"
done

# Programs that --attach refuses.
case=refused
"$EMIT" -w nothing -t '*,ctf=own,rings=rings' 2000 1 >emitted 2>errors &
pid=$!
wait_for '[ -e rings/*/ring-0 ]'
status=0
"$strata" record --attach -o none rings/* >told 2>&1 || status=$?
[ $status -eq 1 ] && grep -q 'writes its trace by itself' told || fail "$(cat told)"
status=0
"$strata" recover rings/* >told 2>&1 || status=$?
[ $status -eq 1 ] && grep -q 'is running, so there is nothing to recover' told || fail "$(cat told)"
kill -KILL $pid
wait $pid 2>/dev/null || true
pid=
status=0
"$strata" record --attach -o none rings/* >told 2>&1 || status=$?
[ $status -eq 1 ] && grep -q 'has ended' told || fail "$(cat told)"
[ ! -e none ] || fail "it made a directory"
# PIDs are reused: rings of an ended process are not those of the process that has its PID now. The PID is at offset 16.
python3 - rings/*/process $$ <<'EOF'
import struct, sys
with open(sys.argv[1], "r+b") as file:
    file.seek(16)
    file.write(struct.pack("<I", int(sys.argv[2])))
EOF
mkdir -p -m 700 /dev/shm/strata-"$(id -u)"
again=/dev/shm/strata-$(id -u)/$$-1
mv rings/* "$again"
status=0
"$strata" record --attach -o none $$ >told 2>&1 || status=$?
mv "$again" rings/again
[ $status -eq 1 ] && grep -q 'has no rings' told || fail "$(cat told)"
# What is wrong first is said, and not what else would be.
status=0
"$strata" record --attach -o none -e 'emit_*' 2147483647 >told 2>&1 || status=$?
[ $status -eq 1 ] && [ "$(cat told)" = 'strata: no process 2147483647' ] || fail "$(cat told)"
status=0
"$strata" record --attach -o none --host qmp >told 2>&1 || status=$?
[ $status -eq 1 ] && grep -q '^strata: qmp: No such file' told || fail "$(cat told)"
"$strata" recover rings >told || fail "$(cat told)"
