#!/bin/sh
# Tracing neither waits for a reader that does not read, nor ends the program when it goes away: the lines that
# a pipe does not take are lost and counted. $DAEMON: tests/runtime/daemon.c.
. "$(dirname "$0")/../lib/golden.sh"

# A pipe that stays open and is not read.
mkfifo pipe
exec 3<>pipe

# Far more than fits into a pipe. The program must end by itself; that it takes "no longer than" is not asked,
# but that it ends at all: nobody ever reads.
case='backend log to a stalled pipe'
"$DAEMON" -k -l -b log . 20000 2>&3 >stats 3>&- || fail "ended with $?"
lost=$(sed -n 's/^lines //p' stats)
[ "$lost" -gt 10000 ] && [ "$lost" -lt 20000 ] || fail "$(cat stats)"
cat_pipe() { # what is in the pipe
    timeout 600 dd if=pipe iflag=nonblock bs=64k 2>/dev/null || :
}
written=$(cat_pipe | grep -c 'number_log id')
[ $((written + lost)) -eq 20000 ] || fail "$written lines are in the pipe, $lost were counted as lost"

case='backend log to a file that is a stalled pipe'
"$DAEMON" -k -l -t logfile=pipe -b log . 20000 2>errors >stats 3>&- || fail "ended with $?: $(cat errors)"
lost=$(sed -n 's/^lines //p' stats)
written=$(cat_pipe | grep -c 'number_log id')
[ $((written + lost)) -eq 20000 ] && [ "$lost" -gt 10000 ] || fail "$written and $lost: $(cat stats)"

for sink in 'log' 'log=pipe' 'simple=pipe'; do
    case="sink $sink"
    "$DAEMON" -k -l -t "*,$sink" . 20000 2>&3 >stats 3>&- || [ $? -eq 12 ] || fail "ended with $?"
    lost=$(sed -n 's/^unwritten //p' stats)
    [ "$lost" -gt 10000 ] || fail "$(cat stats)"
    cat_pipe >content
    [ $sink = simple=pipe ] && continue
    written=$(grep -c 'number id' content)
    [ $((written + lost)) -eq 20000 ] || fail "$written lines are in the pipe, $lost were counted as lost"
done
exec 3>&-

# A reader that goes away: no signal ends the program.
for options in '-b log' '-t *,log' '-b log -t logfile=pipe' '-t *,log=pipe' '-t *,simple=pipe'; do
    case="a closed pipe: $options"
    set -f
    exec 3<>pipe # for those that open it, from before the program starts
    { "$DAEMON" -k -l -w go $options . 2000 2>&1 >stats || echo $? >status; } 3>&- | : &
    wait_for '[ -e go.waits ]'
    exec 3>&-
    : >go
    wait $! || :
    [ ! -e status ] || [ "$(cat status)" -eq 12 ] || fail "ended with $(cat status)"
    [ "$(sed -n 's/^\(lines\|unwritten\) //p' stats | awk '{ n += $1 } END { print n + 0 }')" -gt 0 ] || fail "$(cat stats)"
    rm -f go go.waits status
    set +f
done

# A pipe that no process reads yet: the program goes on, and ends.
for options in 'simple=pipe' 'log=pipe'; do
    case="a pipe without a reader: $options"
    "$DAEMON" -k -l -t "*,$options" . 100 2>errors >stats || [ $? -eq 12 ] || fail "ended with $?"
    [ "$(sed -n 's/^unwritten //p' stats)" -eq 100 ] || fail "$(cat stats)"
    grep -q 'no process reads that pipe' errors || fail "$(cat errors)"
done

# The system's log: a daemon that does not read.
case=syslog
cat >listen.py <<'END2'
import socket, sys, time
s = socket.socket(socket.AF_UNIX, getattr(socket, "SOCK_" + sys.argv[1]))
s.bind(sys.argv[1])
if sys.argv[1] == "STREAM":
    s.listen(1)
open("ready", "w").close()
sys.stdin.read()
END2
mkfifo end
for kind in DGRAM STREAM; do
    rm -f ready
    python3 listen.py $kind <end &
    listener=$!
    exec 4>end
    wait_for '[ -e ready ]'
    "$DAEMON" -k -l -t "syslog=$kind" -b syslog . 20000 2>errors >stats 4>&- || [ $? -eq 12 ] || fail "$kind: $(cat errors)"
    [ "$(sed -n 's/^lines //p' stats)" -gt 1000 ] || fail "$kind: $(cat stats)"
    "$DAEMON" -k -l -t "*,syslog=$kind" . 20000 2>errors >stats 4>&- || [ $? -eq 12 ] || fail "$kind: $(cat errors)"
    [ "$(sed -n 's/^unwritten //p' stats)" -gt 1000 ] || fail "$kind: $(cat stats)"
    exec 4>&-
    wait $listener
done
