#!/bin/sh
# report --follow shows each event of a recording under way once, until the recording ends. $MARKS: tests/runtime/marks.c.
. "$(dirname "$0")/../lib/golden.sh"

XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
mkdir -m 700 run
pids=
at_exit='rm -f count; [ -z "$pids" ] || kill -KILL $pids 2>/dev/null || :'

# record_marks OPTION...: until there is no file `count`.
record_marks() {
    rm -rf trace
    head -c 8 /dev/zero >count
    "$strata" record -o trace "$@" -- "$MARKS" "$work/count" 200 >out 2>err &
    recorder=$!
    pids="$pids $recorder"
    wait_for '[ -e trace/program/stream-0 ] && [ -S trace/control.sock ]' || fail "does not record: $(cat err)"
}
# follow OPTION...: into the file `shown`.
follow() {
    : >shown
    "$strata" report --follow "$@" trace >shown 2>told &
    follower=$!
    pids="$pids $follower"
}
has_lines() { wait_for "[ \"\$(wc -l <shown)\" -ge $1 ]" || fail "$(wc -l <shown) lines; $(cat told)"; }
# released: the first event is not in the trace any more.
released() { ! "$strata" report --limit 5 trace 2>/dev/null | grep -q 'number 1$'; }
# each_once: the marks in `shown` are all from the first one on.
each_once() {
    sed -n 's/.* mark: number //p' shown >numbers
    awk 'NR > 1 && $1 != before + 1 { print before " is followed by " $1; exit 1 } { before = $1 }' numbers ||
        fail "not each mark once"
}
ends() {
    wait "$follower" || fail "status $?: $(cat told)"
    each_once
}
# fails TEXT: it ends with status 1 and TEXT.
fails() {
    status=0
    wait "$follower" || status=$?
    [ $status = 1 ] || fail "status $status: $(cat told)"
    grep -q "$1" told || fail "says not '$1': $(cat told)"
}

# What is followed is shown where that is read before it is released; on a loaded machine a second may be too short for it.
for flight in "" --flight=5s; do
    case="until the recording ends $flight"
    record_marks $flight
    wait_for '"$strata" report --limit 5 trace 2>/dev/null | grep -q "number 5$"' || fail "no marks"
    follow --last 3
    has_lines 3000
    [ -z "$flight" ] || wait_for released || fail "nothing is released"
    rm count
    wait "$recorder" || fail "the recording: $(cat err)"
    ends
    last=$("$strata" report --last 1 trace 2>/dev/null | sed 's/.* //')
    [ "$(tail -n 1 numbers)" = "$last" ] || fail "the last mark is $last, not $(tail -n 1 numbers)"
    "$strata" report --follow --last 2 trace >ended 2>told || fail "of one that has ended: $(cat told)"
    [ "$(sed 's/.* //' ended | tr '\n' ' ')" = "$((last - 1)) $last " ] || fail "of one that has ended: $(cat ended)"
done

case="until a signal"
record_marks
follow
has_lines 100
kill -TERM "$follower"
ends

case="limit"
follow --limit 20 -f csv
ends
[ "$(wc -l <shown)" = 21 ] && [ "$(grep -c '^time,' shown)" = 1 ] || fail "a head and 20 lines: $(cat shown)"
case="limit, with the last events"
follow --last 3 --limit 20
ends
[ "$(wc -l <shown)" = 20 ] || fail "20 lines: $(cat shown)"
follow --last 9 --limit 4
ends
[ "$(wc -l <shown)" = 4 ] || fail "4 lines: $(cat shown)"
rm count
wait "$recorder"

case="the recorder is killed"
record_marks
follow
has_lines 100
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null || :
ends
[ "$(grep -c 'incomplete: its recorder was killed' told)" = 1 ] || fail "$(cat told)"
rm count

case="the trace is moved"
record_marks
follow
has_lines 100
mv trace moved
fails '^strata: trace: the trace was moved or deleted'
each_once
rm count
wait "$recorder"

# follow_file OPTION...
follow_file() {
    : >shown
    env --default-signal=INT "$strata" report --follow "$@" file >shown 2>told &
    follower=$!
    pids="$pids $follower"
    wait_for '[ "$(pgrep -P $follower | wc -l)" = 1 ]' || fail "does not begin: $(cat told)"
}
# A file that grows, in pieces that end anywhere: what was there is passed over, or but the last of it.
xz -dc "$DATA/qemu/trace.simpletrace.xz" >whole
"$strata" report whole >all
for last in 0 5; do
    case="a file that grows, --last $last"
    signal=INT
    [ $last = 0 ] || signal=TERM
    head -c 1000003 whole >file
    "$strata" report file 2>/dev/null >before || :
    follow_file --last $last
    tail -c +1000004 whole | head -c 500000 >>file
    has_lines 1
    tail -c +1500004 whole >>file
    wanted=$(($(wc -l <all) - $(wc -l <before) + last))
    has_lines $wanted
    kill -$signal "$follower"
    wait "$follower" || fail "status $?: $(cat told)"
    tail -n $wanted all | cmp -s - shown || fail "other events: $(tail -n $wanted all | diff - shown | head -n 4)"
done

# A limit ends it within what was there, or after that.
for limit in 4 7; do
    case="a file that grows, --last 5 --limit $limit"
    head -c 1000003 whole >file
    "$strata" report --follow --last 5 --limit $limit file >shown 2>told &
    follower=$!
    pids="$pids $follower"
    if [ $limit = 7 ]; then
        wait_for '[ "$(pgrep -P $follower | wc -l)" = 1 ]' || fail "does not begin: $(cat told)"
        tail -c +1000004 whole >>file
    fi
    wait "$follower" || fail "status $?: $(cat told)"
    tail -n +$(($(wc -l <before) - 4)) all | head -n $limit | cmp -s - shown || fail "other events: $(cat shown)"
done

# A file that does not only grow.
for change in 'head -c 1000003 whole >file' 'mv file moved-file' 'cp whole other; mv other file' 'rm file'; do
    case="a file: $change"
    cp whole file
    follow_file --last 3
    has_lines 3
    eval "$change"
    case $change in
    head*) fails '^strata: file: was truncated' ;;
    *) fails '^strata: file: was moved, replaced or deleted' ;;
    esac
    [ "$(cat shown)" = "$(tail -n 3 all)" ] || fail "other events: $(cat shown)"
done
case="a file that is damaged"
cp whole file
follow_file --last 3
has_lines 3
head -c 64 /dev/zero | tr '\0' x >>file
fails '^strata: file:'
! grep /proc/ told || fail "not the name of the file"

case="refuses"
: >file
! "$strata" report --follow file 2>told || fail "a file"
grep -q 'is empty' told || fail "$(cat told)"
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen
! "$strata" report --follow xen 2>told || fail "a file of Xen"
grep -q 'requires a trace directory' told || fail "$(cat told)"
! "$strata" report --follow --from +1 trace 2>told || fail "--from"
grep -q 'excludes --from' told || fail "$(cat told)"
