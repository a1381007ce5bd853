#!/bin/sh
# `strata ctl --qmp` with a real QEMU, without a machine in it: what it shows is what QEMU has, what it
# changes QEMU traces, and what QEMU complains of is told as QEMU says it.
. "$(dirname "$0")/../lib/golden.sh"

command -v qemu-system-x86_64 >/dev/null || {
    echo "qemu-system-x86_64 is not installed"
    exit 77
}
qemu=
cleanup() {
    [ -z "$qemu" ] || kill "$qemu" 2>/dev/null || :
}
at_exit=cleanup

says() {
    want=$1
    shift
    status=0
    "$strata" ctl --qmp socket "$@" >out 2>err || status=$?
    [ $status -eq 1 ] || fail "$*: exit status $status"
    grep -qF -- "$want" err || fail "$*: $(cat err)"
}
ctl() {
    "$strata" ctl --qmp socket "$@" || fail "$*"
}

case=start
qemu-system-x86_64 -S -display none -machine none -name 'a machine' -D log \
    -qmp unix:socket,server=on,wait=off 2>errors &
qemu=$!
wait_for '"$strata" ctl --qmp socket info >out 2>&1 || ! kill -0 $qemu 2>/dev/null'
kill -0 $qemu || fail "QEMU: $(cat errors)"

case=list
ctl list >all
[ "$(wc -l <all)" -gt 1000 ] || fail "$(wc -l <all) events"
grep -qvE '^(on|off|unavailable) +[a-z0-9A-Z_]+$' all && fail "$(grep -vE '^(on|off|unavailable) +[a-z0-9A-Z_]+$' all | head -3)"
ctl list 'qmp_enter_query_v*' >some
grep ' qmp_enter_query_v' all | diff - some >&2 || fail "a pattern"
ctl list qmp_enter_query_version >one
[ "$(cat one)" = 'off         qmp_enter_query_version' ] || fail "$(cat one)"
says 'QEMU says: unknown event "nosuch"' list nosuch
says "no event matches 'nosuch*'" list 'nosuch*'

# By its name, as strata list shows it.
case=name
"$strata" ctl 'a machine' list qmp_enter_query_version >some 2>err || fail "$(cat err)"
diff one some >&2 || fail "by name: $(cat some)"

case=switch
ctl on qmp_enter_query_name 'qmp_exit_query_n*'
ctl list 'qmp_*_query_name' >some
[ "$(grep -c '^on ' some)" -eq 2 ] || fail "$(cat some)"
ctl info >out
grep -qx 'name  *a machine' out && grep -qx 'status  *prelaunch' out && grep -qx 'version  *QEMU [0-9.]*' out ||
    fail "info: $(cat out)"
ctl -f json info | jq -e '.name == "a machine" and .status == "prelaunch" and (.version | test("^QEMU [0-9.]+$"))' >/dev/null ||
    fail "info as JSON: $(ctl -f json info)"
[ "$(ctl -f csv info | tr -d '\r' | sed -n '1p;2s/^QEMU [0-9.]*//p')" = "version,name,status
,a machine,prelaunch" ] || fail "info as CSV: $(ctl -f csv info)"
grep -q 'qmp_enter_query_name' log && grep -q 'qmp_exit_query_name .*a machine' log || fail "the log: $(cat log)"
ctl off 'qmp_*_query_n*'
ctl list 'qmp_*_query_name' | grep -q '^on' && fail "still on"
says 'QEMU says: unknown event "nosuch"' on nosuch
says "no event matches 'nosuch*'" off 'nosuch*'

# A pattern skips events that QEMU does not have. A name without an event is an error.
grep -q '^unavailable ' all || fail "every event is available: this tests nothing"
ctl on '*'
ctl list >some
! grep -q '^off ' some || fail "off: $(grep '^off ' some | head -n 3)"
[ "$(grep -c '^unavailable ' some)" -eq "$(grep -c '^unavailable ' all)" ] || fail "unavailable"
ctl off '*'
ctl list | grep -q '^on ' && fail "still on"
name=$(sed -n 's/^unavailable *//p' all | head -n 1)
says "QEMU says: event \"$name\" is disabled" on "$name"

case=monitor
ctl monitor info trace-events qmp_enter_query_name >out
[ "$(cat out)" = 'qmp_enter_query_name : state 0' ] || fail "$(cat out)"
ctl monitor logfile "$work/log2"
ctl on qmp_enter_query_name
ctl info >out
grep -q 'qmp_enter_query_name' log2 || fail "logfile: $(cat log2)"
says "QEMU says: unknown command: 'nosuch'" monitor nosuch command

case=trace-file
# What QEMU says depends on whether it has the backend simple; Debian's has not.
if "$strata" ctl --qmp socket file >out 2>err; then
    grep -qE '^Trace file ".*" (on|off)\.' out || fail "$(cat out)"
    ctl file set "$work/trace"
    ctl file on
    ctl on 'qmp_*'
    ctl flush
    [ -s trace ] || fail "no trace file"
else
    for words in file flush 'file on' 'file set x'; do
        # shellcheck disable=SC2086 # words
        says "QEMU says: unknown command: 'trace-file'" $words
    done
fi

case=usage
for words in lits on 'flush now' 'file maybe' monitor snapshot 'set x'; do
    status=0
    # shellcheck disable=SC2086 # words
    "$strata" ctl --qmp socket $words >out 2>err || status=$?
    [ $status -eq 2 ] || fail "$words: exit status $status: $(cat err)"
done

case=end
kill "$qemu"
wait "$qemu" || :
qemu=
status=0
"$strata" ctl --qmp socket list 2>err || status=$?
[ $status -eq 1 ] && grep -qE '^strata: socket: (No such file|no process listens)' err || fail "$(cat err)"
