#!/bin/sh
# strata record --on with conditions over events: this machine's kernel is recorded, things are planted in it, and each is found
# while it happens. $EMIT: tests/runtime/emit.c.
. "$(dirname "$0")/../lib/golden.sh"

XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
mkdir -m 700 run
pids=
at_exit='[ -z "$pids" ] || kill -KILL $pids 2>/dev/null || :'

if ! can_trace_kernel; then
    echo "record_watch: SKIPPED: $no_kernel" >&2
    exit 77
fi

fail() {
    echo "record_watch: $case: $*" >&2
    cat err >&2 || :
    exit 1
}
# is_met PATTERN: $condition was, as a line with that says, which is in the file `met` then, and a snapshot was saved.
is_met() {
    grep -F "trigger '$condition' met" err | grep ': saved ' | grep "$1" | head -n 1 >met
    [ -s met ]
}
# met PATTERN [COMMAND...]: waits until it is. COMMAND brings it about, and runs again after a while: the recorder may miss what
# happened (or the name of a thread), and reports that, where it or its agent had no CPU for a second, or the kernel lost events.
met() {
    pattern=$1 n_planted=0
    shift
    while ! is_met "$pattern"; do
        n_planted=$((n_planted + 1)) n_looks=0
        [ $n_planted -le 24 ] || fail "'$condition' is not met with '$pattern'"
        "$@"
        until is_met "$pattern" || [ $n_looks -eq 200 ]; do
            kill -0 $pid 2>/dev/null || is_met "$pattern" || fail "'$condition' is not met with '$pattern'"
            n_looks=$((n_looks + 1))
            sleep 0.05
        done
    done
    snapshot=$(sed 's/.*: saved //' met)
    "$strata" report --source=host "$snapshot" >report 2>errors || fail "$(cat errors)"
}

# Under names that no other test has, which may be recorded as well.
for name in seen$$ hangs$$; do
    ln -s "$(command -v sleep)" $name
done
event="sched:sched_process_exec{filename == \"./seen$$\"}"
pair="sched_process_exec(pid){filename == \"./hangs$$\"} -> sched_process_exit(pid) > 300ms"

# Two that need the one CPU, by a name of their own.
cat >spin.sh <<'END'
while :; do :; done
END
ln -s "$(command -v sh)" spins
cpu=$(taskset -c -p $$ | sed 's/.*: *//; s/[-,].*//') # one that this test may use

case="conditions whose events are not recorded"
"$strata" record -o needs --flight=60s -e host:irq_handler_entry --host --on 'exits > 300/s' --on 'runnable spins > 25%' \
    --on 'stolen > 25%' --on 'latency block > 1ms' --on lost --on 'latency irq > 600s' --on guest:oom_kill >out 2>err &
pid=$!
pids="$pids $pid"
wait_for '[ "$(grep -c "no source records" err)" -ge 5 ] || ! kill -0 $pid 2>/dev/null'
kill -TERM $pid
wait $pid || fail "exit status $?"
sed -n "s/^strata: trigger '\([^']*\)': no source records /\1: /p" err | sort >told
cat >wanted <<'END'
exits > 300/s: VM exits (kvm_exit; of Xen, vmexit) so far; record them: --for exits
latency block > 1ms: an event 'block_rq_issue' so far; record it: --for io
latency irq > 600s: an event 'irq_handler_exit' so far; record it: --for irq
runnable spins > 25%: scheduler events (sched_switch) so far; record them: --for sched
stolen > 25%: scheduler events of the host (sched_switch) so far; record them: --for sched
END
diff wanted told >&2 || fail "other conditions"

case=host
"$strata" record -o trace --flight=60s --after 0 --snapshots-per-hour 3600 \
    --event=host:sched:sched_process_exec,host:sched:sched_process_exit,host:sched:sched_switch,host:sched:sched_waking,host:sched:sched_wakeup_new \
    --on "host:$event" --on "latency $pair" --on "runnable spins > 25% for 400ms" --on sched_swich \
    --on 'latency sched_switch(nothing) -> sched_switch(nothing) > 1ms' --on 'guest:oom_kill' -- \
    "$EMIT" -q -w go 1000 1 >out 2>err &
pid=$!
pids="$pids $pid"
wait_for '{ [ -e trace/program/stream-0 ] && [ -S trace/control.sock ]; } || ! kill -0 $pid 2>/dev/null'

# What is not there, once it is known what is.
wait_for 'grep -q "no source records an event" err || ! kill -0 $pid 2>/dev/null'
grep -qF "trigger 'sched_swich': no source records an event 'sched_swich' so far; did you mean 'sched_switch'?" err ||
    fail "the misspelt event"
[ "$(grep -c "no source records" err)" -eq 1 ] || fail "what else is not there"
wait_for 'grep -q "trigger .latency sched_switch(nothing) .*: .*nothing" err || ! kill -0 $pid 2>/dev/null'

# An event.
condition="host:$event"
met "([1-9][0-9]* events*[, first]* at [0-9.]* .*by seen$$ ([0-9]*) \[host\]: sched_process_exec filename=./seen$$" ./seen$$ 0
grep -q "filename=./seen$$ " report || fail "the snapshot has no event: $snapshot"

# A span, while it has not ended.
hangs=
hang() {
    ./hangs$$ 1000 &
    hangs="$hangs $!"
    pids="$pids $!"
}
condition="latency $pair"
met "([1-9][0-9]* spans*, .* and not ended, since at [0-9.]*.* by hangs$$ ([0-9]*) \[host\]" hang
# shellcheck disable=SC2086 # numbers
kill $hangs
# shellcheck disable=SC2086
wait $hangs || :
grep -q "filename=./hangs$$ " report || fail "the snapshot has no begin: $snapshot"

# Waiting for a CPU.
for n in 1 2; do
    taskset -c "$cpu" ./spins spin.sh &
    spins="${spins:-} $!"
done
pids="$pids $spins"
condition="runnable spins > 25% for 400ms"
met "[0-9.]*% of the 0.4s before [0-9.]* by spins ([0-9]*) \[host\]"
kill $spins

: >go
wait $pid || fail "exit status $?: $(cat out)"
# The span was not told again when it ended, nor what comes from nowhere.
[ "$(grep -cF "trigger 'latency $pair' met" err)" -le "$(echo "$hangs" | wc -w)" ] || fail "a span was told again"
! grep -q "trigger 'guest:oom_kill'" err || fail "an event of a guest that is not there"
! grep -q "died\|is started again\|cannot confine" err || fail "the process that watches"
"$strata" report trace >report 2>errors || fail "$(cat errors)"

# ---- Time stolen from a vCPU ----

case=stolen
qemu=$(command -v qemu-system-x86_64) || {
    echo "record_watch: SKIPPED in part: qemu-system-x86_64 is not installed" >&2
    exit 77
}
# At the reset vector: jump to itself.
{
    head -c 65520 /dev/zero
    printf '\353\376'
    head -c 14 /dev/zero
} >spin.bin
"$strata" record -o vm --flight=60s --after 0 --on 'stolen vcpu > 20% for 500ms' \
    --event=host:sched:sched_switch,host:sched:sched_waking,host:sched:sched_wakeup_new -- \
    "$qemu" -accel tcg -m 16 -bios spin.bin -nodefaults -display none >out 2>err &
pid=$!
pids="$pids $pid"
wait_for '{ [ -S vm/control.sock ] && guest=$(jq -e '\''.sources[] | select(.name == "vmm").vmm.pid'\'' vm/trace.json 2>/dev/null); } ||
    ! kill -0 $pid 2>/dev/null'
taskset -a -c -p "$cpu" "$guest" >/dev/null
taskset -c "$cpu" ./spins spin.sh &
spins=$!
pids="$pids $spins $guest"
condition='stolen vcpu > 20% for 500ms'
met "[0-9.]*% of the 0.5s before [0-9.]* of vCPU 0 \[host\]"
kill $spins
kill "$guest"
wait $pid || fail "exit status $?: $(cat out)"
