#!/bin/sh
# strata record --guest=ENDPOINT beside others: two guests and the host's kernel, a program, live output.
# The guests are this machine's own kernel, by two agents. $EMIT: tests/runtime.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
pids=
ended() {
    # shellcheck disable=SC2086 # numbers
    [ -z "$pids" ] || kill $pids 2>/dev/null || true
    rm -rf "$work"
}
trap ended EXIT
cd "$work"
unset STRATA_TRACE
strata=$STRATA_BIN/strata

fail() {
    echo "record_guests: $case: $*" >&2
    exit 1
}
. "$here/../lib/wait_for.sh"
. "$here/../lib/reserve_port.sh"

# usage TEXT OPTION...: is a usage error that says TEXT.
usage() {
    text=$1
    shift
    status=0
    "$strata" record "$@" >out 2>told || status=$?
    [ $status -eq 2 ] || fail "record $*: exit status $status: $(cat told)"
    grep -qF -- "$text" told || fail "record $*: $(cat told)"
    [ ! -e x ] || fail "record $*: something is left"
}
case=usage
usage "--guest='tcp:tcp_probe' is no endpoint" -o x --guest=tcp:tcp_probe
usage "--guest='vsock:*,tcp:tcp_*' is no endpoint" -o x --guest='vsock:*,tcp:tcp_*'
usage 'require --key=FILE' -o x --guest=tcp:localhost:1
usage 'require --key=FILE' -o x --guest=vsock:3:4727
usage 'require --key=FILE' -o x --guest=vsock:3
usage '--guest requires an endpoint' -o x --guest
usage 'require --key=FILE' -o x --guest a=tcp:localhost:1
usage 'two guests are called a' -o x --guest a=/b --guest a=/c
usage '--live prints the events of guests' -o x --live --guest a=/b -- true
usage '--live prints the events of guests' -o x --live --xen
usage "'true' is not QEMU" -o x --guest -- true

if [ "$(id -u)" -ne 0 ] || ! [ -w /sys/kernel/tracing/instances ] || ! [ -x "$STRATA_BIN/strata-agent" ]; then
    echo "record_guests: SKIPPED in part: only root may trace this machine's kernel, where tracefs is mounted" >&2
    exit 77
fi
case=agents
for name in a b; do
    "$STRATA_BIN/strata-agent" --listen "unix:$work/$name" >agent-$name 2>&1 &
    pids="$pids $!"
    wait_for "[ -S $name ]"
done

# Number of execs of the file NAME that SOURCE of DIR has.
execs() {
    "$strata" report "$1" --source="$2" -e sched_process_exec 2>err | grep -c "filename=.*/$3 " || true
}
# traces NAME: the condition that this guest is traced.
traces() {
    echo "grep -qs '$1: traces' told"
}

# An agent that exits is reported once, also where its address then refuses connections.
case=exits
(umask 077 && head -c 32 /dev/urandom >key)
reserve_port
pids="$pids $reserved"
# At the end of its command it has 30 s to say goodbye; after SIGTERM 0.4 s, which a busy machine takes.
mkfifo go
"$STRATA_BIN/strata-agent" --listen "tcp:127.0.0.1:$port" --key key --run sh -c 'read -r line <go' >agent-t 2>&1 &
agent=$!
pids="$pids $agent"
"$strata" record -o exits --guest=t="tcp:127.0.0.1:$port" --key key -e sched:sched_process_exec >out 2>told &
pid=$!
wait_for "$(traces t) || ! kill -0 $pid 2>/dev/null"
echo >go
wait $agent || fail "the agent: $(cat agent-t)"
wait_for "grep -qs 't: the agent has exited' told || ! kill -0 $pid 2>/dev/null"
sleep 0.5 # the recorder tries again
kill -TERM $pid
wait $pid || fail "exit status $?: $(cat told)"
[ "$(sed -n '/t: traces/,$p' told | grep -c '^strata: t: ')" -eq 2 ] || fail "$(cat told)"

# Two guests and the host: what happened once all three see.
case=two
ln -s /bin/true seen-by-all
"$strata" record -o two --guest=a="$work/a" --guest b=unix:b --event=host:sched:sched_process_exec \
    -e sched:sched_process_exec >out 2>told &
pid=$!
wait_for "{ $(traces a) && $(traces b) && grep -qs '\"name\": \"host\"' two/trace.json; } || ! kill -0 $pid 2>/dev/null"
./seen-by-all
kill -TERM $pid
wait $pid || fail "exit status $?: $(cat told)"
for source in a b host; do
    [ "$(execs two $source seen-by-all)" -eq 1 ] || fail "$source: $("$strata" report two)"
    grep -q "$source" two/trace.json || fail "$(cat two/trace.json)"
done
grep -q 'a: .* events written to two/guest-a' out || fail "$(cat out told)"
grep -q '^  host  *[1-9][0-9]* events, 0 lost' told || fail "$(cat told)"

# A program: the recording ends with it, and what it is traced by is apart from what the guest is.
case=program
"$strata" record -o program --guest a=unix:a --event=guest:sched:sched_process_exec -e 'c*,s*,emit*,e*' -- \
    sh -c "until $(traces a); do sleep 0.1; done; ./seen-by-all; exec '$EMIT' 600 1" >out 2>told ||
    fail "exit status $?: $(cat told)"
[ "$(execs program a seen-by-all)" -eq 1 ] || fail "$("$strata" report program --source=a | head)"
"$strata" info program | grep -q 'layer  *vmm' || fail "$("$strata" info program)"

# An agent that refuses what it was asked for: that is reported at once, while the program still runs, and once more at the end.
case=refused
status=0
"$strata" record -o refused --guest a=unix:a --event=guest:sched:sched_process_exce -- \
    sh -c "until grep -qs 'the kernel has no event' told && '$strata' ctl refused status >status 2>&1 && grep -q '^a .*has ended' status; do sleep 0.1; done" \
    >out 2>told || status=$?
[ $status -eq 1 ] || fail "exit status $status: $(cat told)"
sed -n 1p told | grep -q "^strata: a: the agent: the kernel has no event 'sched:sched_process_exce'" || fail "$(cat told)"
[ "$(grep -c '^strata: a: ' told)" -eq 2 ] || fail "$(cat told)"
grep -A 1 '^a ' status | grep -q "^  the agent: the kernel has no event 'sched:sched_process_exce'" || fail "$(cat status)"

# Live: of the host and a guest, in one order, by layers.
case=live
"$strata" record --live --guest a=unix:a --event=host:sched:sched_process_exec -e sched:sched_process_exec >shown 2>told &
pid=$!
wait_for "$(traces a) || ! kill -0 $pid 2>/dev/null"
# The host says nothing when it is traced: something is run until it is shown.
ln -s /bin/true seen-by-host
wait_for "{ ./seen-by-host; grep -q ' host .*filename=.*/seen-by-host ' shown; } || ! kill -0 $pid 2>/dev/null"
./seen-by-all
wait_for "[ \"\$(grep -c 'filename=.*/seen-by-all ' shown)\" -eq 2 ] || ! kill -0 $pid 2>/dev/null"
kill -INT $pid
wait $pid || fail "exit status $?: $(cat told)"
for layer in guest host; do
    [ "$(grep -c " $layer .*filename=.*/seen-by-all " shown)" -eq 1 ] || fail "$layer: $(cat shown)"
done

# On a terminal, how far each recorder is: until the end, when the line is erased.
case=progress
python3 - "$strata" <<'END' || fail "no progress is shown"
import os, pty, re, signal, subprocess, sys

try:
    ours, theirs = pty.openpty()
except OSError as error:
    print("the progress line is not tested, there are no terminals:", error)
    sys.exit(0)
record = subprocess.Popen([sys.argv[1], "record", "-o", "shown-progress", "--guest", "a=unix:a", "--event=host:sched:*",
                           "-e", "sched:*"], stderr=theirs, stdout=subprocess.DEVNULL)
os.close(theirs)
got = b""
# Until its agent has sent something: stopped before, the recorder has nothing of it to report.
while not re.search(rb"  a: [1-9][^\r]*B/s", got):
    got += os.read(ours, 4096)
assert b"the host's kernel: " in got, got
record.send_signal(signal.SIGINT)
try:
    while piece := os.read(ours, 4096):
        got += piece
except OSError:
    pass # that is how a terminal's end is told
assert record.wait() == 0, got
assert b"\x1b[K" in got[got.rfind(b"B/s"):], got
END
