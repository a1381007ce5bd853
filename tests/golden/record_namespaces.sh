#!/bin/sh
# Programs in pid namespaces below the recorder's, as containers have: they are recorded like any other, although their
# numbers here are others, or those of other processes. $EMIT, $VICTIM: tests/runtime.
. "$(dirname "$0")/../lib/golden.sh"

unshare --pid --fork true 2>told || {
    echo "record_namespaces: SKIPPED: $(cat told)" >&2
    exit 77
}
skipped=
rings=/dev/shm/strata-$(id -u)

nothing_left() {
    for process in "$rings"/record-*/*/process "$work"/rings/*/process "$work"/rings/.?*; do
        [ ! -e "$process" ] || [ "${process##*/}" = .. ] || ! grep -r -q -F "$work" "$process" || fail "left: $process"
    done
}

# Where / is not a mount point, it cannot be made private; only /proc has to be.
mount_proc='--mount-proc --propagation unchanged'
for proc in '' "$mount_proc"; do
    case="one $proc"
    # shellcheck disable=SC2086 # words
    unshare --pid --fork $proc true 2>told || {
        skipped="$skipped; a /proc of the namespace: $(cat told)"
        continue
    }
    rm -rf one
    # shellcheck disable=SC2086 # words
    "$strata" record -o one -- unshare --pid --fork $proc "$EMIT" 300 2 >emitted 2>told || fail "$(cat told)"
    grep -q '^emit (process [0-9]*): 600 events written to ' told || fail "$(cat told)"
    "$strata" report --format json one >shown
    python3 "$here/../runtime/compare.py" strata emitted shown || fail compare.py
    nothing_left
done

# Many, with the same number, made at once: none loses its directory while it makes it.
case=many
cat >many <<'END'
for i in $(seq 20); do
    unshare --pid --fork "$1" -q 300 1 2>/dev/null &
done
wait
END
"$strata" record -o many.out -- sh many "$EMIT" 2>told || fail "$(cat told)"
[ "$(grep -c '^emit (process [0-9]*): 300 events written to ' told)" -eq 20 ] || fail "$(cat told)"
nothing_left

# With the kernel of the host, a recorder in a namespace says what cannot be found then; one outside does not.
case=host
if ! can_trace_kernel; then
    skipped="$skipped; the host's kernel: $no_kernel"
elif [ "$(readlink /proc/self/ns/pid)" != 'pid:[4026531836]' ]; then
    skipped="$skipped; the host's kernel: this is not the first pid namespace"
else
    other='^strata: threads have other numbers in this PID namespace than in the host'
    # shellcheck disable=SC2086 # words
    if unshare --pid --fork $mount_proc true 2>told; then
        unshare --pid --fork $mount_proc "$strata" record -o inside -e host:sched:sched_switch -- "$EMIT" 3 1 >out 2>told || fail "$(cat told)"
        grep -q "$other" told || fail "$(cat told)"
        # What is asked of the trace says the same.
        advice="record outside of the container, or in the host's PID namespace\$"
        grep -q "$advice" told || fail "$(cat told)"
        "$strata" sched --by vcpu inside >out 2>err && fail "a vCPU"
        grep "^no thread of the host is known to run one vCPU" out | grep -q "in a container than .*: $advice" || fail "$(cat out err)"
    else
        skipped="$skipped; the host's kernel: $(cat told)"
    fi
    "$strata" record -o outside -e host:sched:sched_switch -- "$EMIT" 3 1 >out 2>told || fail "$(cat told)"
    ! grep -q "$other" told || fail "$(cat told)"
    "$strata" sched --by vcpu outside >out 2>err && fail "a vCPU"
    grep -q 'tcg,thread=multi$' out || fail "$(cat out err)"
fi

# One that is killed is seen to be dead: its rings are recovered. (In other namespaces than the first one that cannot be
# seen.)
case=killed
if [ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ]; then
    mkdir rings
    # The first process of a namespace is not killed by a signal of its own.
    unshare --pid --fork sh -c "'$EMIT' -q -t 'writer=none,rings=$work/rings' -t '*' -k 300 1; echo \$? >status" >out 2>&1
    [ "$(cat status)" -eq 137 ] || fail "it was not killed: $(cat out)"
    "$strata" recover -o saved rings >told 2>&1 || fail "$(cat told)"
    grep -q 'emit (process [0-9]*): 300 events recovered' told || fail "$(cat told)"
    [ -z "$(ls -A rings)" ] || fail "left: $(ls -A rings)"
else
    skipped="$skipped; recovery of a killed program: this is not the first pid namespace"
fi

[ -z "$skipped" ] || {
    echo "record_namespaces: SKIPPED in part: ${skipped#; }" >&2
    exit 77
}
