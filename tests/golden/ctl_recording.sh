#!/bin/sh
# strata ctl by the directory of a recording, and by the process of a QEMU. $VICTIM: tests/runtime.
. "$(dirname "$0")/../lib/golden.sh"

pid= qemu=
ended() {
    [ -z "$pid" ] || kill -TERM $pid 2>/dev/null || true
    [ -z "$qemu" ] || kill $qemu 2>/dev/null || true
    wait
}
at_exit=ended

refused() {
    want=$1
    shift
    status=0
    "$strata" ctl "$@" >out 2>err || status=$?
    [ $status -eq 1 ] || fail "$*: exit status $status"
    grep -qF -- "$want" err || fail "$*: $(cat err)"
}

# A program: its events are off and on. (This one emits whatever their state is.)
case=program
"$strata" record -o trace -- "$VICTIM" run counters 1 0 500 2>told &
pid=$!
# Its control socket may come after its first events.
wait_for '[ -e trace/trace.json ] && [ -s trace/program/stream-0 ] && "$strata" ctl trace list >listed 2>/dev/null'
grep -q '^on  *victim_tick' listed && grep -q '^on  *victim_text' listed || fail "$(cat listed)"
"$strata" ctl trace off victim_tick || fail off
"$strata" ctl trace list victim_tick | grep -q '^off  *victim_tick' || fail "it is on"
"$strata" ctl -f json trace list victim_tick | jq -e '.state == "off" and .event == "victim_tick" and
    (.file | length > 0) and .line > 0 and (.condition | not)' >/dev/null || fail "list as JSON"
"$strata" ctl trace on 'victim_tick: n > 1'
"$strata" ctl --format=csv trace list victim_tick | tr -d '\r' >listed
[ "$(head -n 1 listed)" = state,event,file,line,condition ] || fail "$(cat listed)"
grep -qx 'on,victim_tick,[^,]*,[1-9][0-9]*,n > 1' listed || fail "$(cat listed)"
"$strata" ctl trace on 'victim_t*' || fail on
"$strata" ctl trace list victim_tick | grep -q '^on  *victim_tick' || fail "it is off"
"$strata" ctl trace status >status || fail status
grep -q '^program  *vmm  *[0-9].* is recorded' status || fail "$(cat status)"
"$strata" ctl -f json trace status | jq -e '.source == "program" and .layer == "vmm" and .bytes > 0 and
    .recording and .problems == []' >/dev/null || fail "status as JSON"
status=0
"$strata" ctl -f csv trace flush 2>told.flush || status=$?
[ $status -eq 2 ] && grep -qF 'flush prints text only; --format is for list, info and status' told.flush ||
    fail "status $status: $(cat told.flush)"
kill -TERM $pid
wait $pid || true
! grep -q 'rings stay' told || fail "$(cat told)"
pid=
refused 'nothing to control: the recording has ended' trace list
status=0
"$strata" ctl trace snapsot 2>told.typo || status=$?
[ $status -eq 2 ] && grep -qF "unknown command 'snapsot'; did you mean 'snapshot'?" told.typo ||
    fail "status $status: $(cat told.typo)"
"$strata" ctl trace status | grep -q '^program .*has ended' || fail "$("$strata" ctl trace status)"
status=0
"$strata" ctl -f json trace snapshot 2>told.format || status=$?
[ $status -eq 2 ] && grep -qF 'snapshot prints text only; --format is for list, info and status' told.format ||
    fail "status $status: $(cat told.format)"

# A recording of which nothing has begun has no trace.json.
case=starting
"$strata" record -o starting -- sh -c 'until [ -e go ]; do sleep 0.01; done' 2>told &
pid=$!
wait_for '[ -e starting ]'
refused 'starting: nothing to control yet: the recording is starting' starting list
: >go
wait $pid || true
pid=

# By the recorder and by what it records; what is kept; then the recorder is killed.
case=always-on
refused "no/such: no such directory" no/such status
refused "no QEMU of this name runs" nothing-of-this-name status
status=0
"$strata" ctl trace snapshot one two 2>told || status=$?
[ $status -eq 2 ] && grep -q 'too many arguments; usage: snapshot' told || fail "status $status: $(cat told)"
"$strata" record -o kept --flight=1M -- "$VICTIM" run counters 1 0 500 2>told &
pid=$!
wait_for '[ -S kept/control.sock ] && [ -s kept/program/stream-0 ] && [ -e kept/trace.json ] &&
    [ "$(jq ".sources[0].vmm.pid // 0" kept/trace.json)" -gt 0 ]'
victim=$(jq '.sources[0].vmm.pid' kept/trace.json)
for process in $pid $victim; do
    "$strata" ctl $process status >status || fail "status of $process"
    grep -q '^program .* is recorded' status || fail "$(cat status)"
    snapshot=$("$strata" ctl $process snapshot) || fail "snapshot of $process"
    [ -e "$snapshot/trace.json" ] || fail "no snapshot: $snapshot"
done
status=0
"$strata" ctl $process snapshot 'one
two' 2>told || status=$?
[ $status -eq 1 ] && grep -qE 'one line|the name of a snapshot' told || fail "a line feed: status $status: $(cat told)"
refused 'not being recorded' $$ status
kill -KILL $pid
wait $pid || :
pid=$victim # which goes on
refused 'kept: nothing is being recorded there: the recorder was killed' kept status
grep -q '^program .* the recorder was killed' out || fail "$(cat out)"
status=0
"$strata" ctl -f json kept status 2>told >out || status=$?
[ $status -eq 1 ] && jq -e '.recording == false' out >/dev/null || fail "status $status: $(cat out told)"
kill -KILL $victim
pid=
# A file whose beginning was released, as --flight does.
case=size
printf x | dd of=trace/program/stream-9 bs=1M seek=512 conv=notrunc 2>/dev/null
"$strata" ctl -f json trace status | jq -e '.bytes < 500000000' >/dev/null || fail "$("$strata" ctl trace status)"

command -v qemu-system-x86_64 >/dev/null || {
    echo "ctl_recording: SKIPPED in part: qemu-system-x86_64 is not installed" >&2
    exit 0
}
case=qemu
qemu-system-x86_64 -S -display none -machine none -D log -qmp unix:socket,server=on,wait=off 2>errors &
qemu=$!
# The socket is there a moment before it listens.
wait_for '"$strata" ctl ./socket list qmp_enter_query_version >/dev/null 2>&1'
"$strata" ctl $qemu list qmp_enter_query_version >one || fail "by its process"
[ "$(cat one)" = 'off         qmp_enter_query_version' ] || fail "$(cat one)"
"$strata" ctl ./socket list qmp_enter_query_version >one || fail "by its socket"
[ "$(cat one)" = 'off         qmp_enter_query_version' ] || fail "$(cat one)"
kill $qemu
wait $qemu || true
qemu-system-x86_64 -S -display none -machine none -monitor none 2>errors &
qemu=$!
wait_for '"$strata" ctl '$qemu' list 2>&1 | grep -q "is a QEMU that does not listen"'
