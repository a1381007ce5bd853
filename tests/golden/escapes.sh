#!/bin/sh
# Whatever strings a trace or a program has, what strata prints of them commands no terminal: in a UTF-8 locale it is
# UTF-8 without control characters and right-to-left marks, in others ASCII; and nobody forges a line.
# $VICTIM: tests/runtime/victim.c.
. "$(dirname "$0")/../lib/golden.sh"

pids=
ended() {
    for p in $pids $(cat "$work"/*/pid 2>/dev/null); do
        kill "$p" 2>/dev/null || true
    done
    wait
}
at_exit=ended
python="python3 $here/escapes.py"
XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR LC_ALL
mkdir -m 700 run run/strata

. "$here/../lib/collect_agent.sh"

# look KIND FILE WHAT...: the file, output of WHAT, is looked at in the end, by escapes.py.
look() {
    [ ! -s "$2" ] || printf '%s\0' "$1" "$2" "$*" >>looks
}
# run KIND ARGUMENT...: both outputs of strata, in both locales.
runs=0
run() {
    kind=$1
    shift
    runs=$((runs + 1))
    for LC_ALL in C.UTF-8 C; do
        "$strata" "$@" >"out$runs$LC_ALL" 2>"err$runs$LC_ALL" || :
        cat "out$runs$LC_ALL" "err$runs$LC_ALL" >>"all$runs"
        [ -s "all$runs" ] || fail "nothing is printed by: $*"
        messages=text
        [ $LC_ALL = C.UTF-8 ] || messages=ascii
        if [ "$kind" = text ]; then
            look $messages "out$runs$LC_ALL" "$@"
        else
            look "$kind" "out$runs$LC_ALL" "$@"
        fi
        look $messages "err$runs$LC_ALL" "$@"
    done
}
# printed STRING: the output that was looked at last has it.
printed() {
    grep -qF -- "$1" "all$runs" || fail "not printed: $1: $(cat "all$runs")"
}

$python make
# Cells that a spreadsheet would run as a formula: escaped with an option.
printf 'one(const char *s, int n) "=s=%%s n=%%d"\n' >formula.events
printf '1@1.000001:one =s=x n=4\n' >formula.log
"$strata" report -f csv --trace-events formula.events formula.log | grep -qF ',,=s=x n=4,' || fail "a cell is changed"
for csv in 'report -f csv' 'export --to csv'; do
    # shellcheck disable=SC2086
    "$strata" $csv --spreadsheet --trace-events formula.events formula.log >formula.csv
    grep -qF ",,'=s=x n=4," formula.csv || fail "$csv --spreadsheet: $(cat formula.csv)"
done
for trace in 'simple.trace --trace-events events' ctf trace.dat 'log/qemu.log --trace-events log/events' folder; do
    # shellcheck disable=SC2086
    set -- $trace
    run text report "$@"
    [ "$trace" = folder ] || printed '\x1b'
    run json report -f json "$@"
    run csv report -f csv "$@"
    run text info "$@"
    run json info --format json "$@"
    for by in event task; do
        run text stat --by $by "$@"
    done
    run json stat --format json "$@"
    [ $# -gt 1 ] || run text top --batch --iterations 1 "$@"
    for format in csv trace-events; do
        run csv export --to $format "$@"
    done
    rm -rf to.ctf
    "$strata" export --to ctf -o to.ctf "$@" 2>err || fail "export --to ctf: $(cat err)"
    cp to.ctf/metadata "metadata$runs"
    look ascii "metadata$runs" export --to ctf "$@"
    run text report to.ctf
done
run text report --trace-events events simple.trace
printed '\u009b1m'
run text report trace.dat
printed '\u009b1m'
run text report ctf
printed 'la'
run text merge -o merged "$(printf 'q=log/qemu.log')" s=simple.trace --trace-events log/events
run text report badname
run text ctl folder status
printed 'FORGED'
# Names of files, which globs match, in messages.
for verb in report info stat recover; do
    run text $verb names/*FORGED*
    run text $verb "names/no-$($python hostile)"
done
run text report --trace-events names/events-* simple.trace
run text gen --format h --backend nop names/events-*

# ---- Programs
$python serve run/strata/new >server &
pids=$!
wait_for '[ -s server ]'
mv run/strata/new "run/strata/$(cat server)"
run text list
printed 'FORGED'
run json list --format json
for command in list stats info file flush 'on x'; do
    # shellcheck disable=SC2086
    run text ctl "$(cat server)" $command
    printed 'FORGED'
done
mkdir -p fake
cp "$(command -v dash)" fake/qemu-system-x86_64
(exec python3 -c "
import os, sys
sys.path.insert(0, '$here')
from escapes import HOSTILE
os.execv('fake/qemu-system-x86_64', [b'qemu-system-x86_64', b'-c', b'while :; do sleep 1; done', b'-name', HOSTILE])") &
pids="$pids $!"
fake=$!
wait_for 'readlink /proc/$fake/exe | grep -q qemu'
run text list
printed '  A\x1b[31mB'
run json list --format json
$python qmp monitor >qmp &
pids="$pids $!"
wait_for '[ -s qmp ]'
for command in info list 'monitor x'; do
    # shellcheck disable=SC2086
    run text ctl --qmp ./monitor $command
done
mkdir rings
STRATA_TRACE='*,ctf=trace,rings=rings' "$VICTIM" run counters 1 0 500 2>/dev/null &
victim=$!
others=$pids
pids="$pids $victim"
wait_for 'ls rings/*/process >/dev/null 2>&1 && [ -s counters ]'
kill -KILL $victim
wait $victim 2>/dev/null || :
pids=$others
$python name rings/*/process
run text recover --list rings
printed 'FORGED'

# ---- A guest, live
for format in text csv json; do
    start live-$format hostile
    LC_ALL=C.UTF-8
    "$strata" collect --live --format=$format -e 'toy:*' v=live-$format/socket >shown-$format 2>told-$format &
    pid=$!
    wait_for "grep -q beat shown-$format || ! kill -0 $pid 2>/dev/null"
    kill -INT $pid 2>/dev/null || :
    wait $pid || :
    grep -q beat shown-$format || fail "collect --live shows: $(cat shown-$format told-$format)"
    look $format shown-$format collect --live
    look text told-$format collect --live
done
$python looks looks
