#!/bin/sh
# `strata list` and `strata ctl` with real programs: what they show and change; programs that fork, become
# daemons, execute others, or want no socket; clients that misbehave. $CONTROLLED:
# tests/runtime/controlled.c.
. "$(dirname "$0")/../lib/golden.sh"

. "$here/../lib/own_program.sh"
pids=
cleanup() {
    for pid in $pids; do kill "$pid" 2>/dev/null || :; done
    wait
    discard_own_rings "clock$$"
}
at_exit=cleanup
unset STRATA_TRACE STRATA_CONTROL
# A path that is longer than the address of a socket can be.
XDG_RUNTIME_DIR=$work/$(printf '%0100d' 0)
export XDG_RUNTIME_DIR
mkdir "$XDG_RUNTIME_DIR"
# Others of this user may be running programs of the same name.
name=clock$$
ln -s "$CONTROLLED" "$name"
sockets=$XDG_RUNTIME_DIR/strata

# start OPTION...: the program; $pid and $child. It has a socket when this returns.
start() {
    : >ready
    "./$name" "$@" >ready 2>errors &
    pids="$pids $!"
    wait_for [ -s ready ]
    read -r pid child <ready
}

has_socket() {
    [ -S "$sockets/$1" ]
}

stop() {
    kill "$1"
    wait "$1" || fail "it ended with $?"
}

# says WHAT COMMAND...: it fails, and says this.
says() {
    want=$1
    shift
    status=0
    "$@" >out 2>err || status=$?
    [ $status -eq 1 ] || fail "$*: exit status $status"
    grep -qF -- "$want" err || fail "$*: $(cat err)"
}

case=list
start -t 'clock_tick,ctf=trace'
wait_for has_socket "$pid"
[ "$(stat -c %a "$sockets")" = 700 ] || fail "the directory's mode is $(stat -c %a "$sockets")"
[ "$(stat -c %a "$sockets/$pid")" = 600 ] || fail "the socket's mode is $(stat -c %a "$sockets/$pid")"
"$strata" list >out
grep -qE "^ *$pid  20[0-9-]* [0-9:]*  *1/3  *0  $name  ctf $work/trace$" out || fail "$(cat out)"
"$strata" list --format json | grep "^{\"pid\":$pid," >out
[ "$(jq -r '[.pid, .answers, .program, .events_on, .events, .mode, .dropped, .sinks[0].name, .sinks[0].path] | join(" ")' out)" = \
    "$pid true $name 1 3 discard 0 ctf $work/trace" ] || fail "$(cat out)"
since=$(jq .since_ns out)
[ $((since / 1000000000 - $(date +%s))) -le 1 ] || fail "since $since"
"$strata" list something 2>err && fail "took an argument"

case=ctl
"$strata" ctl "$pid" list >out
printf '%s\n' 'on          clock_tick  a file\x0a\x5c:1' 'off         clock_tock  a file\x0a\x5c:2' \
    'unavailable clock_never  a file\x0a\x5c:3' | diff - out >&2 || fail list
"$strata" ctl "$name" list 'clock_to*' | grep -q '^off  *clock_tock ' || fail "by name"
"$strata" ctl "$pid" on clock_tock
"$strata" ctl "$pid" off 'clock_?ick'
[ "$("$strata" ctl "$pid" list 'clock_t*' | cut -c 1-22)" = "off         clock_tick
on          clock_tock" ] || fail "on and off: $("$strata" ctl "$pid" list)"
"$strata" ctl "$pid" on clock_tick clock_tock
says "trace event 'clock_tikc' does not exist; did you mean 'clock_tick'?" "$strata" ctl "$pid" off clock_tock clock_tikc
says "trace event 'tick' does not exist; did you mean 'clock_tick'?" "$strata" ctl "$pid" off tick
"$strata" ctl "$pid" list clock_tock | grep -q '^on ' || fail "switched in spite of a mistake"
says "trace event 'clock_never' is not traceable" "$strata" ctl "$pid" on clock_never
says "no event matches 'x*'" "$strata" ctl "$pid" on 'x*'
says "no event matches 'x*'" "$strata" ctl "$pid" list 'x*'
says "trace event 'other' does not exist" "$strata" ctl "$pid" list other
says "unknown trace option 'foo'" "$strata" ctl "$pid" set clock_tick,foo=1
[ ! -s errors ] || fail "the program's own user was told: $(cat errors)"
"$strata" ctl "$pid" set nosuch 2>err
grep -q "warning: trace event 'nosuch' does not exist" err || fail "$(cat err)"
[ ! -s errors ] || fail "the program's own user was told: $(cat errors)"
says "\`events\`" "$strata" ctl "$pid" set help
"$strata" ctl "$pid" info >out
grep -q "^program  *$name$" out && grep -q "^ctf  *$work/trace (open)$" out || fail "$(cat out)"
"$strata" ctl -f json "$pid" info |
    jq -e --arg name "$name" --arg trace "$work/trace" --argjson pid "$pid" '.program == $name and .pid == $pid and
        .events > 0 and .rings > 0 and .mode == "discard" and .dropped == 0 and .since_ns > 0 and .sinks[0].name == "ctf" and .sinks[0].path == $trace' >/dev/null ||
    fail "info as JSON: $("$strata" ctl -f json "$pid" info)"
"$strata" ctl "$pid" stats >out
grep -qE '^ +[01]  discard +16777216 +[0-9]+ +[0-9]+ +0  [0-9]+ '"$name\$" out || fail "$(cat out)"
"$strata" ctl -f json "$pid" stats >out
jq -se --arg name "$name" '(map(select(.kind == "program")) | length) == 1 and .[0].dropped == 0 and .[0].unwritten == 0 and
    (map(select(.kind == "ring" and .mode == "discard" and .ring_bytes == 16777216 and .thread == $name)) | length) > 0' out >/dev/null ||
    fail "stats as JSON: $(cat out)"
"$strata" ctl -f csv "$pid" stats | awk -F, 'NR == 1 { n = NF } NF != n { exit 1 } END { exit NR < 3 }' || fail 'stats as CSV'
"$strata" ctl -f json "$pid" file | jq -e --arg trace "$work/trace" '.file == $trace and .state == "on"' >/dev/null ||
    fail "file as JSON: $("$strata" ctl -f json "$pid" file)"
says 'no process 2147483646' "$strata" ctl 2147483646 list
says 'no process 99999999999999' "$strata" ctl 99999999999999 list
says "process $$ has no control socket" "$strata" ctl $$ list
says "process $$ has no control socket: it does not link libstrata" "$strata" ctl $$ restore
says "no traced program is called 'x$name'; did you mean '$name'" "$strata" ctl "x$name" list
for words in '' "$pid" "$pid lits" "$pid on" "$pid flush now" "$pid file maybe" "$pid snapshot" "--qmp"; do
    status=0
    # shellcheck disable=SC2086 # words
    "$strata" ctl $words >out 2>err || status=$?
    [ $status -eq 2 ] || fail "ctl $words: exit status $status: $(cat err)"
done

status=0
"$strata" ctl "$pid" restore >out 2>err || status=$?
[ $status -eq 2 ] && grep -q "unknown command 'restore': this is a program that links libstrata, which accepts list, on, off, set, flush" err ||
    fail "exit status $status: $(cat err)"

# An event that is on where a condition holds shows it; one that is switched again has none.
case=condition
"$strata" ctl "$pid" on 'clock_tock: n > 3'
"$strata" ctl "$pid" list clock_tock >out
grep -q '^on  *clock_tock  .*:[0-9]*  if n > 3$' out || fail "$(cat out)"
"$strata" ctl "$pid" on clock_tock
"$strata" ctl "$pid" list clock_tock >out
! grep -q ' if ' out || fail "$(cat out)"

case=completion
if command -v bash >/dev/null; then
    offers() {
        PATH=$STRATA_BIN:$PATH bash -c '
            . "$0"
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
            _strata
            printf "%s\n" "${COMPREPLY[@]}"' "$here/../../data/completion/strata.bash" "$@" | tr '\n' ' '
    }
    offers strata ctl '' | grep -qw "$pid" || fail "$(offers strata ctl '')"
    [ "$(offers strata ctl "$pid" s)" = 'set snapshot stats status ' ] || fail "$(offers strata ctl "$pid" s)"
    [ "$(offers strata ctl "$pid" o)" = 'on off ' ] || fail "$(offers strata ctl "$pid" o)"
    [ "$(offers strata ctl "$pid" on clock_ti)" = 'clock_tick ' ] || fail "$(offers strata ctl "$pid" on clock_ti)"
fi

case=file
"$strata" ctl "$pid" flush
"$strata" report trace >out 2>err || :
[ "$("$strata" ctl "$pid" file)" = "$work/trace is on" ] || fail "$("$strata" ctl "$pid" file)"
"$strata" ctl "$pid" file off
[ "$("$strata" ctl "$pid" file)" = "$work/trace is off" ] || fail "$("$strata" ctl "$pid" file)"
"$strata" ctl "$pid" file set other # of where we are, not the program
"$strata" ctl "$pid" file on
wait_for [ -s other/metadata ]

case=snapshot
"$strata" ctl "$pid" snapshot 'snap-%n' >out
[ "$(cat out)" = "$work/snap-1" ] || fail "$(cat out)"
[ -s snap-1/metadata ] || fail "$(ls snap-1)"
says 'the name already exists' "$strata" ctl "$pid" snapshot snap-1
says 'No such file or directory' "$strata" ctl "$pid" snapshot no/such/folder

case=two-of-a-name
first=$pid
start
wait_for has_socket "$pid"
says "2 programs are called '$name'" "$strata" ctl "$name" list
stop "$pid"
has_socket "$pid" && fail "the socket is there after the end"
pid=$first

case=misbehaving
python3 "$here/../runtime/hostile_clients.py" "$sockets/$pid" || fail "hostile_clients.py"
"$strata" ctl "$pid" list >out

case=stopped
kill -STOP "$pid"
wait_for '! grep -h "^State:" /proc/"$pid"/task/*/status | grep -qv "T (stopped)"'
"$strata" list >out
kill -CONT "$pid"
grep -qE "^ *$pid  -  *-  *-  \(does not answer\)$" out || fail "$(cat out)"

case=killed
kill -KILL "$pid"
wait "$pid" 2>/dev/null || :
has_socket "$pid" || fail "the socket went by itself?"
"$strata" list >out
grep -q "^ *$pid " out && fail "$(cat out)"
has_socket "$pid" && fail "the socket of a dead process is not removed"

case=off
STRATA_CONTROL=off start
[ "$(ls /proc/"$pid"/task | wc -l)" -le 4 ] || fail "threads: $(ls /proc/"$pid"/task)"
grep -qx strata-control /proc/"$pid"/task/*/comm && fail "there is a thread for nothing"
has_socket "$pid" && fail "there is a socket"
stop "$pid"
start -t control=off
wait_for "! has_socket $pid"
stop "$pid"
start -t control=off -t control=on
wait_for has_socket "$pid"
"$strata" ctl "$pid" set control=off || :
wait_for "! has_socket $pid"
stop "$pid"

case=since
# The start of tracing is known also where the environment switches the socket on.
STRATA_TRACE=control=on start
wait_for has_socket "$pid"
python3 - "$sockets" "$pid" <<'END' || fail "it does not say when tracing began"
import os, socket, sys
folder = os.open(sys.argv[1], os.O_RDONLY)
s = socket.socket(socket.AF_UNIX)
s.connect(f"/proc/self/fd/{folder}/{sys.argv[2]}")
s.sendall(b"hello\n")
reply = s.makefile("rb")
lines = reply.read(int(reply.readline().split()[1])).decode().splitlines()
since = [line for line in lines if line.startswith("since ")]
assert len(since) == 1 and since[0] != "since 0", lines
END
stop "$pid"

case=fork
# Forked while its parent's pass takes long, a child leaves alone, and so leaks, what it may not touch.
no_leaks=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
ASAN_OPTIONS=$no_leaks start -f
wait_for has_socket "$pid"
wait_for has_socket "$child"
"$strata" ctl "$child" on clock_tick
"$strata" ctl "$child" list clock_tick | grep -q '^on' || fail "the child's is not on"
"$strata" ctl "$pid" list clock_tick | grep -q '^off' || fail "the parent's is on"
stop "$pid"
has_socket "$child" && fail "the child's socket is left"
has_socket "$pid" && fail "the parent's socket is left"

# Its descriptors are closed when it has its socket; or all of the time in which that is made.
for case in daemon daemon-closing; do
    again=
    [ $case = daemon ] || again=-c
    rm -f ready
    # shellcheck disable=SC2086 # a word or none
    "./$name" -d "$work/ready" $again
    wait_for [ -s ready ]
    pid=$(cat ready)
    pids="$pids $pid"
    wait_for has_socket "$pid" # of before it closed all
    "$strata" ctl "$pid" on clock_tick
    "$strata" ctl "$pid" list clock_tick | grep -q '^on' || fail "not on"
    kill "$pid"
    wait_for "! has_socket $pid"
done

case=remade
# lists_remade: a socket that is made anew is waited for. That is five seconds at most: on a busy machine again.
lists_remade() {
    : >ready
    python3 "$here/../runtime/lost_socket.py" "$sockets" >ready &
    pid=$!
    pids="$pids $pid"
    wait_for [ -s ready ]
    "$strata" list >out
    kill "$pid"
    wait "$pid" || :
    grep -qE "^ *$pid .* remade" out
}
for tries in 4 3 2 1 0; do
    ! lists_remade || break
    [ $tries -gt 0 ] || fail "a socket that is made anew is not waited for: $(cat out)"
done

case=static
# A sanitized program cannot be linked statically.
if [ "${CONTROLLED_STATIC:-}" ]; then
    : >ready
    "$CONTROLLED_STATIC" -f >ready 2>errors &
    pids="$pids $!"
    wait_for [ -s ready ]
    read -r pid child <ready
    wait_for has_socket "$pid"
    wait_for has_socket "$child"
    "$strata" ctl "$child" on clock_tick
    "$strata" ctl "$child" list clock_tick | grep -q '^on' || fail "the child's is not on"
    "$strata" ctl "$pid" snapshot static >out
    [ -s static/metadata ] || fail "no snapshot"
    stop "$pid"
    has_socket "$child" && fail "the child's socket is left"
fi

case=exec
# Nothing of ours is open in what a program executes.
start -x 'ls -l /proc/self/fd >fds'
grep -E 'socket:|strata' fds >leaked && fail "leaked: $(cat leaked)"
stop "$pid"

case=no-folder
# Nowhere to be is not the program's trouble. (The other two places may be there.)
mkdir foreign
: >foreign/strata
XDG_RUNTIME_DIR=$work/foreign start
[ ! -s errors ] || fail "$(cat errors)"
stop "$pid"
mkdir -p open/strata
chmod 755 open/strata
XDG_RUNTIME_DIR=$work/open start
[ -z "$(ls open/strata)" ] || fail "a directory that others may read is used"
stop "$pid"

case=another-user
# As root only: nobody is refused, by the directory and by the socket itself.
if [ "$(id -u)" -eq 0 ]; then
    start
    wait_for has_socket "$pid"
    python3 - "$sockets" "$pid" <<'END' || fail "another user was served"
import os, socket, sys
folder = os.open(sys.argv[1], os.O_RDONLY)
os.chmod(sys.argv[1], 0o711)
os.chmod(f"{sys.argv[1]}/{sys.argv[2]}", 0o666)
path = f"/proc/self/fd/{folder}/{sys.argv[2]}"
s = socket.socket(socket.AF_UNIX)
s.connect(path)
s.sendall(b"hello\n")
assert s.recv(100).startswith(b"ok ")
os.seteuid(65534)
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(path)
    s.sendall(b"hello\n")
    answer = s.recv(100)
except OSError:
    answer = b""
assert answer == b"", answer
END
    chmod 700 "$sockets"
    stop "$pid"
fi
