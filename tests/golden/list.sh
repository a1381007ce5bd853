#!/bin/sh
# strata list on recordings that are under way, and on QEMUs. $VICTIM: tests/runtime.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /tmp/strata-list.XXXXXX)
pids=
ended() {
    for p in $pids; do
        kill "$p" 2>/dev/null || true
    done
    wait
    rm -rf "$work"
}
trap ended EXIT
cd "$work"
unset STRATA_TRACE
strata=$STRATA_BIN/strata
XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
mkdir -m 700 run

fail() {
    echo "list: $case: $*" >&2
    "$strata" list >&2 || :
    exit 1
}
. "$here/../lib/wait_for.sh"
. "$here/../lib/mount_namespace.sh"
skipped=
# lists PATTERN: a row of the text is that.
lists() {
    "$strata" list >listed || fail "exit status $?"
    grep -qE "^$1\$" listed || fail "there is no '$1'"
}
# object PID KIND FILTER: the object of that process and kind is so.
object() {
    "$strata" list --format json | jq -se "any(.[]; .pid == $1 and .kind == \"$2\" and ($3))" >/dev/null ||
        fail "not so: $2 $1: $3: $("$strata" list --format json)"
}
# completes WORD COMMAND...: WORD is a completion after COMMAND.
completes() {
    word=$1
    shift
    PATH=$STRATA_BIN:$PATH bash -c '
        . "$0"
        COMP_WORDS=("$@" "") COMP_CWORD=$#
        _strata
        printf "%s\n" "${COMPREPLY[@]}"
    ' "$here/../../data/completion/strata.bash" "$@" | grep -qxF -- "$word" || fail "'$*' does not offer $word"
}
date='20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}'

case=nothing
[ -z "$("$strata" list --format json | jq "select(.kind == \"recording\" and (.directory | startswith(\"$work/\")))")" ] ||
    fail "there is something"

case=empty
mount_proc='--pid --fork --mount-proc --propagation unchanged'
if ! has_mount_namespace /tmp; then
    skipped="$skipped; a machine with nothing to list: $no_namespace"
elif ! in_mount_namespace unshare $mount_proc true 2>told; then
    skipped="$skipped; a machine with nothing to list: $(cat told)"
else
    # The checkout may lie below the /tmp that is hidden.
    in_mount_namespace unshare $mount_proc sh -c "cd '$STRATA_BIN' && mount -t tmpfs none /tmp && mkdir /tmp/run || exit 1
        XDG_RUNTIME_DIR=/tmp/run ./strata list" >listed 2>told || fail "$(cat told)"
    [ ! -s listed ] || fail "$(cat listed)"
    grep -q '^strata: this user has no traced programs, no recordings and no QEMUs$' told || fail "$(cat told)"
fi

case=program
"$strata" record -o program -- "$VICTIM" run counters 1 0 500 2>told &
recorder=$!
pids="$pids $recorder"
wait_for '[ -s program/program/stream-0 ] && grep -qs "\"pid\": " program/trace.json'
victim=$(jq '.sources[0].vmm.pid' program/trace.json)
lists " *$recorder  $date  $work/program  [a-z]+ \(process $victim\)"
object $recorder recording ".directory == \"$work/program\" and .sources[0].pid == $victim and .since_ns > 1e18"
"$strata" list --format csv | tr -d '\r' >listed
head -n 1 listed | grep -q '^pid,kind,' || fail "$(cat listed)"
grep -qE "^$recorder,recording,.*,$work/program,.*,[a-z]+ \(process $victim\)," listed || fail "$(cat listed)"
completes "$work/program" strata ctl
completes "$work/program" strata ctl -f json
completes "$victim" strata ctl

"$strata" info program >shown 2>told.info || fail "$(cat told.info)"
[ "$(cat told.info)" = "strata: program: still recording (process $recorder); showing what is written so far" ] ||
    fail "$(cat told.info)"

# Nobody answers; it is under way.
case=guest
"$strata" collect -o guest web=fifo:"$work/port" -e 'sched:*' 2>told.guest &
collector=$!
pids="$pids $collector"
wait_for '"$strata" list | grep -q " $work/guest"'
object $collector recording ".directory == \"$work/guest\""

# A recording whose recorder was killed is not listed.
case=killed
kill -9 $collector
wait $collector 2>/dev/null || true
[ -z "$("$strata" list | grep " $work/guest")" ] || fail "it is there still"

case=ended
kill -TERM $recorder
wait $recorder || true
[ -z "$("$strata" list | grep " $work/program")" ] || fail "it is there still"

# A recording of many machines has a line that can be read.
case="many sources"
mkdir -p many run/strata-record-aaaaaa
seq 100 | jq -n '{format: "strata-trace", version: 1, sources: [inputs | {name: "guest-web\(.)", kind: "ftrace", layer: "guest",
    path: "guest-web\(.)", clock: {name: "local"}}]}' >many/trace.json
printf '%s\n%s' $$ "$work/many" >run/strata-record-aaaaaa/recording
flock run/strata-record-aaaaaa "$strata" list >out
grep -q "$work/many.* guest guest-web1, guest guest-web2, .*guest guest-web5 and 95 more" out || fail "$(cut -c1-300 out)"
rm -r run/strata-record-aaaaaa

say_skipped() {
    [ -z "$skipped" ] || {
        echo "list: SKIPPED in part: ${skipped#; }" >&2
        exit 77
    }
}
command -v qemu-system-x86_64 >/dev/null || {
    skipped="$skipped; qemu-system-x86_64 is not installed"
    say_skipped
}
case=qemu
none='qemu-system-x86_64 -machine none -nodefaults -display none'
"$strata" record -o vm -- $none -name 'a vm' 2>told.vm &
recorder=$!
$none -name guest=free -qmp unix:free.socket,server=on,wait=off 2>/dev/null &
free=$!
$none 2>/dev/null &
closed=$!
pids="$pids $recorder $free $closed"
# A socket exists a moment before its process listens.
wait_for '"$strata" ctl ./free.socket list qmp_enter_query_version >/dev/null 2>&1 && grep -qs mon_iothread vm/trace.json'
wait_for 'readlink /proc/$closed/exe | grep -q qemu'
qemu=$(jq '.sources[0].vmm.pid' vm/trace.json)
lists " *$recorder  $date  $work/vm  QEMU [0-9.]+[^ ]* \(process $qemu\)"
lists " *$qemu  $date  a vm  is recorded into $work/vm"
lists " *$free  $date  free  QMP on /proc/$free/cwd/free.socket"
lists " *$closed  $date  qemu-system-x86_64  unreachable: started without -qmp unix:PATH,server=on,wait=off"
object $qemu qemu ".name == \"a vm\" and .directory == \"$work/vm\" and (.program | endswith(\"/qemu-system-x86_64\"))"
object $free qemu ".qmp == [\"/proc/$free/cwd/free.socket\"] and (.directory | not)"
object $closed qemu ".qmp == [] and (.name | not) and (now - .since_ns / 1e9 | . > -1 and . < 600)"
completes "$free" strata record --attach
"$strata" ctl "$free" list 'qmp_enter_query_version' >/dev/null || fail "what is listed cannot be controlled"
kill -TERM $recorder
wait $recorder || fail "exit status $?"
say_skipped
