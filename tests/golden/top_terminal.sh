#!/bin/sh
# strata top in a terminal, which is a tmux: keys, sizes, how it ends, and that what a trace has commands no terminal.
# $VICTIM: tests/runtime/victim.c.
. "$(dirname "$0")/../lib/golden.sh"

command -v tmux >/dev/null || { echo "SKIPPED: tmux is not installed"; exit 77; }
export XDG_RUNTIME_DIR="$work/run" LC_ALL=C.UTF-8 TMUX_TMPDIR="$work" HOME="$work"
unset TMUX
mkdir -m 700 run
pid= terminals=0
# Each terminal has a server of its own: one that ends may still have the socket.
mux() {
    tmux -L $terminals -u -f /dev/null "$@"
}
ended() {
    mux kill-server 2>/dev/null || true
    [ -z "$pid" ] || kill -TERM $pid 2>/dev/null || true
    wait
}
at_exit=ended

# terminal WORD...: a terminal of 80x24 with a shell in which strata top WORD... runs; when it has ended, the shell shows
# its status and the terminal's settings.
terminal() {
    mux kill-server 2>/dev/null || true
    terminals=$((terminals + 1))
    rm -f shown.pid
    mux new-session -d -x 80 -y 24 \
        "stty -a >before; sh -c 'echo \$\$ >shown.pid; exec \"\$@\"' - '$strata' top $*; echo ended \$?; stty -a >after; read -r x"
    mux pipe-pane -o "cat >>'$work/raw'"
}
screen() {
    mux capture-pane -p >shown 2>/dev/null
}
# shows PATTERN: the screen does so, before long.
shows() {
    wait_for "screen && grep -q -- '$1' shown"
}
keys() {
    mux send-keys "$@"
}
# The shell has the terminal again, as it was.
restored() {
    shows 'ended 0'
    wait_for '[ -s after ]'
    cmp before after || fail "the terminal's settings are others"
    ! grep -q 'q quit' shown || fail "the screen is there still: $(cat shown)"
    rm after
}

"$strata" record -o trace --flight=60s -- "$VICTIM" run counters 1 0 500 2>told &
pid=$!
wait_for '[ -e trace/trace.json ] && [ -s trace/program/stream-0 ]'

case=keys
terminal trace
shows "^strata top: trace  recorded by process $pid"
shows '^victim_tick  *[1-9]'
shows '^q quit   ? help .* o sort by number'
keys '?'
shows '^WAIT '
keys x
shows '^victim_tick'
keys o
shows 'o sort by time'
keys o
shows 'o sort by name'
keys p
shows 'PAUSED$'
keys p
wait_for "screen && ! grep -q PAUSED shown"

case='events on and off'
is() {
    "$strata" ctl trace list victim_tick | grep -q "^$1 "
}
keys e
shows '^on  *victim_tick'
keys / t i c k Enter
shows "^strata top: 1 event with .tick."
keys Space
wait_for is off
shows '^off  *victim_tick'
keys Space
wait_for is on
shows '^on  *victim_tick'
keys e
shows '^q quit'

case=snapshot
keys s
shows '^snapshot: /'
saved=$(echo trace/snapshots/[0-9]*)
"$strata" report "$saved" 2>err | grep -q victim_tick || fail "$saved: $(cat err)"

case=size
keys C-l
shows '^q quit'
mux resize-window -x 110 -y 30 || fail resize
wait_for 'screen && [ "$(wc -l <shown)" -eq 30 ] && sed -n 30p shown | grep -q "^q quit"'
mux resize-window -x 60 -y 10
wait_for 'screen && sed -n 10p shown | grep -q "^q quit" && sed -n 1p shown | grep -q "^strata top"'
mux resize-window -x 80 -y 24
wait_for 'screen && sed -n 24p shown | grep -q "^q quit"'

case=quit
keys q
restored

for signal in TERM INT HUP; do
    case="SIG$signal"
    terminal trace
    shows '^q quit'
    kill -$signal "$(cat shown.pid)"
    restored
done

case='the recording ends'
terminal trace
shows '^q quit'
kill -TERM $pid
wait $pid || true
pid=
shows 'not being recorded'
keys q
restored

# Names of events that would colour the screen, forge a line and reverse what follows.
case=hostile
python3 "$here/escapes.py" make
: >raw
terminal ./ctf
shows '^evA.x1b.31mB.x9b1mC.u009b'
! grep -q '^FORGED' shown || fail "$(cat shown)"
keys e
shows '^-  *evA.x1b.31mB.x9b1mC.u009b1mD'
! grep -q '^FORGED' shown || fail "$(cat shown)"
keys q
restored
[ -s raw ] || fail "nothing was seen of what strata top writes"
for bytes in '\033[31m' '\302\233' '\342\200\256' '\177'; do
    # shellcheck disable=SC2059 # octal
    ! LC_ALL=C grep -qaF "$(printf "$bytes")" raw || fail "it commands the terminal: $bytes"
done

case='an unknown terminal'
status=0
TERM=nosuch "$strata" top --batch --iterations 1 trace >shown 2>err || fail "--batch needs a terminal: $(cat err)"
mux kill-server 2>/dev/null || true
terminals=$((terminals + 1))
mux new-session -d -x 80 -y 24 "TERM=nosuch '$strata' top trace >/dev/tty 2>err; echo \$? >status; read -r x"
wait_for '[ -s status ]'
[ "$(cat status)" -eq 1 ] && grep -q "unknown terminal 'nosuch'; use --batch" err || fail "$(cat status err)"
