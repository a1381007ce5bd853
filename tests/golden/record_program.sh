#!/bin/sh
# strata record -- PROGRAM: what a program, and what it starts, emits arrives, once, in its order, however they
# end and however the recorder does. $EMIT, $VICTIM: tests/runtime.
. "$(dirname "$0")/../lib/golden.sh"

pid= mounted= earlier=
ended() {
    [ -z "$pid" ] || kill -KILL $pid 2>/dev/null || true
    [ -z "$earlier" ] || rm -rf "$earlier" "$rings/.earlier-$child"
    [ -z "$mounted" ] || umount -l "$mounted"
}
at_exit=ended
rings=/dev/shm/strata-$(id -u)

# No rings are left whose trace is one of ours.
nothing_left() {
    for process in "$rings"/record-*/*/process; do
        [ ! -e "$process" ] || ! grep -q -F "$work" "$process" || fail "left: $process"
    done
}

# rings_of PID: the directory of its rings. Others may be left of a process that had this number before.
rings_of() {
    for left in "$rings"/record-*/strata-"$1"-*/process; do
        [ ! -e "$left" ] || ! grep -q -F "$work" "$left" || echo "${left%/process}"
    done
}

# STATUS WORDS…: runs and compares the exit status.
expect() {
    wanted=$1
    shift
    status=0
    "$@" >out 2>told || status=$?
    [ $status -eq "$wanted" ] || fail "$*: exit status $status: $(cat out told)"
}

case=whole
before=$(python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))')
expect 0 "$strata" record -o trace -- "$EMIT" 3000 2
after=$(python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))')
mv out emitted
grep -q ': 6000 events written to trace/program$' told || fail "$(cat told)"
"$strata" report --format json trace >shown
python3 "$here/../runtime/compare.py" strata emitted shown || fail compare.py
grep -q '"complete": true' trace/trace.json || fail "$(cat trace/trace.json)"
grep -q '"exit": "status 0"' trace/trace.json || fail "$(cat trace/trace.json)"
"$strata" info trace | grep -q '^  complete  *yes' || fail "$("$strata" info trace)"
nothing_left

# Each file is stated with its length at the end: what is cut or removed afterwards is missing, whatever is left reads well.
case="cut files"
. "$here/../lib/stated_files.sh"
check_stated_files trace || fail "$(cat trace/trace.json)"
cp -r trace part
rm part/program/stream-1
expect 1 "$strata" report part
grep -q '^strata: part/program/stream-1: is missing; the [0-9]* bytes that the recorder wrote are lost$' told || fail "$(cat told)"
[ "$(grep -vc LOST out)" -eq 3000 ] && [ "$(grep -c LOST out)" -eq 1 ] || fail "$(wc -l out; tail -n 2 out)"
rm part/program/stream-0
expect 1 "$strata" info part
[ "$(grep -c 'recorder wrote' told)" -eq 2 ] || fail "$(cat told)"
grep -q '^  complete  *no; the recorder finished, but parts cannot be read$' out || fail "$(cat out)"
grep -q "^  lost in all  *unknown; 0 by the recorder's count$" out || fail "$(cat out)"
cp trace/program/stream-* part/program
truncate -s -1 part/program/metadata
expect 1 "$strata" report part
grep -q '^strata: part/program/metadata: has [0-9]* of the [0-9]* bytes that the recorder wrote; the rest is lost$' told || fail "$(cat told)"
rm -r part

# Times are the host's, within what the trace says, of its clock as of others.
case=clock
python3 - trace/trace.json $((after - before)) <<'EOF' || fail "the clock"
import json, sys
clock = json.load(open(sys.argv[1]))["sources"][0]["clock"]
assert clock["host"] and clock["name"] == "monotonic" and clock["hz"] == 1000000000, clock
# A machine that is busy may take us off the CPU within a reading, but hardly within eight. The error of a rate grows with the
# time to the next reading, which a recorder that is late makes late.
assert clock.get("error_ns", 0) < 1000000 + int(sys.argv[2]) // 1000, clock
EOF
before=$(python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))')
expect 0 "$strata" record -o clock -- "$EMIT" 10 1
after=$(python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))')
"$strata" report --format json clock | sed 's/.*"time_ns":\([0-9]*\).*/\1/' >times
[ "$(wc -l <times)" -eq 10 ] || fail "$(wc -l <times) events"
while read -r t; do
    [ "$t" -ge "$before" ] && [ "$t" -le "$after" ] || fail "$t is not between $before and $after"
done <times

# Which events: those of -e, and what STRATA_TRACE says.
case=events
expect 0 "$strata" record -o words -e emit_words -- "$EMIT" 600 1
[ "$("$strata" report words | grep -vc ' emit_words: ')" -eq 0 ] || fail "others than emit_words"
[ "$("$strata" report words | wc -l)" -gt 0 ] || fail "no events"
expect 0 env STRATA_TRACE=emit_text "$strata" record -o text -- "$EMIT" 600 1
[ "$("$strata" report text | grep -vc ' emit_text: ')" -eq 0 ] || fail "others than emit_text"
expect 0 "$strata" record -o several -e 'emit_words,emit_m*' -e emit_text -- "$EMIT" 600 1
[ "$("$strata" report several | grep -vcE ' emit_(words|mixed|text): ')" -eq 0 ] || fail "others than these"
[ "$("$strata" report several | grep -cE ' emit_(mixed|text): ')" -gt 0 ] || fail "not all of these"

# A condition is in the trace: what it left out is not missing.
expect 0 "$strata" record -o if -e 'emit_mixed{n < 3},emit_text' -- "$EMIT" 600 1
jq -e '[.sources[].filters] | unique == [["emit_mixed=n < 3"]]' if/trace.json >out || fail "$(cat if/trace.json)"
"$strata" info if | grep -q '^  conditions  *emit_mixed{n < 3}$' || fail "$("$strata" info if)"

# Its exit status is ours; its standard output has nothing of us.
case=status
expect 7 "$strata" record -o status -- sh -c "'$EMIT' 60 1 >emitted; echo said; exit 7"
[ "$(cat out)" = said ] || fail "$(cat out)"
grep -q 'status 7' told || fail "$(cat told)"

# Children, also those that live longer than it, and a program that it becomes.
case=children
# (One that has no ring yet when the program ends is not waited for: nobody can tell that it will have one.)
expect 0 "$strata" record -o children -- sh -c "'$EMIT' -w go 600 1 >behind &
    until grep -qs /ring-0 /proc/\$!/maps; do sleep 0.01; done
    (sleep 0.2; : >go) &
    '$EMIT' 600 1 >/dev/null; exec '$EMIT' 300 1"
[ "$("$strata" report children | wc -l)" -eq 1500 ] || fail "$("$strata" report children | wc -l) events: $(cat told)"
[ "$(ls -d children/program children/program-* | wc -l)" -eq 3 ] || fail "$(ls children)"
# Each class is one row, of whichever process, unless asked.
"$strata" report children | sed -n 's/.* \(emit_[a-z]*\): .*/\1/p' | sort | uniq -c | awk '{print $1, $2}' >wanted
"$strata" stat children | awk '/emit_/ {print $2, $1}' | sort -k 2 | cmp - wanted || fail "$("$strata" stat children)"
[ "$("$strata" stat --by source-event children | grep -c '#[012] emit_')" -eq $((3 * $(wc -l <wanted))) ] ||
    fail "$("$strata" stat --by source-event children)"
nothing_left

# No more than that is written, and what came after it is counted. A packet that would pass the limit is not written, and one
# may have the 64 KiB of a sub-buffer.
case=max-size
expect 1 "$strata" record -o small --max-size 256K -- "$EMIT" 30000 2
mv out emitted
[ "$(cat small/program/stream-* | wc -c)" -le 264000 ] || fail "$(ls -l small/program)"
grep -q -- '--max-size is reached' told || fail "$(cat told)"
events=$(sed -n 's/^.*: \([0-9]*\) events written.*/\1/p' told)
lost=$(sed -n 's/^  \([0-9]*\) events were lost:.*/\1/p' told | awk '{n += $1} END {print n}')
[ "$events" -gt 2000 ] && [ $((events + lost)) -eq 60000 ] || fail "$(cat told)"
[ "$("$strata" report small 2>report.err | grep -c ' emit_')" -eq "$events" ] || fail "$(cat report.err)"
"$strata" info small | grep -q "^  lost  *$lost" || fail "$("$strata" info small)"
nothing_left

# Nothing to record.
case=nothing
expect 1 "$strata" record -o none -- true
grep -q "^strata: nothing was recorded: 'true' reported no events; .* libstrata" told || fail "$(cat told)"
[ ! -e none ] || fail "it made a directory"
printf '#!/bin/sh\nexec true\n' >script
chmod +x script
expect 1 "$strata" record -o none -- ./script
grep -q -- '--qemu=PROGRAM' told || fail "$(cat told)"
expect 5 "$strata" record -o none -- sh -c 'exit 5'
# Of programs that link libstrata it is known why: the backend, the pattern, or that no event occurred.
expect 1 env EMIT_BACKEND=log "$strata" record -o none -- "$EMIT" 0 1
grep -q "nothing was recorded: none of the 6 events of 'emit' goes to a ring; .* --backend=ring" told || fail "$(cat told)"
expect 1 "$strata" record -o none -e 'emti_*' -e nothing -- "$EMIT" 60 1
grep -q "nothing was recorded: no event of 'emit' matches 'emti_\*,nothing'; did you mean 'emit_words'?" told ||
    fail "$(cat told)"
expect 1 "$strata" record -o none -e 'qqqqqq*' -- sh -c "'$EMIT' 60 1; '$EMIT' 60 1"
grep -q "no event of 'emit' matches 'qqqqqq\*' (it has 6 events, for example 'emit_words')" told ||
    fail "$(cat told)"
[ "$(grep -c 'nothing was recorded' told)" -eq 1 ] || fail "$(cat told)"
expect 1 "$strata" record -o none -e emit_words -- "$EMIT" 0 1
grep -q "nothing was recorded: the enabled event of 'emit' did not occur" told || fail "$(cat told)"
expect 1 "$strata" record -o none -- "$EMIT" 0 1
grep -q "nothing was recorded: none of the 6 enabled events of 'emit' occurred" told || fail "$(cat told)"
# Of rings that cannot be read, that: here they are of another version.
cat >newer <<'END'
parent=${STRATA_TRACE##*rings=}
mkdir "$parent/new"
{ printf 'STRAPROC\2\0\0\0'; head -c 12288 /dev/zero; } >"$parent/new/process"
mv "$parent/new" "$parent/strata-$$-1"
echo "$parent" >parent
END
expect 1 "$strata" record -o none -- sh newer
grep -q "nothing was recorded: the rings of 'sh' could not be read: .* is of version 2 of .*; 'strata recover -o DIR " told ||
    fail "$(cat told)"
rm -r "$(cat parent)"
expect 1 "$strata" record -o unread -- sh -c "'$EMIT' -q 60 1; . ./newer"
grep -q "^emit (process [0-9]*): 60 events" told || fail "$(cat told)"
grep -q "^strata: the rings of 'sh' could not be read: .* is of version 2 of " told || fail "$(cat told)"
grep -q 'rings of another process could not be read: .* is of version 2 of ' unread/trace.json ||
    fail "$(cat unread/trace.json)"
rm -r "$(cat parent)"
[ ! -e none ] || fail "it made a directory"
expect 127 "$strata" record -o none -- ./no-such-program
grep -q 'no-such-program.*No such file' told || fail "$(cat told)"
[ ! -e none ] || fail "it made a directory"
expect 126 "$strata" record -o none -- /dev/null
expect 1 "$strata" record -o trace -- "$EMIT" 3 1
grep -q 'directory is not empty' told || fail "$(cat told)"
expect 2 "$strata" record -o none --
expect 2 "$strata" record -o none --attach -- true
expect 2 "$strata" record -o none --xen -e sched -- true
grep -qF -e "--event='sched' does not say whose events" told || fail "$(cat told)"
expect 2 "$strata" record -o none true
nothing_left

# Without a name, one is made.
case=name
mkdir unnamed
(cd unnamed && "$strata" record -- "$EMIT" 60 1 >/dev/null 2>told && rm told && [ -e strata-*/trace.json ]) || fail "$(ls unnamed)"

# Killed: every event that it had committed is there.
case=killed
rm -rf trace
"$strata" record -o trace -- "$VICTIM" run counters 2 1 500 >out 2>told &
pid=$!
# (Of two threads that emit first at the same time each makes a directory of rings; one of them is of no use, and may
# have been seen before it went. So it is not always the first that has the events.)
wait_for '[ -s trace/program*/stream-1 ]'
of=$(dirname trace/program*/stream-1)
kill -KILL "$(cat /proc/$pid/task/$pid/children)"
status=0
wait $pid || status=$?
pid=
[ $status -eq 137 ] || fail "exit status $status: $(cat told)"
grep -q 'killed by signal 9' told || fail "$(cat told)"
"$VICTIM" check counters "$of" >checked 2>&1 || fail "$(cat checked told)"
nothing_left

# The recorder forwards a signal to the program.
for signal in TERM INT HUP; do
    case=SIG$signal
    rm -rf trace
    # (A shell starts background jobs with SIGINT ignored, and nohup ignores SIGHUP.)
    python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$strata" record -o trace -- "$VICTIM" run counters 2 0 500 >out 2>told &
    pid=$!
    wait_for '[ -s trace/program*/stream-1 ]'
    of=$(dirname trace/program*/stream-1)
    kill -$signal $pid
    status=0
    wait $pid || status=$?
    pid=
    [ $status -gt 128 ] || fail "exit status $status: $(cat told)"
    "$VICTIM" check counters "$of" >checked 2>&1 || fail "$(cat checked told)"
done
# A script has SIGINT ignored in what it starts with &. The program ignores it, too, and SIGTERM ends it.
case='SIGINT in a script'
rm -rf trace
"$strata" record -o trace -- "$VICTIM" run counters 2 0 500 >out 2>told &
pid=$!
wait_for '[ -s trace/program*/stream-1 ]'
of=$(dirname trace/program*/stream-1)
kill -INT $pid
status=0
wait $pid || status=$?
pid=
[ $status -eq 143 ] || fail "exit status $status: $(cat told)"
"$VICTIM" check counters "$of" >checked 2>&1 || fail "$(cat checked told)"

case=time
for seconds in 1 4 16 64; do
    rm -rf trace
    expect 143 "$strata" record -o trace -t $seconds -- "$VICTIM" run counters 1 0 500
    # Else the time was up before its first event.
    [ ! -e trace/program ] || break
done
"$VICTIM" check counters trace/program >checked 2>&1 || fail "$(cat checked told)"
nothing_left

# The recorder is killed: its trace opens, the program continues, and recover finds the rest.
case=abandoned
rm -rf trace
"$strata" record -o trace -- "$VICTIM" run counters 1 0 500 >out 2>told &
pid=$!
wait_for '[ -s trace/program/stream-0 ] && [ -e trace/trace.json ]'
child=$(tr -d " " </proc/$pid/task/$pid/children)
"$strata" info trace | grep -q '^  recorder  *is recording$' || fail "$("$strata" info trace)"
kill -KILL $pid
wait $pid 2>/dev/null || true
pid=$child
"$strata" info trace | grep -q "^  recorder  *was killed; 'strata recover' lists" || fail "$("$strata" info trace)"
"$strata" report trace >shown 2>told || fail "$(cat told)"
[ -s shown ] || fail "no events"
grep -q 'is incomplete' told || fail "$(cat told)"
# What a process with this PID left that was of another trace: it lost an event, so no recorder removes it.
mkdir earlier-rings
cp "$(rings_of $pid)/process" earlier-rings
python3 - earlier-rings/process <<'END'
import struct, sys
with open(sys.argv[1], "r+b") as file:
    file.seek(96)
    file.write(struct.pack("=Q", 1))
    for end_of_path in 4096 + 4080, 8192 + 4080:
        file.seek(end_of_path)
        file.write(bytes(range(1, 17)))
END
kill -KILL $pid
wait_for "! kill -0 $pid 2>/dev/null"
folder=$(rings_of $pid)
# Unless another test's recorder, which has started since, is at it, or was faster and did the same.
wait_for '"$strata" recover "$pid" >told 2>&1 || ! grep -q "another strata is reading these rings" told'
grep -q 'recovered into its trace\|has left nothing' told || fail "$(cat told)"
wait_for '[ ! -e "${folder%/*}" ]'
pid=
earlier=$rings/$child-1
cp -r earlier-rings "$rings/.earlier-$child"
mv "$rings/.earlier-$child" "$earlier"
"$strata" info trace >told 2>&1 || true
grep -q '^  recorder  *was killed; the rings of its process are recovered, or gone$' told ||
    ! "$strata" recover --list >listed 2>&1 || # another test makes some that cannot be read: of whom these are is not known
    fail "$(cat told)"
rm -rf "$earlier"
earlier=
"$VICTIM" check counters trace/program >checked 2>&1 || fail "$(cat checked told)"
expect 0 "$strata" record -o next -- "$EMIT" 6 1
nothing_left

# … or goes into its trace when something is recorded next; of a trace that is gone, it goes, too.
for case in 'abandoned, then recorded' 'abandoned and removed'; do
    rm -rf trace next
    "$strata" record -o trace -- "$VICTIM" run counters 1 0 500 >out 2>told &
    pid=$!
    wait_for '[ -s trace/program/stream-0 ] && [ -e trace/trace.json ]'
    child=$(tr -d " " </proc/$pid/task/$pid/children)
    kill -KILL $pid
    wait $pid 2>/dev/null || true
    pid=$child
    expect 0 "$strata" record -o next -- "$EMIT" 6 1
    [ -n "$(rings_of $pid)" ] || fail "the rings of a program that lives are gone"
    rm -rf next
    # While the program lives: afterwards another test's recorder may write to it.
    [ "$case" = 'abandoned, then recorded' ] || rm -rf trace
    kill -KILL $pid
    wait_for "! kill -0 $pid 2>/dev/null"
    folder=$(rings_of $pid)
    expect 0 "$strata" record -o next -- "$EMIT" 6 1
    wait_for '[ ! -e "${folder%/*}" ]' # by another test's recorder, perhaps
    pid=
    if [ "$case" = 'abandoned, then recorded' ]; then
        "$VICTIM" check counters trace/program >checked 2>&1 || fail "$(cat checked told)"
    else
        [ ! -e trace ] || fail "there is a trace again"
    fi
    nothing_left
done

# What nohup had ignored is ignored on; and strata itself is a program like others.
case=ignored
(
    trap '' HUP
    "$strata" record -o ignored -- sh -c 'kill -HUP $$; echo lives on'
) >out 2>told || true
grep -q 'lives on' out || fail "SIGHUP is not ignored any more: $(cat told)"
"$strata" record -o itself -- "$strata" --version >out 2>told || true
grep -q "$("$strata" --version)" out || fail "strata is not run: $(cat told)"

# A service's ambient capabilities are for the recorder, and not for what it runs.
case=capabilities
if [ "$(id -u)" -eq 0 ] && setpriv --inh-caps=+dac_override --ambient-caps=+dac_override true 2>/dev/null; then
    mkdir caps
    chown 65534:65534 caps
    chmod a+x .
    setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=+dac_override --ambient-caps=+dac_override \
        "$strata" record -o caps/trace -- grep -E '^Cap(Inh|Prm|Eff|Amb)' /proc/self/status >out 2>told || true
    [ "$(grep -c '0000000000000000$' out)" -eq 4 ] || fail "the program has capabilities: $(cat out told)"
else
    echo "SKIPPED in part: no ambient capabilities can be given here"
fi

# A daemon has its first event after its parent has ended.
case=daemon
mkfifo daemon-go
"$strata" record -o daemon -- sh -c 'setsid sh -c "read word <daemon-go; exec \"$0\" 1000 1" </dev/null >/dev/null 2>&1 &' "$EMIT" >out 2>told &
pid=$!
wait_for 'grep -q "1 process that it started goes on and is recorded" told || ! kill -0 $pid 2>/dev/null'
kill -0 $pid 2>/dev/null || fail "has ended: $(cat told)"
echo go >daemon-go
status=0
wait $pid || status=$?
pid=
[ $status -eq 0 ] || fail "exit status $status: $(cat told)"
[ "$("$strata" report daemon 2>/dev/null | grep -c ' emit_')" -eq 1000 ] || fail "$(cat told)"

# The recorder is the session leader of a terminal that is closed, as in `xterm -e strata record ...`.
case=terminal
python3 - "$strata" <<'END' || fail "it goes on after its terminal was closed"
import os, pty, signal, sys, time
pid, terminal = pty.fork()
if pid == 0:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.execv(sys.argv[1], ["strata", "record", "-o", "terminal", "--", "sleep", "1000"])
children = f"/proc/{pid}/task/{pid}/children"
def sleeps(child):
    return open(f"/proc/{child}/comm").read() == "sleep\n"
while not any(sleeps(child) for child in open(children).read().split()):
    time.sleep(0.05)
os.close(terminal)
for _ in range(1200):
    if os.waitpid(pid, os.WNOHANG)[0] == pid:
        sys.exit()
    time.sleep(0.05)
os.kill(pid, signal.SIGKILL)
sys.exit(1)
END

# The disk is full: the program does not notice, and all is counted.
case=full
mkdir full
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=256k none full 2>/dev/null; then
    mounted=$work/full
    expect 1 "$strata" record -o full/trace -- "$EMIT" 20000 1
    grep -q 'No space left' told || fail "$(cat told)"
    [ "$(wc -l <out)" -eq 20000 ] || fail "the program did not come to its end"
    "$strata" report full/trace >shown 2>told.shown || true
    written=$(sed -n 's/.*: \([0-9]*\) events written to.*/\1/p' told)
    [ "$(grep -vc LOST shown)" -eq "$written" ] || fail "$(grep -vc LOST shown) events are shown, $written were written"
    # What was in the rings when the program ended is not lost: it can still be had elsewhere.
    lost=$(sed -n 's/^  \([0-9]*\) events were lost:.*/\1/p' told | awk '{n += $1} END {print n + 0}')
    kept=$(sed -n 's/^  \([0-9]*\) events were not written and are kept in rings: .*/\1/p' told)
    [ $((written + lost + ${kept:-0})) -eq 20000 ] || fail "$written, $lost, $kept of 20000: $(cat told)"
    if [ "$kept" ]; then
        "$strata" recover -o rest "$(sed -n "s/.*'strata recover -o DIR \(.*\)' saves them\$/\1/p" told)" >recovered 2>&1 ||
            fail "$(cat recovered)"
        grep -q ": $kept events recovered into the new trace" recovered || fail "$(cat recovered told)"
    fi
    # Not before: another recorder that starts removes the rings of a trace that is gone.
    umount -l full
    mounted=
    nothing_left
else
    echo "record_program: SKIPPED in part: no small file system can be mounted" >&2
fi
