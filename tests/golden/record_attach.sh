#!/bin/sh
# strata record --attach on a real QEMU that runs: what is asked of it arrives, and it is as it was before.
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/attached.sh"

command -v qemu-system-x86_64 >/dev/null || {
    echo "qemu-system-x86_64 is not installed"
    exit 77
}
qemu= pid=
ended() {
    exec 9>&-
    [ -z "$pid" ] || kill -KILL $pid 2>/dev/null || true
    [ -z "$qemu" ] || kill $qemu 2>/dev/null || true
    wait
}
at_exit=ended
mkdir run
XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR

# OPTIONS…: a QEMU that runs, as $qemu, with its monitor at ./socket, and its standard error in ./errors, or in ./pipe if that is
# there.
start() {
    rm -rf socket trace
    to=errors
    [ ! -p pipe ] || to=pipe
    qemu-system-x86_64 -M pc -m 64 -display none -nodefaults "$@" \
        -qmp unix:socket,server=on,wait=off 2>$to &
    qemu=$!
    wait_for '"$strata" ctl $qemu info >now 2>/dev/null'
}
stop() {
    kill $qemu
    wait $qemu || fail "QEMU: $(cat errors)"
    qemu=
}
begin() {
    rm -rf trace
    "$strata" record --attach -o trace "$@" >out 2>told &
    pid=$!
    wait_for '[ -e trace/trace.json ] && grep -q qmp trace/trace.json && "$strata" ctl trace list qmp_enter_query_name >now 2>/dev/null && grep -q ^on now || ! kill -0 $pid'
    kill -0 $pid || fail "$(cat told)"
}
states() {
    "$strata" ctl $qemu list | grep '^on' || true
}
# says_nothing FILE: that QEMU, which may have no CPU for a second, is waited for is no problem.
says_nothing() {
    ! grep -v "QEMU's monitor does not answer: .*; waiting up to [0-9]* seconds\$" "$1" | grep -q .
}
nothing_left() {
    [ -z "$(ls run)" ] || fail "left: $(ls -R run)"
}

case=times
start -msg timestamp=on
"$strata" ctl $qemu on qmp_exit_query_version
states >before
begin -e qmp_enter_query_name,qmp_enter_human_monitor_command $qemu
ask 5
"$strata" ctl trace on qmp_enter_query_status
end
[ "$("$strata" report -e qmp_enter_human_monitor_command trace 2>told.shown | wc -l)" -eq 5 ] ||
    fail "$("$strata" report trace)"
[ ! -s told.shown ] || fail "$(cat told.shown)"
grep -q '"complete": true' trace/trace.json || fail "$(cat trace/trace.json)"
"$strata" info trace | grep -q "^  vcpus  *0 by thread " || fail "$("$strata" info trace)"
"$strata" info trace | grep -q '^  related to  *the host.s monotonic clock' || fail "$("$strata" info trace)"
# It is as it was: its events, and its log, which is where it was.
states | diff before - >&2 || fail "its events"
"$strata" ctl $qemu info >/dev/null
tail -n 3 errors | grep -q '@.*:qmp_exit_query_version' || fail "its log: $(tail -n 3 errors)"
nothing_left

# A log that is a file stays as it is: QEMU 8.0 and later would empty it on its way back.
case='a file'
cp errors before.errors
begin -e qmp_enter_query_name,qmp_enter_human_monitor_command $qemu
ask 2
end
head -c "$(stat -c %s before.errors)" errors | cmp - before.errors >&2 || fail "its log has changed: $(head -n 3 errors)"
[ "$(grep -c '@.*:qmp_enter_human_monitor_command' errors)" -gt "$(grep -c '@.*:qmp_enter_human_monitor_command' before.errors)" ] ||
    fail "its log goes elsewhere: $(tail -n 3 errors)"
[ "$("$strata" report -e qmp_enter_human_monitor_command trace | wc -l)" -eq 2 ] || fail "$("$strata" report trace)"

# A second recorder of the same QEMU is refused.
case=twice
begin -e qmp_enter_query_name $qemu
status=0
"$strata" record --attach -o other $qemu >out 2>told.other || status=$?
[ $status -eq 1 ] && grep -qF "is being recorded already, by process $pid into $PWD/trace" told.other || fail "$(cat told.other)"
[ ! -e other ] || fail "a directory is left"
end
stop

# Killed, the recorder leaves QEMU running, with its events, its log and its port. The next one, or `restore`, finds what was
# there before, also when others were recorded meanwhile.
killed() {
    begin -e qmp_enter_query_name,-qmp_exit_query_version --guest $qemu
    # One event may be on before the rest is changed, or since the one before.
    wait_for '"$strata" ctl trace list qmp_exit_query_version 2>/dev/null | grep -q ^off || ! kill -0 $pid'
    wait_for '"$strata" ctl trace monitor info chardev 2>/dev/null | grep -q "^strata-agent: " || ! kill -0 $pid'
    kill -KILL $pid
    wait $pid 2>/dev/null || true
    pid=
    states >now
    grep -q qmp_enter_query_name now && ! grep -q qmp_exit_query_version now || fail "its events: $(cat now)"
    "$strata" ctl $qemu monitor info chardev | grep -q '^strata-agent: ' || fail "no port is left"
    "$strata" record -o other -- true >out 2>&1 || true
    rm -rf other
}
as_before() {
    states | diff before - >&2 || fail "its events"
    "$strata" ctl $qemu monitor info chardev >chardevs
    ! grep -q strata chardevs || fail "a port is left: $(cat chardevs told)"
    lines=$(wc -l <errors)
    "$strata" ctl $qemu info >/dev/null
    wait_for '[ "$(wc -l <errors)" -gt $lines ]'
    tail -n 1 errors | grep -q '@.*:qmp_exit_query_version' || fail "its log: $(tail -n 3 errors)"
    nothing_left
}
case=killed
start -msg timestamp=on -device virtio-serial-pci
"$strata" ctl $qemu on qmp_exit_query_version
states >before
killed
"$strata" report trace >/dev/null 2>told || fail "$(cat told)"
grep -q 'is incomplete' told || fail "$(cat told)"
begin -e qmp_enter_query_name $qemu
# The events that the killed one has left on end the wait of `begin`.
wait_for "grep -q 'restored what a killed recorder had changed' told || ! kill -0 $pid"
kill -0 $pid || fail "$(cat told)"
status=0
"$strata" ctl $qemu restore 2>told.ctl || status=$?
[ $status -eq 1 ] && grep -q 'is being recorded already' told.ctl || fail "$(cat told.ctl)"
end
as_before
# Twice: what was there before is what the first has found.
killed
mkdir elsewhere
XDG_RUNTIME_DIR=$work/elsewhere killed
"$strata" ctl $qemu restore 2>told || fail "$(cat told)"
says_nothing told || fail "$(cat told)"
as_before
"$strata" ctl $qemu restore 2>told || fail "$(cat told)"
grep -q 'no killed recorder has left anything' told || fail "$(cat told)"
killed
stop
"$strata" record -o other -- true >out 2>&1 || true
rm -rf other
nothing_left

# QEMU ends first.
case=ends
start -msg timestamp=on
begin -e 'qmp_*,runstate_set' $qemu
kill $qemu
wait $qemu || true
qemu=
wait $pid || fail "exit status $?: $(cat told)"
pid=
"$strata" report trace >shown 2>told.shown || fail "$(cat told.shown)"
grep -q 'runstate_set: .*(shutdown)' shown || fail "$(tail -n 3 shown)"
grep -q 'QEMU (process [0-9]*) has ended' told || fail "$(cat told)"
nothing_left

# The kernel says of a process that is not the recorder's by which signal it was killed until its parent is told, and from 6.15 on.
case='is killed'
start -msg timestamp=on
begin -e 'qmp_*' $qemu
kill -KILL $qemu
wait $qemu || true
qemu=
wait $pid || fail "exit status $?: $(cat told)"
pid=
if printf '6.15\n%s\n' "$(uname -r)" | sort -V -C; then
    grep -q '^  QEMU was killed by signal 9 (Killed), [0-9.]* seconds after its recording began$' told || fail "$(cat told)"
    [ "$(jq -r '.sources[0].vmm.exit' trace/trace.json)" = 'killed by signal 9 (Killed)' ] || fail "$(cat trace/trace.json)"
else
    grep -q 'QEMU was killed by signal 9 (Killed), \|QEMU (process [0-9]*) has ended$' told || fail "$(cat told)"
fi
nothing_left

# By its socket; a log of its own, whose lines have no times; a port for the agent, on a device that is there.
case=socket
start -D log -device virtio-serial-pci
begin -e qmp_enter_query_name,qmp_enter_human_monitor_command --guest ./socket
"$strata" ctl trace monitor info chardev | grep -q '^strata-agent: ' || fail "no port is there"
# While nothing happens it sleeps. A look at the log each millisecond would be 1000 in a second. What disturbs this machine may be
# in the first of these looks, and five seconds of a loaded machine are longer than that.
wakeups() {
    cat /proc/$pid/task/*/status | awk '/^voluntary/ { n += $2 } END { print n }'
}
for _ in 1 2 3 4 5 6; do
    began=$(date +%s%3N)
    before=$(wakeups)
    sleep 5
    n=$(($(wakeups) - before))
    ms=$(($(date +%s%3N) - began))
    [ $((n * 10)) -ge $ms ] || break
done
[ $((n * 10)) -lt $ms ] || fail "it woke up $n times in $ms ms"
ask 3
end 1
grep -q 'has no times .* read it, within [34567] ms' told && ! grep -q 'more than is said' told || fail "$(cat told)"
# One bound: what the first line says holds for lines that were read late, too.
# It is rounded to 0.1 ms.
# in_us: the error of the times of QEMU, in us.
in_us() {
    sed -n 's/^  vmm .* times within \([0-9.]*\)\([mnu]*s\);.*/\1 \2/p' told |
        awk '{ print $1 * ($2 == "ns" ? 0.001 : $2 == "us" ? 1 : $2 == "ms" ? 1000 : 1000000) }'
}
late=$(sed -n 's/.* read late, within \([0-9.]*\) ms; start QEMU.*/\1/p' told)
awk -v late="${late:-2}" -v told="$(in_us)" 'BEGIN { exit !(told >= late * 1000 - 50) }' ||
    fail "$(cat told)"
grep -q 'has no times' told && grep -q 'nothing of the guest: no agent' told || fail "$(cat told)"
[ "$("$strata" report -e qmp_enter_human_monitor_command trace 2>told.shown | wc -l)" -eq 4 ] ||
    fail "$("$strata" report trace)"
[ "$(grep -c '^qmp_enter_human_monitor_command' log)" -ge 4 ] || fail "its log: $(cat log)"
"$strata" ctl $qemu monitor info chardev >chardevs
! grep -q strata chardevs || fail "a port is left: $(cat chardevs told)"
nothing_left
# What a recorder leaves that is killed is replaced by the next one, and removed with its own.
begin -e qmp_enter_query_name --guest ./socket
kill -KILL $pid
wait $pid || true
"$strata" ctl $qemu monitor info chardev | grep -q '^strata-agent: ' || fail "no port is left"
begin -e qmp_enter_query_name --guest ./socket
"$strata" ctl trace monitor info chardev | grep -q "^strata-agent: .*$(ls -d run/*)" || fail "the port is not its own"
end 1
grep -q 'nothing of the guest: no agent' told || fail "$(cat told)"
"$strata" ctl $qemu monitor info chardev >chardevs
! grep -q strata chardevs || fail "a port is left: $(cat chardevs told)"
nothing_left

# The error that the trace states covers the lines that are read late, also while they are recorded and where the recorder is then
# killed: here it is stopped before a line is written, and goes on half a second later.
case=late
monotonic() {
    python3 -c 'import time; print(time.monotonic_ns())'
}
# TRACE: what it says of that line holds.
covered() {
    "$strata" report --host-time -f json -e qmp_enter_human_monitor_command "$1" 2>told.shown |
        python3 -c 'import json, sys
first, last = map(int, sys.argv[1:])
lines = [json.loads(line) for line in sys.stdin if "info mice" in line]
assert len(lines) == 1, lines
time, error = lines[0]["time_ns"], lines[0]["error_ns"]
assert first - error <= time <= last + error, (first - time, last - time, error)' "$written" "$answered" ||
        fail "$1: $(cat "$1/vmm/clock-pairs" told.shown)"
}
begin -e qmp_enter_query_name,qmp_enter_human_monitor_command ./socket
"$strata" ctl trace monitor info chardev >out
wait_for 'grep -q chardev trace/vmm/trace.log'
kill -STOP $pid
wait_for 'grep -q "^State:.*stopped" /proc/$pid/status'
written=$(monotonic)
"$strata" ctl ./socket monitor info mice >out || fail "monitor"
answered=$(monotonic)
sleep 0.5
kill -CONT $pid
wait_for 'grep -q mice trace/vmm/trace.log'
cp -r trace now.killed
end
covered trace
covered now.killed
awk -v told="$(in_us)" 'BEGIN { exit !(told >= 100000) }' && grep -q ' read late, within [0-9]\{3,\}\.' told || fail "$(cat told)"
nothing_left
stop

# Standard error is a pipe: QEMU logs to the recorder meanwhile, and to the pipe again. Only what is no event is handed on.
case='a pipe'
mkfifo pipe
cat pipe >errors &
start -msg timestamp=on
"$strata" ctl $qemu on qmp_exit_query_version
states >before
begin -e qmp_enter_query_name,qmp_enter_human_monitor_command $qemu
ask 3
end
[ "$("$strata" report -e qmp_enter_human_monitor_command trace | wc -l)" -eq 3 ] || fail "$("$strata" report trace)"
! grep qmp_enter_human errors || fail "an event is on standard error"
begin -e qmp_enter_query_name,-qmp_exit_query_version $qemu
kill -KILL $pid
wait $pid 2>/dev/null || true
pid=
"$strata" ctl $qemu restore 2>told || fail "$(cat told)"
states | diff before - >&2 || fail "its events"
lines=$(wc -l <errors)
"$strata" ctl $qemu info >/dev/null
wait_for '[ "$(wc -l <errors)" -gt $lines ]'
tail -n 1 errors | grep -q '@.*:qmp_exit_query_version' || fail "its log: $(tail -n 3 errors)"
"$strata" record -o other -- true >out 2>&1 || true
rm -rf other
nothing_left
stop
rm pipe

# Another client has the monitor: that is reported, with its process, and waited for, up to a limit.
case=busy
mkfifo stopper.fifo
start -msg timestamp=on
python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect("socket")
print(s.recv(1), flush=True)
sys.stdin.read()' <stopper.fifo >greeted &
client=$!
exec 9>stopper.fifo
wait_for '[ -s greeted ]'
why="it serves another client, process $client (python3)"
"$strata" ctl ./socket info >out.ctl 2>told.ctl &
ctl=$!
wait_for 'grep -qsF "$why" told.ctl'
status=0
wait $ctl || status=$?
[ $status -eq 1 ] && grep -q "^strata: ./socket: QEMU's monitor did not answer in 30 seconds: $why; disconnect" told.ctl ||
    fail "exit status $status: $(cat told.ctl)"
for which in $qemu ./socket; do
    rm -f told
    "$strata" record --attach -o busy -e qmp_enter_query_name $which >out 2>told &
    pid=$!
    wait_for 'grep -qsF "$why" told || ! kill -0 $pid'
    kill -TERM $pid || fail "has ended: $(cat told)"
    status=0
    wait $pid || status=$?
    pid=
    [ $status -eq 1 ] && grep -q 'ended by a signal while' told || fail "exit status $status: $(cat told)"
    [ ! -e busy ] || fail "a directory is left"
done
# Others wait as well, as many as may: no more can connect.
python3 -c 'import socket, sys
all = []
for i in range(64):
    s = socket.socket(socket.AF_UNIX)
    s.setblocking(False)
    try:
        s.connect("socket")
    except BlockingIOError:
        break
    all.append(s)
print(i, flush=True)
sys.stdin.read()' <stopper.fifo >full 9>&- &
queue=$!
wait_for '[ -s full ]'
status=0
"$strata" ctl ./socket info >out 2>told || status=$?
[ $status -eq 1 ] && grep -qF "$why, and no more clients can wait" told || fail "exit status $status: $(cat told)"
# When they have disconnected, it is recorded.
rm -f told
"$strata" record --attach -o busy -e qmp_enter_query_name ./socket >out 2>told 9>&- &
pid=$!
wait_for 'grep -qsF "$why" told || ! kill -0 $pid'
exec 9>&-
wait $client $queue
wait_for '"$strata" ctl busy list qmp_enter_query_name >now 2>/dev/null && grep -q ^on now || ! kill -0 $pid'
end
grep -q '"complete": true' busy/trace.json || fail "$(cat busy/trace.json)"
nothing_left
stop

# A log that QEMU writes where -trace says.
case='a trace file'
start -msg timestamp=on -trace qmp_exit_query_version,file=own.log
begin -e qmp_enter_query_name,qmp_enter_human_monitor_command $qemu
ask 3
end
[ "$(grep -c ':qmp_enter_human_monitor_command ' own.log)" -ge 3 ] || fail "its log was not handed on: $(cat own.log)"
lines=$(wc -l <own.log)
"$strata" ctl $qemu info >/dev/null
wait_for '[ "$(wc -l <own.log)" -gt $lines ]'
tail -n 1 own.log | grep -q ':qmp_exit_query_version ' || fail "its log: $(tail -n 3 own.log)"
! grep qmp_ errors || fail "its log is on standard error"
nothing_left
stop

# In a log that was renamed, and in one whose name has QEMU's number, lines are found; the new file of the old name stays.
case='a log of another name'
start -msg timestamp=on -D own.log
mv own.log own.log.1
echo new >own.log
begin -e qmp_enter_query_name,qmp_enter_human_monitor_command $qemu
ask 3
end
[ "$("$strata" report -e qmp_enter_human_monitor_command trace | wc -l)" -eq 3 ] || fail "$("$strata" report trace)"
[ "$(cat own.log)" = new ] || fail "own.log: $(cat own.log)"
nothing_left
stop
start -msg timestamp=on -D 'own.%d.log'
"$strata" ctl $qemu on qmp_exit_query_version
cp "own.$qemu.log" before.log
begin -e qmp_enter_query_name,qmp_enter_human_monitor_command $qemu
ask 3
end
[ "$("$strata" report -e qmp_enter_human_monitor_command trace | wc -l)" -eq 3 ] || fail "$("$strata" report trace)"
head -c "$(stat -c %s before.log)" "own.$qemu.log" | cmp - before.log >&2 || fail "its log has changed"
nothing_left
stop

# Of another user, who cannot change what is to be put back, in /tmp: it is found there.
case="killed, of another user"
if [ "$(id -u)" -eq 0 ]; then
    chmod 755 .
    mkdir -m 777 theirs
    as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
    unset XDG_RUNTIME_DIR
    (cd theirs && exec $as_nobody qemu-system-x86_64 -M none -nodefaults -display none \
        -qmp unix:socket,server=on,wait=off 2>errors) &
    qemu=$!
    wait_for '[ -S theirs/socket ] && "$strata" ctl $qemu info >now 2>/dev/null'
    left() {
        begin -e qmp_enter_query_name $qemu
        kill -KILL $pid
        wait $pid 2>/dev/null || true
        pid=
        # With the time of its start: another process may have had its number.
        folder=$(grep -ls "^$qemu $(awk '{ print $22 }' /proc/$qemu/stat)\$" /tmp/strata-record-*/restore)
        folder=${folder%/restore}
        [ "$(stat -c '%u %a' "$folder")" = '0 700' ] || fail "$(ls -ld "$folder")"
    }
    left
    "$strata" ctl $qemu restore 2>told || fail "$(cat told)"
    says_nothing told && [ ! -e "$folder" ] || fail "left: $(cat told; ls -l "$folder")"
    [ -z "$(states)" ] || fail "its events: $(states)"
    stop
    XDG_RUNTIME_DIR=$work/run
    export XDG_RUNTIME_DIR
fi

# It migrates, here to a file.
case=migrated
start -msg timestamp=on
begin -e qmp_enter_query_name $qemu
"$strata" ctl trace monitor 'migrate -d exec:cat>migrated' >out || fail "$(cat out)"
wait_for '"$strata" ctl trace monitor info status >out && grep -q postmigrate out'
end
grep -q '^  the virtual machine was migrated before the recording ended: a recording of the QEMU that it went to' told ||
    fail "$(cat told)"
nothing_left
stop

case=refused
status=0
"$strata" record --attach -o none $$ >out 2>told || status=$?
[ $status -eq 1 ] && grep -q 'has no rings' told || fail "$(cat told)"
sh -c : &
dead=$!
wait $dead
status=0
"$strata" record --attach -o none $dead >out 2>told || status=$?
[ $status -eq 1 ] && grep -q "no process $dead" told || fail "$(cat told)"
qemu-system-x86_64 -M none -display none -monitor none 2>errors &
qemu=$!
wait_for 'readlink /proc/$qemu/exe | grep -q qemu-system'
status=0
"$strata" record --attach -o none $qemu >out 2>told || status=$?
[ $status -eq 1 ] && grep -q 'does not listen for QMP' told || fail "$(cat told)"
[ ! -e none ] || fail "a directory is left"
nothing_left
