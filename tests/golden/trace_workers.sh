#!/bin/sh
# Daemons whose workers change their user before they emit: every event is recorded or counted where readers see it,
# from a worker's first thread and its others, however the worker ends. And a daemon that is attached to before its first event. $DAEMON, $WORKER: tests/runtime.
. "$(dirname "$0")/../lib/golden.sh"

if [ "$(id -u)" -ne 0 ]; then
    echo 'trace_workers: SKIPPED: only root can become another user' >&2
    exit 77
fi
unset STRATA_TRACE STRATA_CONTROL
other=65534
# By its name what it leaves is told from what others leave, or have left.
name=worker${work##*.}
cp "$WORKER" "$name"
WORKER=$work/$name
chmod 755 "$work"

# run OPTIONS...: under strata record, into `trace`.
run() {
    rm -rf trace
    status=0
    "$strata" record --strict -o trace -- "$@" >emitted 2>told || status=$?
}

# How many events are in `trace`, no id of a process twice, none missing below the highest.
count_events() {
    "$strata" report trace 2>/dev/null | sed -n 's/.* work: id \([0-9]*\) pid \([0-9]*\)$/\2 \1/p' |
        sort -n -k1,1 -k2,2 >ids
    awk '$1 != pid { pid = $1; n = 0 } $2 != n++ { print "process " $1 ": " $2 " is not " n - 1; exit 1 }' ids ||
        fail "$(cat told)"
    wc -l <ids
}

# Nothing of these recordings is left.
nothing_left() {
    ! "$strata" recover --list 2>&1 | grep "$name" >left || fail "left: $(cat left)"
}

for end in exit _exit kill; do
    for options in '' -B -c '-d -f 3' '-t 4' "-r $work"; do
        case="record, $end, $options"
        # shellcheck disable=SC2086 # several options
        run "$WORKER" $options -e $end -u $other 1000
        [ $status -eq 0 ] || fail "exit status $status: $(cat told)"
        [ "$(count_events)" -eq "$(cat emitted)" ] || fail "$(count_events) of $(cat emitted): $(cat told)"
        "$strata" report --strict trace >shown 2>told || fail "report --strict: $(cat told)"
        nothing_left
    done
done

# One whose master has rings of its own; events that come while the recorder reads, and that its rings hold where it is late.
case='master'
run "$WORKER" -b -u $other 150000
[ $status -eq 0 ] || fail "exit status $status: $(cat told)"
"$strata" report trace 2>/dev/null | grep -c ' work: ' >got || :
[ "$(cat got)" -eq "$(cat emitted)" ] || fail "$(cat got) of $(cat emitted): $(cat told)"

# One in a directory without /proc, which cannot know when it began, nor of which boot it is: it lives while it is read.
case='long, in a directory of its own'
for end in exit _exit kill; do
    run "$WORKER" -r "$work" -e $end -u $other 50000
    [ $status -eq 0 ] || fail "exit status $status: $(cat told)"
    [ "$(count_events)" -eq "$(cat emitted)" ] || fail "$(count_events) of $(cat emitted): $(cat told)"
    nothing_left
done

# A recorder that is killed leaves what it had not read to strata-recover(1).
case='recorder killed'
slot= n_tries=0
# Another test's recorder that begins before the worker's first event removes the directory for its rings, which is empty yet:
# then again.
until [ -n "$slot" ]; do
    n_tries=$((n_tries + 1))
    [ $n_tries -le 10 ] || fail "no slot of the pool: $(cat listed told)"
    rm -rf trace emitted
    "$strata" record -o trace -- sh -c "kill -KILL \$PPID; exec '$WORKER' -u $other -e _exit 1000" >emitted 2>told || :
    wait_for '[ -s emitted ] && ! pgrep -f "$WORKER" >/dev/null'
    # (Its status is that of all rings, also of those that other tests leave unreadable.)
    "$strata" recover --list >listed 2>told || :
    slot=$(sed -n "/$name/s|^.*\\(/dev/shm/[^ ]*/pool/slot-[0-9-]*\\).*\$|\\1|p" listed | head -n 1)
done
"$strata" recover --list 2>&1 >listed | grep -q 'slot-N is a part of the file .*/pool/rings' || fail "slots are not explained"
"$strata" recover --keep-rings -o trace.recovered "$slot" >told 2>&1 || fail "$(cat told)"
[ "$("$strata" report trace.recovered | grep -c ' work: ')" -eq 2000 ] || fail "$(cat told)"
# One by one they need not be named.
"$strata" recover --all -o all "${slot%/pool/*}" >told 2>&1 || fail "$(cat told)"
[ "$("$strata" report all/"$name"-* | grep -c ' work: ')" -eq 2000 ] || fail "$(ls all; cat told)"
# The next recorder removes what is empty, unless that of another test is at it.
case='after it'
run "$WORKER" 1
nothing_left
wait_for '[ ! -e "${slot%/pool/*}" ]'

# Many children that end by _exit(), as of a server that forks to save.
case='400 children'
run "$WORKER" -b -f 400 -t 0 -e _exit 10
[ $status -eq 0 ] || fail "exit status $status: $(cat told)"
"$strata" report trace 2>/dev/null | grep -c ' work: ' >got || :
[ "$(cat got)" -eq "$(cat emitted)" ] || fail "$(cat got) of $(cat emitted): $(tail told)"
nothing_left

# What they leave when they write their own traces, with nothing in it, is removed by the next strata recover.
case='empty directories'
STRATA_TRACE="*,ctf=$work/written" "$WORKER" -f 10 -t 0 -w -e _exit 10 >emitted 2>told || fail "$(cat told)"
"$strata" recover --list >listed 2>&1 || :
! grep "$name" listed || fail 'directories without events are listed'
[ -z "$(grep -l "$name" /dev/shm/strata-0/*/process 2>/dev/null)" ] || fail 'directories are left'
[ "$(cat written.*/stream-* | wc -c)" -gt 1000 ] || fail "$(find written.*)"

# Where there is no space for the pool, losses are counted.
for options in -b -B; do
    case="counted, $options"
    run sh -c "ulimit -v 600000; exec '$WORKER' $options -f 2 -u $other 1000"
    [ $status -eq 3 ] || fail "exit status $status: $(cat told)"
    got=$(count_events)
    lost=$(sed -n 's/^ *\([0-9]*\) events were lost: .* no rings*$/\1/p' told | awk '{n += $1} END {print n}')
    [ $((got + lost)) -eq "$(cat emitted)" ] || fail "$got and $lost of $(cat emitted): $(cat told)"
    status=0
    "$strata" report --strict trace >shown 2>&1 || status=$?
    [ $status -eq 3 ] || fail "report --strict: exit status $status"
    "$strata" info trace >told 2>&1 || fail "$(cat told)"
    [ "$(sed -n 's/^  lost in all  *//p' told | awk '{n += $1} END {print n}')" -eq $lost ] || fail "$(cat told)"
    ! grep -q 'lost  *nothing' told || fail "$(cat told)"
done
case='counted, nothing recorded'
run sh -c "ulimit -v 600000; exec '$WORKER' -u $other 1000"
[ $status -eq 1 ] || fail "exit status $status: $(cat told)"
grep -q 'nothing was recorded: 2000 events of 1 process were lost' told || fail "$(cat told)"

# A collector comes before the first event.
case='attach before the first event'
STRATA_TRACE='*,writer=none' "$DAEMON" -k -w go . 50 2>told &
pid=$!
until [ -e go.waits ]; do sleep 0.01; done
"$strata" record --attach -o early $pid >attached 2>&1 &
collector=$!
until [ -s early/metadata ] || ! kill -0 $collector 2>/dev/null; do sleep 0.01; done
: >go
wait $pid || :
wait $collector || fail "$(cat attached)"
[ "$("$strata" report early | grep -c ' number: ')" -eq 50 ] || fail "$(cat attached)"

mkdir theirs
chmod 777 theirs
# The program's own sinks. Lines of the log are appended to the master's file.
for end in exit _exit kill; do
    case="log, $end"
    rm -f log*
    STRATA_TRACE="*,log=$work/log,rings=$work/theirs" "$WORKER" -w -e $end -f 2 -u $other 1000 >emitted 2>told ||
        fail "exit status $?: $(cat told)"
    [ "$(cat log* | grep -c 'work id ')" -eq "$(cat emitted)" ] || fail "$(wc -l log*): $(cat told)"
    [ "$(sed 's/.*work //' log* | sort -u | wc -l)" -eq "$(cat emitted)" ] || fail "torn: $(head log*)"
done
# Of the native trace, what cannot be written stays in the rings of the worker's user.
for end in exit _exit kill; do
    case="ctf, $end"
    rm -rf ctf* theirs recovered
    mkdir theirs
    chmod 777 theirs
    STRATA_TRACE="*,ctf=$work/ctf,rings=$work/theirs" "$WORKER" -e $end -u $other 1000 >emitted 2>told ||
        fail "exit status $?: $(cat told)"
    [ -z "$(find . -path "./ctf.*/*")" ] || fail "a trace: $(find ctf.*)"
    [ $end != exit ] || grep -q '2000 events could not be written (ctf): .*recover' told || fail "$(cat told)"
    "$strata" recover -o recovered theirs >told 2>&1 || fail "$(cat told)"
    [ "$("$strata" report recovered | grep -c ' work: ')" -eq "$(cat emitted)" ] || fail "$(cat told)"
done
# Files of simpletrace are not shared: what cannot be written stays in the rings as well.
for end in exit _exit kill; do
    for options in '' '-t 4'; do
        case="simple, $end, $options"
        rm -rf simple* theirs recovered
        mkdir theirs
        chmod 777 theirs
        # shellcheck disable=SC2086 # several options
        STRATA_TRACE="*,simple=$work/simple,rings=$work/theirs" "$WORKER" $options -e $end -u $other 1000 >emitted 2>told ||
            fail "exit status $?: $(cat told)"
        [ $end != exit ] || grep -q ' events could not be written (simple): Permission denied; .*recover' told ||
            fail "$(cat told)"
        "$strata" recover -o recovered theirs >told 2>&1 || fail "$(cat told)"
        [ "$("$strata" report recovered | grep -c ' work: ')" -eq "$(cat emitted)" ] || fail "$(cat told)"
    done
done
