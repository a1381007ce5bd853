#!/bin/sh
# strata record -- COMMAND, where that is not QEMU but starts it: after env, nice and the like, and in scripts.
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/record_qemu.sh"
# script NAME TEXT
script() {
    printf '#!/bin/sh\n%s\n' "$2" >"$1"
    chmod +x "$1"
}
# seen FOLDER STATUS [OPTION...] -- COMMAND: records until QEMU is ready, and its process is known, and ends it.
seen() {
    into=$1 want=$2
    shift 2
    "$strata" record -o "$into" -e runstate_set,$answers "$@" >out 2>err &
    recorder=$!
    wait_ready "$into"
    pid=$(jq '.sources[0].vmm.pid' "$into/trace.json")
    case $(readlink "/proc/$pid/exe") in
    */qemu-system-x86_64) ;;
    *) fail "process $pid is not QEMU" ;;
    esac
    kill -TERM $recorder
    status=0
    wait $recorder || status=$?
    [ $status -eq "$want" ] || fail "exit status $status, not $want"
    # Whoever its parent is may be slow.
    state=$(sed -n 's/^State:.\(.\).*/\1/p' "/proc/$pid/status" 2>/dev/null) || :
    case $state in
    '' | Z | X) ;;
    *) fail "QEMU runs still" ;;
    esac
    [ -z "$(ls run)" ] || fail "left behind: $(ls -R run)"
    "$strata" report -e runstate_set "$into" >report || fail "report"
    grep -q 'runstate_set' report || fail "report: $(cat report)"
}
none='-machine none -nodefaults -display none'

# What it runs in turn is known by its words, also what stays in front of QEMU as a process of its own.
case='behind other programs'
seen behind 0 -- env -u HOME A=b nice -n 1 taskset -c 0 "$qemu" $none
jq -e '.sources[0].vmm.command[0] == "env"' behind/trace.json >/dev/null || fail "$(cat behind/trace.json)"
case='a process in front'
seen front 0 -- timeout 240 "$qemu" $none

# Ctrl-C in a terminal does not reach a QEMU in another session: the recorder stops it.
case='out of the terminal'
cat >terminal.py <<'END'
import os, pty, sys, time

pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
while not os.path.exists("session/vmm/trace.log") or sys.argv[1] not in open("session/vmm/trace.log").read():
    time.sleep(0.02)
os.write(terminal, b"\x03")
try:
    while os.read(terminal, 4096):
        pass
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
timeout 240 python3 terminal.py $answers "$strata" record -o session -e $answers -- setsid "$qemu" $none ||
    fail "exit status $?"
"$strata" info session | grep -q host-signal || fail "info: $("$strata" info session)"

case='a script that says nothing'
script start.sh "exec qemu-system-x86_64 $none \"\$@\""
record 1 -o nope -- ./start.sh
says './start.sh: is a script that starts QEMU, '
says 'add --qemu=qemu-system-x86_64 if'
[ ! -e nope ] || fail "a directory is left"

case='another user'
if command -v sudo >/dev/null; then
    record 1 -o nope -- sudo qemu-system-x86_64 $none
    says 'run strata as that user: sudo'
    [ ! -e nope ] || fail "a directory is left"
fi

case='a program that is not known, in front of QEMU'
record 1 -o nope -- flock lock "$qemu" $none
says "flock: may start ${qemu##*/}, "
says "add --qemu=$qemu if"
[ ! -e nope ] || fail "a directory is left"
seen locked 0 --qemu "$qemu" -- flock lock "$qemu" $none
record 1 -o nope -- docker run image qemu-system-x86_64 $none
says 'run: strata record --attach PID'
record 1 -o nope -- su nobody -c "exec qemu-system-x86_64 $none"
says 'run strata as that user: su'

case='a program of QEMU without a machine'
script qemu-img 'exit 0'
record 1 -o nope -- ./qemu-img info
says './qemu-img: its events are recorded only if it is built with libstrata'

case='a script that becomes QEMU'
seen becomes 0 --qemu qemu-system-x86_64 -- ./start.sh -name 'a b'
jq -e '.sources[0].vmm.command == ["./start.sh", "-name", "a b"]' becomes/trace.json >/dev/null ||
    fail "$(cat becomes/trace.json)"

# It continues after the end of QEMU, and its exit status is the one that counts.
case='a script that runs QEMU'
script around.sh "qemu-system-x86_64 $none \"\$@\"
echo \$? >after
exit 7"
seen around 7 --qemu qemu-system-x86_64 -- ./around.sh
[ "$(cat after)" = 0 ] || fail "QEMU's exit status: $(cat after)"
says './around.sh ended with status 7'

case='a script that leaves QEMU in the background'
script leaves.sh "(sleep 1; exec qemu-system-x86_64 $none \"\$@\") </dev/null >/dev/null 2>&1 &"
seen leaves 0 --qemu qemu-system-x86_64 -- ./leaves.sh
script daemon.sh "qemu-system-x86_64 $none -daemonize \"\$@\""
seen daemon 0 --qemu qemu-system-x86_64 -- ./daemon.sh

case='a script that leaves QEMU in the background, with nothing open'
cat >closes.py <<END
#!/usr/bin/env python3
import os, sys, time

if os.fork() > 0:
    sys.exit(0)
os.setsid()
os.closerange(3, 4096)
time.sleep(1)
os.execvp("qemu-system-x86_64", ["qemu-system-x86_64"] + "$none".split() + sys.argv[1:])
END
chmod +x closes.py
seen closes 0 --qemu qemu-system-x86_64 -- ./closes.py

case='a script that hands nothing on'
script alone.sh "echo '{\"execute\":\"qmp_capabilities\"}{\"execute\":\"quit\"}' |
    qemu-system-x86_64 $none -qmp stdio
wc -l <$work/seconds >$work/alone.ended"
# Seconds in which this machine runs: it may stand still for longer than a minute.
: >seconds
(while [ ! -e alone.recorded ]; do
    echo >>seconds
    sleep 1
done) &
ticker=$!
record 1 -o alone --qemu qemu-system-x86_64 -- ./alone.sh
n_seconds=$(($(wc -l <seconds) - $(cat alone.ended)))
: >alone.recorded
wait $ticker
# Sixty of them pass if it is.
[ $n_seconds -lt 55 ] || fail "QEMU was waited for when nothing was left that could start it"
says './alone.sh started no QEMU with the options that recording needs'
"$strata" info alone 2>&1 | grep -q 'started no QEMU with the options' || fail "info: $("$strata" info alone 2>&1)"

case='a script with a log of its own'
script own.sh "exec qemu-system-x86_64 $none \"\$@\" -D own.log"
"$strata" record -o own -e runstate_set,$answers --qemu qemu-system-x86_64 -- ./own.sh >out 2>err &
recorder=$!
wait_ready own own.log
kill -TERM $recorder
wait $recorder || fail "exit status $?"
says "$work/own.log, and not recorded: ./own.sh has an option -D or -trace of its own"

case='what cannot be'
record 127 -o nope -- nice no-such-qemu
record 1 -o nope --qemu qemu-system-nope -- ./start.sh
says 'qemu-system-nope: no such program in $PATH'
record 2 -o nope --qemu qemu-system-x86_64 --xen
says "--qemu requires '-- COMMAND'"
record 1 -o nope -- true
says "'true' reported no events"
[ ! -e nope ] || fail "a directory is left"
