#!/bin/sh
# Another user of the machine: at the control socket of a program, and as the one who starts a setuid program that links
# libstrata, whose environment then counts for nothing. $CONTROLLED_STATIC, $EMIT: tests/runtime.
. "$(dirname "$0")/../lib/golden.sh"

if [ "$(id -u)" -ne 0 ]; then
    echo 'NOT TESTED WITH ANOTHER USER: only root can become one' >&2
    exit 77
fi
pid=
at_exit='[ -z "$pid" ] || kill $pid 2>/dev/null || :'
unset STRATA_TRACE STRATA_CONTROL
other=65534

as_other() {
    setpriv --reuid=$other --regid=$other --clear-groups "$@"
}

# talk SOCKET: what the program replies to a request, "refused" where it hangs up, "denied" where there is no way to it.
cat >talk <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(60)
try:
    s.connect(sys.argv[1])
except PermissionError:
    sys.exit("denied")
try:
    s.sendall(b"events\n")
    got = s.recv(100)
except (BrokenPipeError, ConnectionResetError):
    got = b""
print(got.split(b" ")[0].decode() if got else "refused")
END
# A copy that the other user may run, too.
python=/usr/bin/python3
as_other "$python" -c '' 2>/dev/null || {
    echo "NOT TESTED WITH ANOTHER USER: that one cannot run $python" >&2
    exit 77
}
talk() {
    "$python" "$work/talk" "$1" 2>&1
}
talk_as_other() {
    as_other "$python" "$work/talk" "$1" 2>&1
}

# start COMMAND...: a program with a control socket; $pid and $socket.
start() {
    : >ready
    "$@" >ready 2>errors &
    wait_for '[ -s ready ]'
    read -r pid _ <ready
    wait_for '[ -S "$runtime/strata/$pid" ]'
    socket=$runtime/strata/$pid
}

stop() {
    kill "$pid"
    wait || :
    pid=
}

# Root's program, whose socket lies where anybody can reach it.
chmod 755 .
runtime=$work/run
mkdir -m 700 "$runtime"
XDG_RUNTIME_DIR=$runtime
export XDG_RUNTIME_DIR
cp "$CONTROLLED_STATIC" controlled
start ./controlled
[ "$(talk "$socket")" = ok ] || fail "root at its own program: $(talk "$socket")"
[ "$(talk_as_other "$socket")" = denied ] || fail 'its directory is open to others'
chmod 755 "$runtime" "$runtime/strata"
chmod 666 "$socket"
[ "$(talk_as_other "$socket")" = refused ] ||
    fail "another user at root's program: $(talk_as_other "$socket")"
[ "$(talk "$socket")" = ok ] || fail 'root is refused after another user was'
stop

# Another user's program: root may talk to it.
runtime=$work/run-other
mkdir -m 700 "$runtime"
chown $other "$runtime"
XDG_RUNTIME_DIR=$runtime
start as_other ./controlled
[ "$(talk "$socket")" = ok ] || fail "root at another user's program"
stop

# A directory that is another user's is not used for a socket of root's.
start_elsewhere() {
    : >ready
    ./controlled >ready 2>errors &
    wait_for '[ -s ready ]'
    read -r pid _ <ready
}
rm -rf "$runtime/strata"
start_elsewhere
! [ -e "$runtime/strata" ] || fail "root's socket lies in another user's directory: $(ls -la "$runtime")"
stop

# A setuid program: what the user who starts it has in the environment has no effect.
mkdir theirs
chown $other theirs
XDG_RUNTIME_DIR=$runtime

# A recording of root's, while it goes on and after its recorder was killed, as another user reads it.
cp "$strata" strata
: >ready
"$strata" record -o recorded -- ./controlled >ready 2>errors &
recorder=$!
at_exit='kill -9 $recorder $pid 2>/dev/null || :'
wait_for '[ -s ready ] && grep -q '\''"path"'\'' recorded/trace.json'
read -r pid _ <ready
chmod -R a+rX recorded
as_other env XDG_RUNTIME_DIR="$work/theirs" ./strata info recorded >out 2>told || fail "info: $(cat told)"
grep -qx 'strata: recorded: still recording, by another user; showing what is written so far' told || fail "info: $(cat told)"
as_other env XDG_RUNTIME_DIR="$work/theirs" ./strata ctl recorded status >out 2>told || fail "status: $(cat out told)"
grep -q 'is recorded$' out || fail "status: $(cat out)"
kill -9 $recorder $pid
wait || :
as_other env XDG_RUNTIME_DIR="$work/theirs" ./strata info recorded >out 2>told || [ $? -eq 1 ] || fail "info: $(cat told)"
grep -q 'is incomplete: its recorder was killed$' told || fail "killed: $(cat told)"
! as_other env XDG_RUNTIME_DIR="$work/theirs" ./strata ctl recorded status >out 2>told || fail "status: $(cat out told)"
pid=

if findmnt -n -o OPTIONS -T "$work" 2>/dev/null | grep -qw nosuid; then
    echo 'other_user: SKIPPED in part: no setuid programs here' >&2
    exit 0
fi
cp "$EMIT" emit
as_other env STRATA_TRACE="*,ctf=$work/theirs/plain" ./emit 100 1 >emitted 2>errors ||
    fail "emit: $(cat errors)"
[ -e theirs/plain/metadata ] || fail "the environment has no effect at all: $(cat errors; ls -l theirs)"
chmod 4755 emit
cat >check <<END
cd "$work/theirs"
export STRATA_TRACE='*,ctf=$work/theirs/setuid,log,logfile=$work/theirs/log'
export STRATA_CONTROL=on STRATA_TRACE_CLOCK=monotonic XDG_RUNTIME_DIR=$work/theirs
exec ../emit 100 1
END
as_other sh check >emitted 2>errors || fail "setuid emit: $(cat errors)"
[ "$(wc -l <emitted)" -eq 100 ] || fail "it ran otherwise: $(wc -l <emitted)"
! grep -v '^dropped ' errors || fail 'it said this'
[ "$(ls theirs | tr '\n' ' ')" = 'plain ' ] || fail "files of a setuid program: $(ls -l theirs)"
