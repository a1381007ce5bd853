#!/bin/sh
# strata record --attach of a virtual machine of KVM whose monitor is not QEMU. $KVM_GUEST: tests/kvm/guest.c, on this
# machine's own KVM, as far as it has one.
. "$(dirname "$0")/../lib/golden.sh"

guest=$KVM_GUEST
recorder= vmms=
ended() {
    exec 3>&- 4>&- 5>&- 6>&- 7>&-
    for pid in $recorder $vmms; do
        kill -KILL "$pid" 2>/dev/null || true
    done
    wait
}
at_exit=ended
# The exit status is 1 or 2, and what is printed begins with the line that follows; ARGUMENTS...
says() {
    status=$1 line=$2 got=0
    shift 2
    $as "$strata" record "$@" >out 2>err || got=$?
    [ $got -eq "$status" ] || fail "$*: exit status $got: $(cat err)"
    [ "$(head -1 err)" = "$line" ] || fail "$*: $(cat err)"
    [ ! -e trace ] || fail "$*: something is left"
}
as=

# Processes that run no virtual machine.
case=refused
says 1 "strata: no process 4194305" --host --attach -o trace 4194305
says 2 "strata record: --attach accepts one process, or several that all run virtual machines of KVM" \
    --host --attach -o trace $$ $$
if [ "$(id -u)" -eq 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$strata"; then
    chmod 777 .
    as='setpriv --reuid=65534 --regid=65534 --clear-groups'
    says 1 "strata: process $$ is another user's; run strata as that user, or as root" --host --attach -o trace $$
    as=
fi

# start N NAME: a virtual machine that waits, as $vmmN, with a thread called NAME; `go N` lets it run.
start() {
    mkfifo "go$1"
    "$guest" --wait "$2" <"go$1" >"log$1" 2>&1 &
    eval "vmm$1=$!"
    vmms="$vmms $!"
    eval "exec $((2 + $1))>go$1"
    wait_for "grep -q . log$1"
}
start 1 'fc_vcpu 0'
if ! grep -q ready log1; then
    echo "record_vmm: SKIPPED in part: no virtual machine of KVM can be made here: $(cat log1)" >&2
    exit 77
fi

# What it is, is said where an option is missing.
case=options
says 2 "strata record: process $vmm1 (kvm-guest) runs virtual machines of KVM and has no events of its own: add --host, which records its exits" \
    --attach -o trace $vmm1
says 2 "strata record: --guest without an endpoint is for QEMU; process $vmm1 is kvm-guest: use --guest=ENDPOINT (example: --guest=vsock:3)" \
    --attach --host --guest -o trace $vmm1
says 2 "strata record: --event switches no events of process $vmm1 (kvm-guest): name the layer, --event=host:EVENT or guest:EVENT" \
    --attach --host -e blk -o trace $vmm1
if ! can_trace_kernel; then
    echo "record_vmm: SKIPPED in part: $no_kernel" >&2
    exit 77
fi

# Its threads and vCPUs; the recording ends with it.
case=one
begin() {
    rm -rf trace
    "$strata" record --attach --event=host:kvm:*,host:sched:sched_switch -o trace "$@" >out 2>told &
    recorder=$!
    wait_for '[ -s trace/trace.json ] || ! kill -0 $recorder 2>/dev/null'
    kill -0 $recorder || fail "$(cat told)"
}
end() {
    wait $recorder || fail "exit status $?: $(cat told)"
    recorder=
}
begin $vmm1
echo >&3
end
grep -q "^kvm-guest (process $vmm1) has ended, recorded into trace\$" out || fail "$(cat out)"
grep -q '^  vmm    threads of 1 vCPU$' told || fail "$(cat told)"
"$strata" info --source vmm trace >info || fail "info"
grep -q "^  vcpus  *0 by thread $vmm1\$" info || fail "$(cat info)"
grep -q "^  monitor  *$guest\$" info || fail "$(cat info)"
grep -q '^  complete  *yes$' info || fail "$(cat info)"
"$strata" info trace | grep -q "^trace, 2 sources" || fail "$("$strata" info trace)"
# Its events are those of vCPU 0, and no layer or number is shown for a source without events.
"$strata" report -f json -e 'kvm_pio' trace >events || fail "report"
[ "$(grep -c "\"pid\":$vmm1,.*\"vcpu\":0[,}]" events)" -eq "$(wc -l <events)" ] || fail "$(head -3 events)"
"$strata" summary trace >summary || fail "summary"
! grep -qw vmm summary || fail "$(cat summary)"

# Of two, each has its own; a guest whose agent does not answer leaves the rest recorded.
case=two
start 2 'vcpu0'
start 3 'unknown'
head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >key
chmod 600 key
begin --key=key --guest=vsock:4294967290:9 $vmm2 $vmm3
wait_for 'grep -q waiting told'
echo >&4
echo >&5
status=0
wait $recorder || status=$?
recorder=
[ $status -eq 1 ] || fail "exit status $status: $(cat told)"
grep -q '^strata: guest: waiting for 4294967290:9: .*; in the guest, start: strata-agent --listen=vsock:9 --key=FILE$' told ||
    fail "$(cat told)"
grep -q '^strata: guest: no agent has answered: start strata-agent in the guest' told || fail "$(cat told)"
for pid in $vmm2 $vmm3; do
    grep -q "^kvm-guest (process $pid) has ended, recorded into trace\$" out || fail "$(cat out)"
    "$strata" info --source "vmm-$pid" trace | grep -q '^  complete  *yes$' || fail "vmm-$pid"
    "$strata" stat --by vm -e kvm_pio trace 2>/dev/null | grep -q "^kvm-guest-$pid  *1000 " ||
        fail "$("$strata" stat --by vm -e kvm_pio trace 2>&1)"
done

# Stopped, the virtual machine goes on.
case=stopped
start 4 'unknown'
begin $vmm4
kill -INT $recorder
end
kill -0 $vmm4 || fail "the virtual machine has ended"
grep -q "^kvm-guest (process $vmm4), recorded into trace\$" out || fail "$(cat out)"
grep -q '^  vmm    threads of its vCPUs only by the kernel.s events (kvm:kvm_entry)$' told || fail "$(cat told)"

# Without KVM's debugfs the names of threads say what they run; a machine that is killed ends its recording in order.
case=killed
start 5 'crosvm_vcpu0'
begin --kvm-files="$work/none" $vmm5
kill -KILL $vmm5
end
grep -q "^kvm-guest (process $vmm5) has ended, recorded into trace\$" out || fail "$(cat out)"
"$strata" info --source vmm trace >info || fail "info"
grep -q "^  vcpus  *0 by thread $vmm5\$" info || fail "$(cat info)"
grep -q '^  complete  *yes$' info || fail "$(cat info)"
