#!/bin/sh
# strata record --attach: where a running QEMU's log is, and what of that is QEMU's events.
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/attached.sh"

command -v qemu-system-x86_64 >/dev/null || {
    echo "qemu-system-x86_64 is not installed"
    exit 77
}
qemu= pid= other= mounted=
ended() {
    [ -z "$pid" ] || kill -KILL $pid 2>/dev/null || true
    [ -z "$qemu$other" ] || kill $qemu $other 2>/dev/null || true
    wait
    [ -z "$mounted" ] || umount full 2>/dev/null || true
}
at_exit=ended
mkdir run
XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR

# OPTIONS…: a QEMU that runs, as $qemu, with its standard error appended to ./errors.
start() {
    rm -rf socket trace
    qemu-system-x86_64 -M none -display none -nodefaults "$@" -qmp unix:socket,server=on,wait=off 2>>errors &
    qemu=$!
    wait_for '"$strata" ctl $qemu info >now 2>/dev/null'
}
stop() {
    kill $qemu
    wait $qemu || fail "QEMU: $(cat errors)"
    qemu=
    rm -f errors
}
# OPTIONS…: records its commands.
begin() {
    rm -rf trace
    "$strata" record --attach -o trace -e qmp_enter_query_name,qmp_enter_human_monitor_command "$@" $qemu >out 2>told &
    pid=$!
    wait_for '"$strata" ctl trace list qmp_enter_query_name >now 2>/dev/null && grep -q ^on now || ! kill -0 $pid'
    kill -0 $pid || fail "$(cat told)"
}
# N: so many events are in the trace, all of which were asked for.
has() {
    n=$("$strata" report trace 2>told.shown | grep -c ' qmp_enter_human_monitor_command: ') || true
    [ $n -eq "$1" ] || fail "$n, not $1: $(cat told); $("$strata" report trace)"
    [ "$("$strata" report trace 2>/dev/null | wc -l)" -eq $n ] || fail "other events: $("$strata" report trace)"
}
lost_nothing() {
    grep -q " 0 lost" told || fail "$(cat told)"
}

# The log is where QEMU writes it, not where its command line says.
case='a log that was moved'
start -msg timestamp=on
"$strata" ctl $qemu monitor "logfile $PWD/moved.log" >out || fail monitor
cp errors errors.before
begin
ask 3
end
has 3
lost_nothing
cmp errors.before errors >&2 || fail "standard error: $(cat errors)"
grep -q ':qmp_enter_human_monitor_command ' moved.log || fail "$(cat moved.log)"
# It is moved while it is recorded: what came before is there, and the rest is lost.
begin
ask 2
"$strata" ctl trace monitor "logfile $PWD/again.log" >out || fail monitor
ask 2
end
has 3
grep -q "QEMU's log was moved by the monitor's command logfile while it was recorded; later events are missing and not counted" told ||
    fail "$(cat told)"
jq -e '.sources[0].lost_uncounted' trace/trace.json >out || fail "$(cat trace/trace.json)"
stop
start -msg timestamp=on -D named.log
"$strata" ctl $qemu monitor "logfile $PWD/moved.log" >out || fail monitor
begin
ask 3
end
has 3
lost_nothing
# It goes nowhere.
"$strata" ctl $qemu monitor "logfile /dev/full" >out || fail monitor
status=0
"$strata" record --attach -o none -e qmp_enter_query_name -t 1 $qemu >out 2>told || status=$?
[ $status -eq 1 ] && grep -q "QEMU's events are not recorded: its log named.log is not open in QEMU any more" told ||
    fail "exit status $status: $(cat told)"
stop
rm -rf none

# A FIFO takes the place of a pipe. If the log is moved meanwhile, it stays there.
case='a pipe that was left'
mkfifo errors
cat errors >piped &
start -msg timestamp=on
begin
ask 2
"$strata" ctl trace monitor "logfile $PWD/again.log" >out || fail monitor
wait_for '! ls -l /proc/$qemu/fd | grep -q "$PWD/run/"' # QEMU closes it in another thread
end
has 3
grep -q "QEMU's log was moved by the monitor's command logfile" told || fail "$(cat told)"
lines=$(wc -l <again.log)
"$strata" ctl $qemu on qmp_exit_query_version
"$strata" ctl $qemu info >out
wait_for '[ "$(wc -l <again.log)" -gt $lines ]'
stop

# A socket cannot be opened again: nothing is changed, and the way out works.
case='a socket'
rm -rf socket trace
python3 - "$PWD" <<'END' &
import os, socket, sys
ours, its = socket.socketpair()
os.dup2(its.fileno(), 2)
its.close()
os.set_inheritable(ours.fileno(), True)
os.execlp("qemu-system-x86_64", "qemu-system-x86_64", "-M", "none", "-display", "none", "-nodefaults", "-msg", "timestamp=on",
          "-qmp", "unix:socket,server=on,wait=off")
END
qemu=$!
wait_for '"$strata" ctl $qemu info >now 2>/dev/null'
status=0
"$strata" record --attach -o none -e qmp_enter_query_name -t 1 $qemu >out 2>told || status=$?
[ $status -eq 1 ] && grep -q "QEMU's events are not recorded: it logs to its standard error, a socket, which it could not open again" told ||
    fail "exit status $status: $(cat told)"
! grep -q restore told || fail "$(cat told)"
command=$(sed -n 's/.*move its log to a file first: strata \(ctl .*\)$/\1/p' told | sed "s|/FILE|$PWD/socket.log|")
eval "\"\$strata\" $command" >out || fail "$command: $(cat told)"
begin
ask 3
end
has 3
lost_nothing
stop

# Two QEMUs log to one file: each one's trace has its own events, if lines tell whose they are.
case='a log of two'
second() {
    rm -f socket.2
    qemu-system-x86_64 -M none -display none -nodefaults "$@" -qmp unix:socket.2,server=on,wait=off 2>>errors &
    other=$!
    wait_for '"$strata" ctl $other info >now 2>/dev/null'
    "$strata" ctl $other on qmp_enter_human_monitor_command
}
stop_second() {
    kill $other
    wait $other || fail "QEMU: $(cat errors)"
    other=
}
start -msg timestamp=on
second -msg timestamp=on
begin
ask 1
"$strata" ctl $other monitor info mice >out || fail monitor
ask 1
end
has 2
lost_nothing
grep -q 'info mice' errors && ! grep -q 'is also that of' told || fail "$(cat told errors)"
stop_second
stop
start
second
begin
ask 2
end
grep -q "QEMU's log is also that of process $other, and its lines do not tell which is whose" told || fail "$(cat told)"
stop_second
stop

# Text that is no event gets no time, and is shown as text.
case='other text'
start
begin
ask 1
printf 'warning of something\nqmp_enter_human_monitor_command_made_up {}\n' >>errors
ask 1
end
"$strata" report -f json trace 2>told.shown | jq -r '.event + " " + (.fields.message // "")' >events
grep -qx 'log warning of something' events && grep -qx 'log qmp_enter_human_monitor_command_made_up {}' events &&
    [ "$(grep -c '^qmp_enter_human_monitor_command ' events)" -eq 2 ] || fail "$(cat events)"
stop
# A pipe gets it, and no event.
mkfifo errors
cat errors >piped &
start -d guest_errors
begin
ask 1
fifo=$(ls -l /proc/$qemu/fd | sed -n "s|.* -> \\($PWD/run/.*\\)|\\1|p" | head -n 1)
printf 'warning of something\n' >>"$fifo"
ask 1
end
grep -qx 'warning of something' piped && ! grep -q qmp_enter_human piped || fail "$(cat piped)"
stop

# Names of libvirt's domains may be as long.
case='a long name'
long=$(printf 'n%.0s' $(seq 200))
start -msg timestamp=on -name "guest=$long"
begin
end
[ "$(jq -r '.sources[0].vmm.name' trace/trace.json)" = "$long" ] || fail "$(cat trace/trace.json)"
stop

# QEMU drops lines that the disk of its log has no room for, and does not say so.
case='a full disk'
mkdir full
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=256k none full 2>/dev/null; then
    mounted=yes
    start -msg timestamp=on -D full/log
    begin
    ask 1
    dd if=/dev/zero of=full/rest bs=4096 2>/dev/null || true
    ask 100
    end
    grep -q "the disk of QEMU's log was full: QEMU may have dropped lines, which are not counted" told || fail "$(cat told)"
    jq -e '.sources[0].lost_uncounted' trace/trace.json >out || fail "$(cat trace/trace.json)"
    stop
    umount full
    mounted=
else
    echo 'SKIPPED in part: a full disk, as no file system can be mounted'
fi
[ -z "$(ls run)" ] || fail "left: $(ls -R run)"
