#!/bin/sh
# strata record --restart: a recorder that was killed is started again by the same command, and nothing is lost of what was
# recorded before. $EMIT: tests/runtime/emit.c.
. "$(dirname "$0")/../lib/golden.sh"

XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
mkdir -m 700 run
pids=
skipped=
at_exit='[ -z "$pids" ] || kill -KILL $pids 2>/dev/null || :'

# count TRACE: its events.
count() {
    "$strata" report "$1" >report 2>errors || fail "$1: $(cat errors)"
    cut -d' ' -f1 report | sort -n -c || fail "$1: is not in order"
    wc -l <report
}

# kept DIR: the names of the traces that were there before.
kept() {
    (cd "$1/snapshots" && ls -A | grep -- '-before-restart$')
}

# ---- Killed, while the program's rings have what the recorder has not drained ----

case=killed
"$strata" record -o trace --flight=60s --restart --print-config -- "$EMIT" -q -k -w go 1000 1 >service.conf
"$strata" record --config service.conf >out 2>err &
pid=$!
pids="$pids $pid"
wait_for '[ -e trace/program/stream-0 ] && [ -S trace/control.sock ] && [ -e trace/trace.json ] &&
    [ "$(jq ".sources[0].vmm.pid // 0" trace/trace.json)" -gt 0 ]'
program=$(jq '.sources[0].vmm.pid' trace/trace.json)
pids="$pids $program"
"$strata" ctl trace snapshot mine >out
kill -STOP $pid
wait_for 'grep -q "^State:.[Tt]" /proc/$pid/status'
: >go
# It kills itself after its last event.
wait_for '! grep -q "^State:.[^Z]" /proc/$program/status 2>/dev/null'
[ "$(count trace)" -lt 1000 ] || fail "the recorder had everything, so that this shows nothing"
# From now on any other recorder of this user may save what is in the rings.
kill -KILL $pid
wait $pid || :
rm -f go
# The second one ends in order.
: >go
sed 's/ -k / /' service.conf >again.conf
"$strata" record --config again.conf >out 2>err || fail "exit status $?: $(cat out err)"
name=$(kept trace)
grep -q "the trace that was there is kept as $work/trace/snapshots/$name" err || fail "$(cat err)"
# A recorder of another test that has begun since may be saving them. (Of another program with this number, or as many events,
# there may be some, too.)
wait_for '! grep -lsF "$work" "/dev/shm/strata-$(id -u)"/record-*/strata-"$program"-*/process >out'
[ "$(count "trace/snapshots/$name")" -eq 1000 ] || fail "events of the killed recording are lost: $(wc -l <report)"
[ "$(count trace)" -eq 1000 ] || fail "the second recording: $(wc -l <report)"
[ -d trace/snapshots/mine ] || fail "a snapshot is gone"
"$strata" info "trace/snapshots/$name" >out 2>errors || fail "$(cat errors)"
"$strata" info trace >out 2>errors || fail "$(cat errors)"
[ -z "$(ls -A trace/snapshots | grep '^\.')" ] || fail "left: $(ls -A trace/snapshots)"

# ---- Killed, with its agent, while the kernel holds what was recorded ----

case=kernel
if can_trace_kernel; then
    # Any agent of this machine that starts removes what killed ones have left: then again.
    tries=5
    until [ $tries -eq 0 ]; do
        tries=$((tries - 1))
        rm -rf kernel seen-before seen-held run/strata-record-*
        "$strata" record -o kernel --flight=60s --restart --event=host:sched:sched_process_exec >out 2>err &
        pid=$!
        pids="$pids $pid"
        wait_for '"$strata" report kernel >report 2>&1 || ! kill -0 $pid 2>/dev/null' # it has the formats of events
        ln -s /bin/true seen-before
        ./seen-before
        # The file has no more than what is asked for; from now on nothing comes to it.
        kill -STOP $pid
        wait_for 'grep -q "^State:.[Tt]" /proc/$pid/status'
        ln -s /bin/true seen-held
        ./seen-held
        agent=$(cat run/strata-record-*/agent)
        kill -KILL "$agent" $pid
        wait $pid || :
        wait_for '! kill -0 $agent 2>/dev/null || grep -q "^State:.Z" /proc/$agent/status'
        "$strata" record -o kernel --restart --event=host:sched:sched_process_exec -t 0.1 >out 2>err || fail "$(cat out err)"
        name=$(kept kernel)
        "$strata" report --source=host "kernel/snapshots/$name" >report 2>errors || fail "$(cat errors)"
        [ "$(grep -c "filename=./seen-before " report)" -ne 1 ] || [ "$(grep -c "filename=./seen-held " report)" -ne 1 ] || break
        [ $tries -gt 0 ] || fail "what the kernel held is lost: $(cat report errors)"
    done
    # An agent of another test that looks at it at the same time keeps it busy; the next one removes it.
    wait_for '[ -z "$(ls /sys/kernel/tracing/instances | grep -- "-$agent-")" ] ||
        ! "$strata" record -o sweep-$(date +%N) --event=host:sched:sched_process_exec -t 0.1 >out 2>err'
    [ -z "$(ls /sys/kernel/tracing/instances | grep -- "-$agent-")" ] || fail "its instance is left: $(cat out err)"
else
    skipped="$skipped; $no_kernel"
fi

# ---- One that ended in order; again and again ----

case=bounded
for n in 1 2 3 4 5 6 7 8 9; do
    "$strata" record -o trace --flight=60s --restart -- "$EMIT" -q $((n * 10)) 1 >out 2>err || fail "$(cat out err)"
done
[ "$(kept trace | wc -l)" -eq 8 ] || fail "not 8 are kept: $(kept trace)"
[ -d trace/snapshots/mine ] || fail "a snapshot is gone"
[ "$(count trace)" -eq 90 ] && [ "$(count "trace/snapshots/$(kept trace | tail -n 1)")" -eq 80 ] &&
    [ "$(count "trace/snapshots/$(kept trace | head -n 1)")" -eq 10 ] || fail "others are kept: $(kept trace)"

# ---- A restart that was killed is completed ----

case=interrupted
mkdir trace/snapshots/.20000101-000000-before-restart
mv trace/program trace/snapshots/.20000101-000000-before-restart
"$strata" record -o trace --restart -- "$EMIT" -q 10 1 >out 2>err || fail "$(cat out err)"
grep -q 'snapshots/20000101-000000-before-restart$' err || fail "$(cat err)"
[ ! -e trace/snapshots/.20000101-000000-before-restart ] || fail "is not completed"
# Just before it had its name.
newest=$(kept trace | tail -n 1)
mv "trace/snapshots/$newest" "trace/snapshots/.$newest"
"$strata" record -o trace --restart -- "$EMIT" -q 20 1 >out 2>err || fail "$(cat out err)"
[ "$(count "trace/snapshots/$newest")" -eq 80 ] && [ "$(count "trace/snapshots/$(kept trace | tail -n 1)")" -eq 10 ] ||
    fail "is not named: $(ls -A trace/snapshots)"

# ---- A trace without events is not kept ----

case=empty
if qemu=$(command -v qemu-system-x86_64); then
    for n in 1 2 3; do
        "$strata" record -o fails --flight=60s --restart -- "$qemu" -machine none -display none -drive file=nonesuch >out 2>err && fail "no status"
        grep -q 'no events were recorded into fails' err && ! grep -q 'is kept as' err || fail "$n: $(cat err)"
        [ -e fails/trace.json ] && [ -z "$(ls -A fails/snapshots)" ] || fail "$n: $(ls -A fails/snapshots)"
    done
else
    skipped="$skipped; a QEMU that fails: no qemu-system-x86_64"
fi

# ---- What cannot be ----

case=refused
mkdir home
echo precious >home/file
"$strata" record -o home --restart -- "$EMIT" -q 10 1 >out 2>err && fail "something else was moved"
grep -q 'home: directory is not empty, and has no trace' err && [ "$(ls -A home)" = file ] || fail "$(cat err)"
"$strata" record --restart -- "$EMIT" -q 10 1 >out 2>err && fail "without --output"
grep -q -- '--restart requires --output=DIR' err || fail "$(cat err)"
"$strata" record -o busy -- "$EMIT" -q -w go-on 10 1 >out 2>err &
pid=$!
pids="$pids $pid"
wait_for '[ -S busy/control.sock ]'
"$strata" record -o busy --restart -- "$EMIT" -q 10 1 >out2 2>err2 && fail "a recording under way was replaced"
grep -q 'busy: another recording is under way there' err2 || fail "$(cat err2)"
: >go-on
wait $pid || fail "$(cat out err)"
[ "$(count busy)" -eq 10 ] || fail "it was disturbed"

[ -z "$skipped" ] || {
    echo "record_restart: SKIPPED in part: ${skipped#; }" >&2
    exit 77
}
