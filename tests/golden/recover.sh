#!/bin/sh
# What a traced program had committed outlives its being killed: at any moment, from threads and from
# signal handlers within them, with rings that overflow and disks that are full.
# $VICTIM: tests/runtime/victim.c; $EMIT: tests/runtime/emit.c. KILLS: how many (40).
. "$(dirname "$0")/../lib/golden.sh"

mkdir rings

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
kills=${KILLS-40}
n=0
recovered=0
while [ $n -lt "$kills" ]; do
    n=$((n + 1))
    # Moments, threads, pauses and sizes differ: overflowing rings and idle ones, packets of many sizes. Where the
    # program does not come to its first event, it gets more time.
    eval "$(awk -v seed="$n$$" -v more=$((recovered == 0 ? n / 5 : 0)) 'BEGIN {
        srand(seed)
        printf "after=%.4f threads=%d pause=%d signals=%d ring=%d", 0.02 + rand() * 0.1 * (1 + more), 1 + rand() * 4,
            (rand() < 0.5) * rand() * 3000, rand() < 0.8, rand() < 0.5 }')"
    sizes=
    [ "$ring" -eq 1 ] && sizes=,ring=64k,subbuffer=8k
    rm -rf trace counters
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
    found=$(sed 's/ events.*//' checked)
    # (The folder may be there, and nothing in it.)
    if [ $((n % 10)) -eq 1 ] && [ "$found" -gt 0 ]; then
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

# ---- By its own hand, and while nothing can be written any more
ulimit -c 0
for n in 1 2 3; do
    case=abort
    rm -rf trace
    STRATA_TRACE="*,ctf=trace,rings=rings" "$VICTIM" run counters 2 1 500 0.1 abort 2>errors || true
    [ -n "$(ls rings)" ] || fail "abort() left nothing"
    recover_and_check "abort $n"

    case=limit
    rm -rf trace
    (
        ulimit -f 600 # 300 KB
        STRATA_TRACE="*,ctf=trace,rings=rings,ring=64k,subbuffer=8k" \
            exec "$VICTIM" run counters 2 1 500 2>errors
    ) &
    pid=$!
    # No packet of 8 KB more has room.
    wait_for '[ "$(stat -c %s trace/stream-0 2>/dev/null || echo 0)" -gt $((300 * 1024 - 8192)) ]'
    sleep 0.1
    kill -KILL $pid
    wait $pid 2>/dev/null || true
    [ -n "$(ls rings)" ] || fail "it ended by the limit: $(cat errors)"
    recover_and_check "file size limit $n" unwritten
done

# ---- What -o, --keep-rings, --list and wrong uses do
case=options
rm -rf trace
"$EMIT" -k -t '*,ctf=trace,rings=rings,mode=overwrite,ring=64k,subbuffer=8k' 3000 2 >emitted 2>errors ||
    true
# Files among the directories are nothing of ours, neither there nor where rings are by default.
: >rings/77-1234
default=/dev/shm/strata-$(id -u)
mkdir -p -m 700 "$default"
: >"$default/record-file$$"
# (Rings of other tests are there as well, and some of those cannot be read.)
"$strata" recover --list >told.default 2>&1 || :
grep -q '^ *PID  *PROGRAM\|nothing to recover$' told.default && ! grep "record-file$$" told.default ||
    fail "--list beside a file: $(cat told.default)"
"$strata" recover --list rings >told
rm "$default/record-file$$" rings/77-1234
[ "$(wc -l <told)" -eq 2 ] && grep -q ' emit ' told || fail "--list: $(cat told)"
"$strata" recover --keep-rings -o kept rings >told || fail "--keep-rings: $(cat told)"
"$strata" recover -o again rings >told2 || fail "-o: $(cat told2)"
events() { sed 's/^.*: \([0-9]*\) events recovered.*/\1/' "$1"; }
[ "$(events told)" -gt 100 ] && [ "$(events told)" = "$(events told2)" ] ||
    fail "kept: $(cat told), then: $(cat told2)"
[ -z "$(ls rings)" ] || fail "left: $(ls rings)"
[ "$("$strata" report kept | grep -c ' emit_')" = "$(events told)" ] || fail "not all of it is in the trace"
status=0
"$strata" recover /nowhere 2>errors || status=$?
[ $status -eq 1 ] && grep -q '/nowhere: No such file' errors || fail "$(cat errors)"
status=0
"$strata" recover 2147483647 2>errors || status=$?
[ $status -eq 1 ] && grep -q 'process 2147483647 has left nothing' errors || fail "$(cat errors)"
"$strata" recover rings 2>errors || fail "an empty directory: $(cat errors)"
grep -q 'nothing to recover' errors || fail "$(cat errors)"

# A directory that holds something is not written to. Of several processes, each has a directory in a new one.
case=into
"$EMIT" -k -t '*,writer=none,rings=rings' 30 1 >emitted 2>errors || true
"$EMIT" -k -t '*,writer=none,rings=rings' 40 1 >emitted 2>errors || true
status=0
"$strata" recover -o kept rings 2>errors || status=$?
[ $status -eq 1 ] && grep -q 'kept: directory is not empty; name another' errors ||
    fail "exit status $status: $(cat errors)"
"$strata" recover --keep-rings -o several rings >told 2>errors || fail "$(cat errors)"
[ "$(ls several | grep -c '^emit-[0-9]*$')" -eq 2 ] || fail "$(ls several; cat told)"
[ "$("$strata" report several/* | grep -c ' emit_')" -eq 70 ] || fail "$(cat told)"
mkdir empty
"$strata" recover --all -o empty rings >told 2>errors || fail "$(cat errors)"
[ "$(ls empty | grep -c '^emit-[0-9]*$')" -eq 2 ] && [ -z "$(ls rings)" ] || fail "$(ls empty rings; cat told)"
"$EMIT" -k -t '*,writer=none,rings=rings' 30 1 >emitted 2>errors || true
status=0
"$strata" recover -o empty rings 2>errors || status=$?
[ $status -eq 1 ] && grep -q 'empty: directory is not empty; name another' errors ||
    fail "exit status $status: $(cat errors)"
"$strata" recover --discard rings >told
rm -rf several empty

# Rings without the file that says what is in them are removed with their folder.
case=unfinished
mkdir -p rings/strata-2147483647-1
: >rings/strata-2147483647-1/ring-0
"$strata" recover rings >told 2>errors || fail "$(cat errors)"
[ -z "$(ls rings)" ] || fail "left: $(ls -R rings)"

# Records whose descriptions are missing are a loss with a number, in the message, the status and the trace.
case=undecoded
rm -rf trace
"$EMIT" -k -t '*,writer=none,rings=rings' 300 1 >emitted 2>errors || true
for process in rings/*/process; do # bytes of descriptions: 0
    printf '\0\0\0\0\0\0\0\0' | dd of="$process" bs=1 seek=88 conv=notrunc status=none
done
status=0
"$strata" recover --strict -o trace rings >told 2>errors || status=$?
[ $status -eq 3 ] || fail "exit status $status: $(cat told errors)"
grep -q 'at least 1 event ([0-9]* bytes of records) cannot be decoded' errors || fail "$(cat told errors)"
"$strata" report trace >shown 2>errors || fail "$(cat errors)"
grep -q 'LOST.* 1 event' shown || fail "$(cat shown)"
rm -rf rings/* trace

# Another recorder that begins saves what a killed one has left. Where it cannot decode all of it, the rings stay, and once more
# may be all: here the description of the events is missing for a while. (Any test's recorder may be the one that saves.)
case='undecoded, saved by another'
"$strata" record -o left -- "$EMIT" -q -k -w go-left 1000 1 >told 2>errors &
pid=$!
at_exit='kill -KILL $pid 2>/dev/null || :'
wait_for '[ -e left/program/stream-0 ] && [ "$(jq ".sources[0].vmm.pid // 0" left/trace.json 2>/dev/null)" -gt 0 ]'
program=$(jq '.sources[0].vmm.pid' left/trace.json)
kill -STOP $pid
wait_for 'grep -q "^State:.[Tt]" /proc/$pid/status'
: >go-left
# It kills itself after its last event.
wait_for '! grep -q "^State:.[^Z]" /proc/$program/status 2>/dev/null'
process=$(grep -lsF "$work" "$default"/record-*/strata-"$program"-*/process)
described=$(od -A n -t u8 -j 88 -N 8 "$process" | tr -d ' ')
# describe BYTES: so many have descriptions.
describe() {
    python3 -c 'import struct, sys
with open(sys.argv[1], "r+b") as file:
    file.seek(88)
    file.write(struct.pack("=Q", int(sys.argv[2])))' "$process" "$1"
}
describe 0
kill -KILL $pid
wait $pid 2>/dev/null || :
at_exit=
# begin: another recorder does.
begin() {
    rm -rf next
    "$strata" record -o next -- "$EMIT" -q 6 1 >told 2>&1 || fail "$(cat told)"
}
begin
[ -e "$process" ] || fail "rings are gone of which not all was saved: $("$strata" report left | wc -l) events are"
describe "$described"
wait_for 'begin; [ ! -e "$process" ]'
[ "$("$strata" report left 2>errors | grep -c ' emit_')" -eq 1000 ] || fail "$("$strata" report left | wc -l) events: $(cat errors)"

# A packet that a kill tore in the middle, and those that were written twice, are cut first.
case=torn
rm -rf trace
"$EMIT" -k -a -t '*,ctf=trace,rings=rings' 3050 1 >emitted 2>errors || true
printf 'torn' >>trace/stream-0
"$strata" recover rings >told 2>errors || fail "$(cat errors)"
[ "$("$strata" report trace | grep -c ' emit_')" -eq 3050 ] || fail "$("$strata" report trace | tail -2)"

# Another trace in its place is not touched.
case=replaced
rm -rf trace
"$EMIT" -k -a -t '*,ctf=trace,rings=rings' 350 1 >emitted 2>errors || true
rm -rf trace
"$EMIT" -t '*,ctf=trace,rings=rings' 600 1 >emitted 2>errors
cp -r trace before
status=0
"$strata" recover rings >told 2>errors || status=$?
[ $status -eq 1 ] && grep -q 'another trace' errors || fail "$(cat told errors)"
diff -r trace before || fail "it was changed"
"$strata" recover -o new rings >told 2>errors || fail "$(cat errors)"

# What is not wanted is removed, and nothing is written.
case=discard
rm -rf trace before new
"$EMIT" -k -t '*,writer=none,rings=rings' 300 1 >emitted 2>errors || true
"$strata" recover --discard rings >told 2>errors || fail "$(cat errors)"
grep -q ': 300 events discarded$' told || fail "$(cat told)"
[ -z "$(ls rings)" ] || fail "rings are left: $(ls rings)"
[ ! -e trace ] && [ -z "$(find . -name 'strata-*')" ] || fail "a trace was made"
