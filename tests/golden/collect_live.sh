#!/bin/sh
# strata collect --live with a simulated agent: it prints what strata report prints of the directory, ends when its
# reader closes the pipe, and does not wait for a slow reader.
. "$(dirname "$0")/../lib/golden.sh"

at_exit='kill $(cat "$work"/*/pid 2>/dev/null) 2>/dev/null || :'

. "$here/../lib/collect_agent.sh"

# tells NAME TEXT: prints the condition that collector NAME has printed TEXT.
tells() {
    echo "grep -qs '$2' $1/told"
}

# live NAME UNTIL [OPTION...]: collects, shows, and is stopped when UNTIL, a condition, is true, or ends by itself ("").
live() {
    name=$1
    until=$2
    shift 2
    status=0
    "$strata" collect --live -e 'toy:*' v="$name/socket" "$@" >"$name/shown" 2>"$name/told" &
    pid=$!
    [ -z "$until" ] || wait_for "{ $until; } || ! kill -0 $pid 2>/dev/null"
    [ -z "$until" ] || kill -INT $pid 2>/dev/null || :
    wait $pid || status=$?
    echo $status >"$name/status"
}

# ends NAME STATUS [TEXT]
ends() {
    [ "$(cat "$1/status")" = "$2" ] || fail "$1: exit status $(cat "$1/status"): $(cat "$1/told")"
    [ $# -lt 3 ] || grep -qF -- "$3" "$1/told" || fail "$1 did not tell '$3' but: $(cat "$1/told")"
}

# With a directory: the same lines. The names of tasks come at the end here, when most has been shown; and on a busy
# machine a page may come later than others are waited for.
start good good
live good "$(tells good 'v: traces')" -o good/out
ends good 0 'v: 41.0 kB of 2 CPUs, 907 events written to good/out/guest-v'
"$strata" report good/out 2>err | sed 's/ *[a-z0-9]*-*42 / 42 /' | sort >expected
sed 's/ *[a-z0-9]*-*42 / 42 /' good/shown | sort | cmp - expected
[ "$(wc -l <expected)" -eq 907 ]

# Without one: nothing is written anywhere.
for format in json csv; do
    start plain-$format good
    live plain-$format "$(tells plain-$format 'v: traces')" --format=$format
    ends plain-$format 0 'v: 41.0 kB of 2 CPUs, 907 events'
    ! grep -q written plain-$format/told || fail "$(cat plain-$format/told)"
    ls plain-$format >files
    printf '%s\n' agent.out pid shown socket status told | cmp - files
done
grep -c '"event":"beat","fields":{"count":' plain-json/shown | grep -qx 907
[ "$(wc -l <plain-csv/shown)" -eq 908 ]

# What a spreadsheet would run as a formula.
start formula formula
live formula "$(tells formula 'v: traces')" --format=csv --spreadsheet
ends formula 0 'v: 41.0 kB of 2 CPUs, 907 events'
grep -q ",'=heart" formula/shown || fail "$(tail -n 3 formula/shown)"
! grep -q ',=' formula/shown || fail "$(grep ',=' formula/shown | tail -n 3)"
status=0
"$strata" collect --live --spreadsheet -e 'toy:*' v=none >out.txt 2>err.txt || status=$?
[ $status -eq 2 ] || fail "$(cat err.txt)"

# A loss has a line where it is; what follows on another connection, after another boot, is shown, too.
start reconnect reconnect
live reconnect "$(tells reconnect 'v: is connected again')"
ends reconnect 0 '1 page was lost on the way'
sed -n '/\[000\]/{ s/.*beat: count=//p; s/.*LOST.*/LOST/p; }' reconnect/shown | sed -n '300,302p' | tr '\n' ' ' >got
[ "$(cat got)" = '299 LOST 400 ' ] || fail "reconnect: $(cat got)"
start reboot reboot
live reboot "$(tells reboot 'v: is connected again')"
ends reboot 0 'guest rebooted'
sed -n 's/.*beat: count=//p' reboot/shown >got
[ "$(sort -nu <got | wc -l)" -ge 600 ]

# Several guests, each named by its number, in the order of the host's time.
start one good
start two good
"$strata" collect --live -e 'toy:*' v=one/socket w=two/socket >shown 2>told &
pid=$!
wait_for '[ "$(grep -c ": traces" told 2>/dev/null)" = 2 ]'
kill -INT $pid
wait $pid || fail "$(cat told)"
grep -q '^#1 is w' told
[ "$(grep -c ' #0 .*beat: count=' shown)" -eq 907 ]
[ "$(grep -c ' #1 .*beat: count=' shown)" -eq 907 ]

# Nobody reads it any more: it ends, as other programs do then, and says nothing.
start head good
{
    status=0
    "$strata" collect --live -e 'toy:*' v=head/socket 2>head/told || status=$?
    echo $status >head/status
} | head -n 3 >head/shown
[ "$(wc -l <head/shown)" -eq 3 ]
ends head 141
! grep -v ': traces' head/told || fail "head: $(cat head/told)"

# A slow reader does not delay the collector: it records the guest to the end and reports the number of events not shown.
# The reader starts when nearly all events have arrived.
start much much
mkfifo much/fifo
(
    while [ ! -e much/read-on ]; do
        sleep 0.05
    done
    exec cat >much/shown
) <much/fifo &
reader=$!
status=0
"$strata" collect --live -o much/out -e 'toy:*' v=much/socket >much/fifo 2>much/told &
pid=$!
for size in 10 20 30 40 50 55; do
    wait_for "[ \"\$(du -sm much/out 2>/dev/null | cut -f 1)0\" -ge ${size}0 ] || ! kill -0 $pid"
done
:>much/read-on
wait_for '[ -s much/shown ]'
kill -TERM $pid
wait $pid || status=$?
wait $reader
[ $status -eq 0 ] || fail "much: $status: $(cat much/told)"
grep -q 'were not shown: the output was read too slowly; the directory has them' much/told ||
    fail "much: $(cat much/told)"
grep -q LOST much/shown || fail 'the loss is not shown'

# No control characters of a guest reach the terminal; useless data is reported once.
start colourful colourful
live colourful "$(tells colourful 'v: traces')"
ends colourful 0
! LC_ALL=C grep -q "$(printf '\033')" colourful/shown || fail 'it colours the terminal'
start silent silent-setup
live silent '[ -e silent/set-up ]'
ends silent 1 'was stopped before its agent traced'

# By the old protocol, with what decodes the pages from elsewhere.
mkdir old
"$strata" collect --live v=virtio-trace:old --cpus=2 --tracefs-copy=good/out/guest-v >old/shown 2>old/told &
pid=$!
wait_for '[ -p old/agent-ctl-path.in ]'
python3 "$here/../lib/collect_agent.py" old old >old/agent.out 2>&1 &
agent=$!
echo $agent >old/pid
wait_for "grep -q 'count=1499' old/shown"
stop_old old $pid
wait $pid || fail "old: $(cat old/told)"
wait $agent || fail "old: $(cat old/agent.out)"
sed -n 's/.*beat: count=//p' old/shown | sort -n >got
(seq 0 499; seq 1000 1506) | cmp - got

# Usage.
for options in '-e a:* p' '--format=json -o x -e a:* p'; do
    status=0
    # shellcheck disable=SC2086 # words
    "$strata" collect $options >out.txt 2>err.txt || status=$?
    [ $status -eq 2 ] || fail "collect $options: $status"
done
