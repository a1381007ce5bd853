#!/bin/sh
# strata record --on: conditions that need no events of the trace save snapshots of a flight recording, within their limits,
# and whatever happens the recording goes on. $EMIT: tests/runtime/emit.c.
. "$(dirname "$0")/../lib/golden.sh"

XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
mkdir -m 700 run
pids=
# What a recorder records would go on without it.
at_exit='for p in $pids; do kill -KILL $(cat "/proc/$p/task/$p/children" 2>/dev/null) $p 2>/dev/null || :; done'
skipped=

fail() {
    echo "record_triggers: $case: $*" >&2
    cat err >&2 || :
    exit 1
}
says() {
    grep -qF -- "$1" err || fail "does not say '$1'"
}
# reads TRACE: it is a trace, complete; into `report`.
reads() {
    "$strata" report "$1" >report 2>errors || fail "$1: $(cat errors)"
    # What QEMU was seen to do is no error.
    ! grep -vE 'without a snapshot|vmm: (QEMU was killed|the virtual machine (stood still|was reset))' errors |
        grep -q . || fail "$1: $(cat errors)"
    [ "$(jq '[.sources[].complete] | all' "$1/trace.json")" = true ] || fail "$(cat "$1/trace.json")"
}
# saved DIR PATTERN: the one snapshot of that name, into $snapshot.
saved() {
    snapshot=
    for s in "$1"/snapshots/$2; do
        [ -z "$snapshot" ] || fail "more than one $2: $(ls "$1/snapshots")"
        snapshot=$s
    done
    [ -d "$snapshot" ] || fail "no $2: $(ls -a "$1/snapshots")"
}
# manifest FILTER: of $snapshot's manifest, it is true.
manifest() {
    jq -e ".snapshot | $1" "$snapshot/trace.json" >/dev/null || fail "$1: $(cat "$snapshot/trace.json")"
}
# program DIR OPTION...: a program is recorded that waits for the file DIR.go.
program() {
    dir=$1
    shift
    "$strata" record -o "$dir" --flight=600s "$@" -- "$EMIT" -q -w "$dir.go" 1000 1 >out 2>err &
    pid=$!
    pids="$pids $pid"
    wait_for '{ [ -e "$dir/program/stream-0" ] && [ -S "$dir/control.sock" ] && [ -e "$dir/trace.json" ]; } || ! kill -0 $pid 2>/dev/null'
}
# goes_on: what is recorded still is; it ends.
goes_on() {
    : >"$dir.go"
    status=0
    wait $pid || status=$?
    [ $status -eq 0 ] || fail "exit status $status: $(cat out)"
    reads "$dir"
    [ "$(wc -l <report)" -eq 1000 ] || fail "only $(wc -l <report) events"
    [ ! -e "$dir/control.sock" ] || fail "the socket is left"
}

# watcher_of PID: the process in which the recorder PID watches events, or nothing.
watcher_of() {
    for child in $(cat "/proc/$1/task/$1/children"); do
        [ "$(cat "/proc/$child/comm")" != strata-watch ] || echo "$child"
    done
}

# ---- Signals, and a command ----

case=signal
cat >then.sh <<'END'
echo "dir=$2 word=$1 snapshot=$STRATA_SNAPSHOT trigger=$STRATA_TRIGGER what=$STRATA_TRIGGER_WHAT" >>then.log
[ "$STRATA_TRIGGER" = 'signal USR1' ] || exit 3
END
program signal --on 'signal USR1' --on 'signal USR2' --after 0 --then 'sh then.sh "a word"' --metrics-file metrics.prom
kill -USR1 $pid
wait_for 'grep -q "saved.*signal-USR1" err'
kill -USR2 $pid
wait_for 'grep -q "saved.*signal-USR2" err && [ "$(wc -l <then.log)" -eq 2 ]'
goes_on
saved signal '*-signal-USR1'
reads "$snapshot"
grep -qxF "dir=$work/$snapshot word=a word snapshot=$work/$snapshot trigger=signal USR1 what=from process $$" then.log ||
    fail "$(cat then.log)"
manifest ".reason == \"trigger\" and .trigger == \"signal USR1\" and .time.monotonic_ns > 0 and .repeats == null"
case $(basename "$snapshot") in
[0-9][0-9][0-9][0-9][0-1][0-9][0-3][0-9]-[0-9][0-9][0-9][0-9][0-9][0-9]-signal-USR1) ;;
*) fail "$snapshot" ;;
esac
"$strata" info "$snapshot" >info
grep -q "snapshot by *trigger 'signal USR1': from process" info || fail "$(cat info)"
says "--then 'sh then.sh \"a word\"' for $work/signal/snapshots/"
[ "$(grep -c 'status 3' err)" -eq 1 ] || fail "the status of the command"

grep -qx 'strata_triggers_met_total 2' metrics.prom &&
    grep -qx 'strata_trigger_snapshots_total{outcome="saved"} 2' metrics.prom &&
    grep -qx 'strata_trigger_snapshots_total{outcome="suppressed"} 0' metrics.prom || fail "$(cat metrics.prom)"

# ---- Limits ----

case=limits
program limits --on 'signal USR1' --on 'signal USR2' --after 0 --snapshots-per-hour 1
kill -USR1 $pid
wait_for 'grep -q "saved" err'
kill -USR2 $pid
wait_for "grep -q \"trigger 'signal USR2' is met more often than --snapshots-per-hour=1 saves (each condition at most once in 3600 seconds)\" err"
kill -USR1 $pid
wait_for "grep -q \"trigger 'signal USR1' is met more often\" err"
goes_on
saved limits '*'
says "triggers were met 3 times; snapshots: 1 saved, 0 failed; 2 times there was none, as --snapshots-per-hour=1 limits them"
jq -e '.sources[0].problems[] | test("met 2 times without a snapshot")' limits/trace.json >/dev/null ||
    fail "$(cat limits/trace.json)"

# The oldest go, but neither the user's, nor the newest, nor one that was renamed.
case=size
program size --on 'signal USR1' --on 'signal USR2' --on exit --after 0 --snapshots-size 1
kill -USR1 $pid
wait_for 'grep -q "saved.*signal-USR1" err'
"$strata" ctl size snapshot mine >told || fail "$(cat told)"
mv size/snapshots/*-signal-USR1 size/snapshots/important
kill -USR2 $pid
wait_for 'grep -q "saved.*signal-USR2" err'
goes_on
[ "$(ls -A size/snapshots | sed 's/^[0-9]*-[0-9]*-//' | sort | tr '\n' ' ')" = "exit important mine " ] ||
    fail "$(ls -A size/snapshots)"
reads size/snapshots/important
says "uses more of the disk than --snapshots-size allows"
[ "$(grep -c 'removed snapshots/.*: --snapshots-size' err)" -eq 1 ] &&
    grep -q '^strata: removed snapshots/.*-signal-USR2: --snapshots-size$' err || fail "$(cat err)"

# ---- The end of a program ----

case=exit
program exit --on 'exit == 0' --on 'exit != 0' --after 100
goes_on
saved exit '*'
reads "$snapshot"
[ "$(wc -l <report)" -eq 1000 ] || fail "not all is in it: $(wc -l <report)"
manifest '.trigger == "exit == 0" and .what == "status 0"'

case=killed
"$strata" record -o killed --flight=60s --on 'exit == 0' --on 'exit >= 128' -- "$EMIT" -q -k 1000 1 >out 2>err && fail "exit status 0"
saved killed '*'
reads "$snapshot"
[ "$(wc -l <report)" -eq 1000 ] || fail "not all is in it: $(wc -l <report)"
manifest '.trigger == "exit >= 128" and (.what | test("killed by signal 9"))'

# What its user ends has not ended by itself. A snapshot that waits for its time is taken before.
case=stopped
program stopped --on exit --on 'signal USR1' --after 100
kill -USR1 $pid
kill -TERM $pid
wait $pid || :
saved stopped '*'
manifest '.trigger == "signal USR1" and .also == null'

# ---- Events ----

# A guest whose agent has not connected may have the event.
case='events of a guest to come'
program later --guest vm="$work/nobody" --event guest:sched --on sched_switch --on 'emit_ints{evnt == 7}'
wait_for 'grep -q "has no argument" err'
! grep -q 'no source records' err || fail "$(cat err)"
: >later.go
kill -TERM $pid
wait $pid || :

# While it runs, also by a process that was killed and started again.
case=events
# One event before the program waits, and one after that: however long it takes for either half, each is met once.
program events --on 'emit_ints{event == 7 || event == 601}' --on emit_int --on 'emit_ints{evnt == 7}' --after 0 --snapshots-per-hour 3600
wait_for 'grep -q "saved.*-emit_ints" err'
saved events '*-emit_ints'
reads "$snapshot"
grep -q emit_ints report || fail "the event is not in it"
manifest '.trigger == "emit_ints{event == 7 || event == 601}" and (.what | test("^1 event at .*emit_ints a [0-9]* b -"))'
wait_for 'grep -q "no source records" err'
says "trigger 'emit_int': no source records an event 'emit_int' so far; did you mean 'emit_ints'?"
wait_for 'grep -q "has no argument" err'
says "the event has no argument 'evnt'; did you mean 'event'? 'evnt == 7'"
watcher=$(watcher_of $pid)
kill -KILL "$watcher"
wait_for 'grep -q "the process that watches events for --on ended: killed by signal 9" err'
wait_for '[ -n "$(watcher_of $pid)" ] && [ "$(watcher_of $pid)" != "$watcher" ]'
goes_on
[ "$(ls events/snapshots | grep -c emit_ints)" -eq 2 ] || fail "$(ls events/snapshots)"

# A program that has ended before anything was read.
case=short
"$strata" record -o short --flight=60s --on 'emit_ints{a > 0}' --after 100 -- "$EMIT" -q 1000 1 >out 2>err || fail "exit status $?"
saved short '*-emit_ints'
reads "$snapshot"
[ "$(wc -l <report)" -eq 1000 ] || fail "not all is in it: $(wc -l <report)"

# ---- The time of day ----

case=at
# The first of these that is still to come once the recorder is ready.
set --
for seconds in 3 8 20 60 180; do
    set -- "$@" --on "at $(date -d "+$seconds seconds" +%H:%M:%S)"
done
program at "$@" --after 0
wait_for 'grep -q saved err'
goes_on
# On a busy machine another one may have come.
[ "$(ls at/snapshots | grep -c -- '-at-')" -eq "$(grep -c 'saved .*-at-' err)" ] || fail "$(ls -a at/snapshots)"

# ---- A disk that is full ----

case=full
. "$here/../lib/mount_namespace.sh"
if has_mount_namespace .; then
    cat >full.sh <<'END'
mkdir disk
mount -t tmpfs -o size=2M none disk || fail "no file system can be mounted"
"$strata" record -o disk/full --flight=60s --on 'signal USR1' --on 'signal USR2' --after 0 --snapshots-per-hour 3600 -- \
    "$EMIT" -q -w full.go 1000 1 >out 2>err &
pid=$!
wait_for '[ -e disk/full/program/stream-0 ] && [ -S disk/full/control.sock ]'
dd if=/dev/zero of=disk/filler bs=4k 2>/dev/null
kill -USR1 $pid
wait_for 'grep -q "no snapshot was saved" err'
[ -z "$(ls -A disk/full/snapshots 2>/dev/null)" ] || fail "left: $(ls -A disk/full/snapshots)"
rm disk/filler
kill -USR2 $pid
wait_for 'grep -q "saved .*signal-USR2" err'
: >full.go
wait $pid || fail "exit status $?"
cp -R disk/full full
END
    status=0
    (
        . "$here/../lib/wait_for.sh"
        export strata EMIT here work
        in_mount_namespace sh -c ". '$here/../lib/wait_for.sh'; fail() { echo \"\$*\" >&2; exit 1; }; . ./full.sh"
    ) || status=$?
    [ $status -eq 0 ] || fail "status $status"
    reads full
    saved full '*-signal-USR2'
    reads "$snapshot"
    [ "$(grep -c 'no snapshot was saved' err)" -eq 1 ] || fail "not told once"
else
    skipped="$skipped; a full disk: $no_namespace"
fi

# ---- QEMU ----

case=qemu
if qemu=$(command -v qemu-system-x86_64); then
    # vm DIR OPTION... -- QEMU...: is recorded, with its monitor at descriptor 9.
    vm() {
        dir=$1
        shift
        rm -f monitor
        mkfifo monitor
        "$strata" record -o "$dir" --flight=60s "$@" <monitor >out 2>err &
        pid=$!
        pids="$pids $pid"
        exec 9>monitor
        printf '{"execute":"qmp_capabilities"}\n' >&9
        wait_for 'grep -qs mon_iothread "$dir/trace.json" && [ -S "$dir/control.sock" ]'
    }
    none="$qemu -machine none -nodefaults -display none -qmp stdio"

    # A storm of events is one snapshot; then QEMU is killed.
    # shellcheck disable=SC2086 # words
    vm qemu --on qmp:STOP --on qmp:RESET --on qmp:GUEST_PANIKED --on 'exit == 137' --after 1 -- $none
    says "--on 'qmp:GUEST_PANIKED': no QEMU up to 10.2 has this event; did you mean 'GUEST_PANICKED'?"
    [ "$(grep -c 'no QEMU up to' err)" -eq 1 ] || fail "too many words"
    yes '{"execute":"stop"}{"execute":"cont"}' | head -n 5000 >&9
    wait_for 'grep -q "saved.*-qmp-STOP" err && [ "$(grep -c RESUME out)" -eq 5000 ]'
    # Events come in their order: with the last one, all have been counted.
    printf '{"execute":"stop"}{"execute":"system_reset"}\n' >&9
    wait_for 'grep -q "saved.*-qmp-RESET" err'
    says "trigger 'qmp:STOP' is met more often"
    kill -KILL "$(jq '.sources[] | select(.name == "vmm").vmm.pid' qemu/trace.json)"
    status=0
    wait $pid || status=$?
    exec 9>&-
    [ $status -eq 137 ] || fail "exit status $status"
    saved qemu '*-qmp-STOP'
    reads "$snapshot"
    manifest '.what == "STOP"'
    repeats=$(jq '.snapshot.repeats // 0' "$snapshot/trace.json")
    saved qemu '*-qmp-RESET'
    suppressed=$(jq '.snapshot.suppressed // 0' "$snapshot/trace.json")
    # It was taken a second after the machine was stopped, which had not gone on.
    jq -e '.sources[] | select(.name == "vmm").vmm.paused_ns >= 1e9' "$snapshot/trace.json" >/dev/null || fail "$(cat "$snapshot/trace.json")"
    "$strata" summary "$snapshot" 2>/dev/null | grep -q 'was paused for [0-9.]* s, [0-9.]*% of the recording up to the snapshot' ||
        fail "$("$strata" summary "$snapshot" 2>&1)"
    saved qemu '*-exit'
    reads "$snapshot"
    manifest '.trigger == "exit == 137" and (.what | test("killed by signal 9"))'
    manifest '.suppressed == null'
    [ $((repeats + suppressed)) -eq 5000 ] || fail "$repeats repeats and $suppressed suppressed of 5000"
    [ "$(ls qemu/snapshots | wc -l)" -eq 3 ] || fail "$(ls qemu/snapshots)"
    # Two of them are there only if the machine stood still for long before it was killed.
    [ "$(wc -l <err)" -le 15 ] || fail "says too much"

    # Events of QEMU itself are recorded for it, and known.
    case=vmm
    # shellcheck disable=SC2086 # words
    vm vmm --on 'vmm:handle_qmp_command' --after 0 -e runstate_set -- $none
    wait_for 'printf "{\"execute\":\"query-version\"}\n" >&9; grep -q "saved.*-vmm-handle_qmp_command" err'
    printf '{"execute":"quit"}\n' >&9
    exec 9>&-
    wait $pid || fail "exit status $?"
    saved vmm '*-handle_qmp_command'
    reads "$snapshot"
    grep -q handle_qmp_command report || fail "the event is not in it"
    # shellcheck disable=SC2086 # words
    "$strata" record -o bad --flight=60s --on vmm:handle_qmp_comand -- $none >out 2>err && fail "an unknown event"
    says "this QEMU has no event 'handle_qmp_comand'; did you mean 'handle_qmp_command'?"
    [ ! -e bad ] || fail "a directory is left"
    # So are those of a rule of spans, and an event that only QEMU has by its name.
    case=rule
    # shellcheck disable=SC2086 # words
    vm rule --on 'latency qmp > 1ns' --on handle_qmp_command --after 0 --snapshots-per-hour 3600 -e runstate_set -- $none
    wait_for 'printf "{\"execute\":\"query-version\"}\n" >&9; grep -q "saved.*-latency-qmp" err && grep -q "saved.*-handle_qmp" err'
    printf '{"execute":"quit"}\n' >&9
    exec 9>&-
    wait $pid || fail "exit status $?"
    # What needs another source says so.
    case=needs
    # shellcheck disable=SC2086 # words
    vm needs --on 'exits > 3x' --on 'stolen > 30%' --on 'latency block > 1ms' --on lost -- $none
    wait_for '[ "$(grep -c "no source records" err)" -eq 3 ]'
    says "trigger 'exits > 3x': no source records VM exits (kvm_exit; of Xen, vmexit) so far; record them: --for exits"
    says "trigger 'stolen > 30%': no source records scheduler events of the host (sched_switch) so far; record them: --for sched"
    says "trigger 'latency block > 1ms': no source records an event 'block_rq_issue' so far; record it: --for io"
    printf '{"execute":"quit"}\n' >&9
    exec 9>&-
    wait $pid || fail "exit status $?"
    # So are their fields, where QEMU's declarations are installed.
    if "$strata" record -o fields --flight=60s --on 'vmm:handle_qmp_command{rek == "x"}' -t 1 -- $none >out 2>err; then
        [ ! -e fields/vmm/trace-events ] || fail "an unknown field"
    else
        says "--on 'vmm:handle_qmp_command{rek == \"x\"}': handle_qmp_command: column 1 of the condition: the event has no argument 'rek'; did you mean 'req'? 'rek == \"x\"'"
        [ ! -e fields ] || fail "a directory is left"
    fi
    rm -rf fields
    "$strata" record -o fields --flight=60s --on 'vmm:*_qmp_c*{req == "x"}' -t 1 -- $none >out 2>err || :
    [ -e fields/trace.json ] || fail "a field that only some of the events have"

    # A guest that panics, by the program of its boot sector: mov dx, 0x505; mov al, 1; out dx, al; hlt; jmp
    case=panic
    { printf '\272\005\005\260\001\356\364\353\375' && head -c 501 /dev/zero && printf '\125\252'; } >boot
    # QEMU ends, however long that takes, before the snapshot is due.
    "$strata" record -o panic --flight=60s --on qmp:GUEST_PANICKED --on exit --after 100 -- "$qemu" -M pc -nodefaults -display none \
        -m 32 -device pvpanic -drive file=boot,format=raw,if=ide,snapshot=on >out 2>err || :
    saved panic '*'
    reads "$snapshot"
    manifest '.trigger == "qmp:GUEST_PANICKED" and (.what | test("action")) and .also == ["exit"]'
else
    skipped="$skipped; qemu-system-x86_64 is not installed"
fi

# ---- What cannot be ----

case=options
# refuses PATTERN OPTION...
refuses() {
    pattern=$1
    shift
    "$strata" record -o bad "$@" >out 2>err && fail "$*"
    grep -q -- "$pattern" err || fail "$*"
    [ ! -e bad ] || fail "a directory is left"
}
refuses '--on requires --flight' --on exit -- "$EMIT" 1 1
refuses '--then requires --on' --flight=1s --then true -- "$EMIT" 1 1
refuses '--after requires --on' --flight=1s --after 3 -- "$EMIT" 1 1
refuses '--snapshots-per-hour is between 1 and 3600' --flight=1s --on exit --snapshots-per-hour 0 -- "$EMIT" 1 1
refuses 'capital letters' --flight=1s --on qmp:stop -- "$EMIT" 1 1
refuses 'only QEMU has these events' --flight=1s --on qmp:STOP -- "$EMIT" 1 1
refuses 'an exit status is between' --flight=1s --on 'exit != x' -- "$EMIT" 1 1
refuses 'the signals are USR1 and USR2' --flight=1s --on 'signal KILL' -- "$EMIT" 1 1
refuses 'HH:MM' --flight=1s --on 'at 25:00' -- "$EMIT" 1 1
refuses 'no process is recorded' --flight=1s --on exit --guest=a=/nothing
refuses 'exit status of a process that strata record has not started' --flight=1s --on 'exit > 0' --attach $$
refuses 'one client at a time' --flight=1s --on qmp:STOP --attach $$

[ -z "$skipped" ] || {
    echo "record_triggers: SKIPPED in part: ${skipped#; }" >&2
    exit 77
}
