#!/bin/sh
# strata path on this machine's own kernel: threads that wait for a futex and for a timer. $WAITS: tests/path/waits.c, which says for how
# long, at least.
. "$(dirname "$0")/../lib/golden.sh"

if ! can_trace_kernel; then
    echo "path_host: SKIPPED: $no_kernel" >&2
    exit 77
fi
for event in syscalls/sys_enter_futex timer/hrtimer_expire_entry irq_vectors/local_timer_entry; do
    if [ ! -d /sys/kernel/tracing/events/$event ]; then
        echo "path_host: SKIPPED: this kernel has no event $event" >&2
        exit 77
    fi
done

"$strata" record -o trace --buffer-size=32M -e 'host:sched:sched_switch' -e 'host:sched:sched_wak*' -e 'host:sched:sched_migrate_task' -e 'host:irq:*_e*' \
    -e 'host:irq_vectors:local_timer_*' -e 'host:timer:hrtimer_expire_*' -e 'host:syscalls:sys_*_futex' \
    -e 'host:syscalls:sys_*_clock_nanosleep' -- "$WAITS" >out 2>err || fail "$(cat err)"
[ "$("$strata" info -f json trace | jq '.lost.events + .lost.uncounted')" = 0 ] || {
    echo "path_host: SKIPPED: events were lost" >&2
    exit 77
}

# blames TASK WHO CAUSE: at least 200 ms of TASK's time have this cause, or are unknown: a kernel may lose switches and wake-ups without
# counting them. Of what is known of other threads that run, or of timers, this cause has the most.
blames() {
    "$strata" path --threads --task "$1" -f json trace >found 2>err || fail "$1: $(cat err)"
    jq -e --arg who "$2" --arg cause "$3" '([.rows[] | select(.key.who == $who and .key.cause == $cause).sum] | add) as $known |
        ([.rows[] | select(.key.cause | startswith("?")).sum] | add // 0) as $unknown |
        ([.rows[] | select(.key.what == "runs" and .key.who != $who or .key.what == "sleeps" and .key.cause != $cause).sum] | max // 0) as $other |
        $known > $other and $known + $unknown >= 200000000' found >/dev/null || fail "$1: $(jq -c '.rows[] | [.key, .sum]' found)"
}
case="a futex"
blames waiter holder "before it wakes waiter, in futex"
case="a timer"
blames sleeper sleeper "timer, in clock_nanosleep"
# All of a thread's time is there: from its first event to its last.
jq -e '[.rows[].part] | add | . > 0.9999 and . < 1.0001' found >/dev/null || fail "$(jq -c '.rows[] | [.key, .part]' found)"

case="a system call"
"$strata" path 'syscall-*' --task sleeper --longer 0.02 -f json trace >found 2>err || fail "$(cat err)"
jq -e 'any(.rows[]; .key.of == "syscall-clock_nanosleep" and .key.cause == "timer, in clock_nanosleep" and .n >= 1)' found >/dev/null ||
    fail "$(jq -c '.rows[] | [.key, .n]' found)"
