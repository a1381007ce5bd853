#!/bin/sh
# strata record --attach to a QEMU that does not reach the files of the user who records: of another user, behind chroot, in a container.
. "$(dirname "$0")/../lib/golden.sh"

command -v qemu-system-x86_64 >/dev/null || {
    echo "qemu-system-x86_64 is not installed"
    exit 77
}
[ "$(id -u)" -eq 0 ] || {
    echo "record_elsewhere: SKIPPED: only root reaches a QEMU of another user" >&2
    exit 77
}
qemu= pid= skipped=
ended() {
    [ -z "$pid" ] || kill -KILL $pid 2>/dev/null || true
    [ -z "$qemu" ] || kill $qemu 2>/dev/null || true
    wait
}
at_exit=ended
chmod 755 .
mkdir -m 700 run
mkdir -m 777 theirs
XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
machine='-M none -nodefaults -display none -msg timestamp=on'

# fifo: the directory of the FIFO that the running recorder made for QEMU's log, if it made one.
fifo() {
    cat run/strata-record-*/restore | sed -n 's/.*"fifo": *"\([^"]*\)\/log".*/\1/p'
}

# What QEMU logs there is in the trace, and QEMU as it was. $place: fifo's.
# recorded [STATUS [OPTION...]]: of QEMU, process $qemu, with the monitor at $socket as it is here.
recorded() {
    status=${1:-0}
    [ $# -eq 0 ] || shift
    rm -rf trace
    "$strata" record --attach -o trace -e qmp_enter_human_monitor_command "$@" $qemu >out 2>told &
    pid=$!
    wait_for '"$strata" ctl $qemu list qmp_enter_human_monitor_command 2>/dev/null | grep -q ^on || ! kill -0 $pid'
    kill -0 $pid || fail "$(cat told)"
    place=$(fifo)
    "$strata" ctl $qemu monitor info name >/dev/null || fail monitor
    kill -TERM $pid
    got=0
    wait $pid || got=$?
    pid=
    [ $got -eq "$status" ] || fail "exit status $got: $(cat told)"
    "$strata" report -e qmp_enter_human_monitor_command trace >shown || fail "report"
    [ "$(wc -l <shown)" -ge 1 ] || fail "nothing is recorded: $(cat told)"
    "$strata" ctl $qemu list | grep '^on' >on || true
    [ ! -s on ] || fail "left on: $(cat on)"
    [ "$status" -ne 0 ] || [ -z "$(ls run)" ] || fail "left: $(ls -R run)"
}

# A log that is a file is read where it is. A pipe is not: QEMU logs through a FIFO of the recorder's meanwhile.
mkfifo pipe

case='another user, a file'
(cd theirs && exec $as_nobody qemu-system-x86_64 $machine -qmp unix:socket,server=on,wait=off 2>errors) &
qemu=$!
wait_for '[ -S theirs/socket ] && "$strata" ctl $qemu info >now 2>/dev/null'
recorded
grep -q qmp_enter_human_monitor_command theirs/errors || fail "its log: $(cat theirs/errors)"
kill $qemu
wait $qemu || true
rm -f theirs/socket

case='another user'
cat pipe >errors &
(exec 2>pipe && cd theirs && exec $as_nobody qemu-system-x86_64 $machine -qmp unix:socket,server=on,wait=off) &
qemu=$!
wait_for '[ -S theirs/socket ] && "$strata" ctl $qemu info >now 2>/dev/null'
recorded
[ -n "$place" ] && [ ! -e "$place" ] || fail "left: $(ls -la "$place")"
# What a recorder leaves that is killed is removed by the next one.
"$strata" record --attach -o killed -e qmp_enter_human_monitor_command $qemu >out 2>told &
pid=$!
wait_for '"$strata" ctl $qemu list qmp_enter_human_monitor_command 2>/dev/null | grep -q ^on || ! kill -0 $pid'
place=$(fifo)
[ "$(stat -c '%u %a' "$place")" = '65534 700' ] || fail "$(ls -ld "$place")"
kill -KILL $pid
wait $pid 2>/dev/null || true
pid=
"$strata" ctl $qemu restore 2>told || fail "$(cat told)"
[ ! -e "$place" ] || fail "left: $(ls -la "$place")"
kill $qemu
wait $qemu || true

# QEMU 10 has -run-with alone.
nobody='-runas nobody' jailed='-runas nobody -chroot jail'
qemu-system-x86_64 -help | grep -q '^-runas ' || nobody='-run-with user=nobody' jailed='-run-with user=nobody,chroot=jail'
case=-runas
qemu-system-x86_64 $machine $nobody -qmp unix:socket2,server=on,wait=off 2>errors &
qemu=$!
wait_for '[ -S socket2 ] && "$strata" ctl $qemu info >now 2>/dev/null'
recorded
kill $qemu
wait $qemu || true

case=-chroot
mkdir jail
cat pipe >errors &
qemu-system-x86_64 $machine $jailed -qmp unix:"$work"/socket3,server=on,wait=off 2>pipe &
qemu=$!
wait_for '[ -S socket3 ] && "$strata" ctl $qemu info >now 2>/dev/null'
# It has no name for its standard error there, so that its log stays off, which is said before its log is changed.
recorded
head -n 1 told | grep -q "^strata: QEMU's own log cannot be restored after the recording: its standard error is outside" || fail "$(cat told)"
! grep -q "cannot restore QEMU's settings" told || fail "$(cat told)"
"$strata" ctl $qemu restore 2>told || fail "$(cat told)"
[ -z "$(ls jail)" ] || fail "left: $(ls -R jail)"
kill $qemu
wait $qemu || true

case='a container'
if unshare -m --propagation private -p -f true 2>told; then
    mkdir hidden
    cat pipe >errors &
    # shellcheck disable=SC2016 # that shell's
    unshare -m --propagation private -p -f sh -c 'mount -t tmpfs none /tmp && mount -t tmpfs none /run && mount -t proc none /proc && ln -s /run /tmp/link &&
        exec qemu-system-x86_64 "$@" 2>pipe' sh $machine -M pc -m 16 -S -qmp unix:/tmp/link/socket,server=on,wait=off &
    outer=$!
    wait_for 'qemu=$(tr -d " " </proc/$outer/task/$outer/children) && [ -n "$qemu" ] && "$strata" ctl $qemu info >now 2>/dev/null'
    qemu=$(tr -d ' ' </proc/$outer/task/$outer/children)
    recorded
    # Threads have the numbers that they have here, and those that QEMU's own events have.
    jq -r '.sources[0].vmm.threads[] | select(.vcpu == 0) | "\(.id) \(.own_id)"' trace/trace.json >threads
    read -r id own <threads || fail "no thread runs vCPU 0: $(cat trace/trace.json)"
    [ -e /proc/$qemu/task/$id ] && [ "$own" -lt "$id" ] || fail "$(cat threads)"
    grep -q 'qemu-system-x86-[1-9] ' shown || fail "$(cat shown)"
    kill $qemu
    wait $outer || true
else
    skipped="a container: $(cat told)"
fi
qemu=

[ -z "$skipped" ] || {
    echo "record_elsewhere: SKIPPED in part: $skipped" >&2
    exit 77
}
