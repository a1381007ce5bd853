#!/bin/sh
# strata collect, with a stub of an agent: what it accepts, what happens to lost connections, and that
# nothing a guest sends gets it to write elsewhere, to wait for ever or to end in disorder.
. "$(dirname "$0")/../lib/golden.sh"

mounted=
at_exit='kill $(cat "$work"/*/pid 2>/dev/null) 2>/dev/null || :; [ -z "$mounted" ] || umount -l "$mounted"'

. "$here/../lib/collect_agent.sh"

# run NAME UNTIL [OPTION...]: collects until UNTIL, a condition, is true ("": until it ends by itself); its output and
# exit status are left in the directory.
run() {
    name=$1
    until=$2
    shift 2
    (
        cd "$name"
        status=0
        "$strata" collect -o out -e 'toy:*' v=socket "$@" >said 2>told &
        pid=$!
        [ -z "$until" ] || wait_for "{ $until; } || ! kill -0 $pid 2>/dev/null"
        [ -z "$until" ] || kill -TERM $pid 2>/dev/null || :
        wait $pid || status=$?
        echo $status >status
    )
}

# terminate PID: ends the collector of this directory, in which its exit status is left.
terminate() {
    kill -TERM "$1"
    status=0
    wait "$1" || status=$?
    echo $status >status
}

# tells TEXT: prints the condition "the collector has printed TEXT".
tells() {
    echo "grep -qs '$1' told"
}
# … and the clocks are related, which requires an answer in time: of half a second, before the guest is traced.
related='[ -s out/guest-v/clock-pairs ]'

# beats NAME PART CPU: the numbers that the events of a CPU count.
beats() {
    "$strata" report "$1/out" --source="$2" --cpu="$3" -e beat 2>/dev/null |
        sed -n 's/.*beat: count=//p'
}

# ends NAME STATUS [TEXT]: the collector exited with STATUS and printed TEXT.
ends() {
    [ "$(cat "$1/status")" = "$2" ] || fail "$1: exit status $(cat "$1/status"): $(cat "$1/told")"
    [ $# -lt 3 ] || grep -qF -- "$3" "$1/told" "$1/said" ||
        fail "$1 did not tell '$3' but: $(cat "$1/told" "$1/said")"
}

printf 'a key of enough bytes\n' >key
printf 'another key of enough bytes\n' >other-key
chmod 600 key other-key

plain='good flip colourful left-over overrun many-cpus'
again='reconnect reboot new-agent forgets'
bad='refuses endless-meta endless-files path-up path-absolute path-other path-dots path-pages path-empty
    path-long two-files garbage wrong-length wrong-cpu wrong-type data-in-zstd'
for name in $plain $again $bad no-clock silent-setup flood torn deaf; do
    start $name $name
done
start keyed good ../key
start no-key good ../key
start wrong-key good ../key
# Not all at once: a collector gives up an agent that is silent for ten seconds, and one that does not come back within five
# at the end, which so many of them on a busy machine may be.
for name in $plain; do
    run $name "$(tells 'v: traces') && $related" &
done
wait
run no-clock "$(tells 'v: traces')" &
for name in $again; do
    # Each boot has a clock of its own.
    second=
    [ $name != reboot ] || second='&& [ -s out/guest-v.2/clock-pairs ]'
    run $name "$(tells 'v: is connected again') && $related $second" &
done
wait
for name in $bad; do
    run $name '' &
done
wait
run silent-setup '[ -e set-up ]' &
mkdir nobody
run nobody '' -t 1 &
# QEMU serves one client of a port's socket, and lets the next one wait.
mkdir taken
cat >taken/port.py <<'END'
import signal, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(8)
first = socket.socket(socket.AF_UNIX)
first.connect(sys.argv[1])
served, _ = listener.accept()
open("taken/is-ready", "w").close()
signal.pause()
END
(
    python3 taken/port.py "$work/taken/socket" &
    echo $! >taken/pid
)
wait_for '[ -e taken/is-ready ]'
(
    cd taken
    "$strata" collect -o out -e 'toy:*' v="$work/taken/socket" -t 1 >said 2>told || echo $? >status
) &
start second good
start third overrun
(
    cd second
    "$strata" collect -o out -e 'toy:*' v=socket w=../third/socket >said 2>told &
    pid=$!
    wait_for "[ \"\$(grep -c ': traces' told 2>/dev/null)\" = 2 ] && $related && [ -s out/guest-w/clock-pairs ]"
    terminate $pid
) &
# A collector that is killed.
start killed good
(
    cd killed
    "$strata" collect -o out -e 'toy:*' v=socket >said 2>told &
    pid=$!
    wait_for "[ -s out/guest-v/cpu0.raw ] && $related && grep -qs clock-pairs out/trace.json"
    kill -KILL $pid
    wait $pid || :
) &
# The agent has answered, and nothing more; then the collector's child gets no CPU.
start halted silent-setup
(
    cd halted
    "$strata" collect -o out -e 'toy:*' v=socket >said 2>told &
    pid=$!
    wait_for "[ -e set-up ]"
    child=$(tr -d " " </proc/$pid/task/$pid/children)
    kill -STOP "$child"
    wait_for "grep -q '^State:.T' /proc/$child/status"
    terminate $pid
) &
# All stand still for longer than anybody may be silent, and the collector is the first to go on.
start paused good
(
    cd paused
    "$strata" collect -o out -e 'toy:*' v=socket >said 2>told &
    pid=$!
    wait_for "$(tells 'v: traces') && $related"
    child=$(tr -d " " </proc/$pid/task/$pid/children)
    # shellcheck disable=SC2046 # a number
    kill -STOP "$child" $pid $(cat pid)
    sleep 12
    kill -CONT "$child" $pid
    sleep 1
    # shellcheck disable=SC2046
    kill -CONT $(cat pid)
    terminate $pid
) &
wait
run torn "$(tells 'v: data from the guest was corrupted')" &
run deaf "$(tells 'v: the agent has exited, and has sent all that it had')" &
run keyed "$(tells 'v: traces')" --key=../key -e 'toy:beat{count > 0}' &
run no-key '' &
run wrong-key '' --key=../other-key &
wait
run flood '' --max-size=20M
# As an ordinary user, if that user may execute strata.
ordinary=
if [ "$(id -u)" -eq 0 ] && setpriv --reuid=65534 --clear-groups "$strata" --version >version 2>&1; then
    ordinary=yes
    start ordinary good
    chown -R 65534 ordinary
    chmod 755 .
    (
        cd ordinary
        setpriv --reuid=65534 --clear-groups "$strata" collect -o out -e 'toy:*' v=socket >said 2>told &
        pid=$!
        wait_for "$(tells 'v: traces')"
        # Only its parent may still read or write it.
        child=$(tr -d " " </proc/$pid/task/$pid/children)
        [ "$(sed -n 's/^Seccomp:[^0-9]*//p' /proc/"$child"/status)" = 2 ] || fail 'no seccomp'
        [ "$(sed -n 's/^NoNewPrivs:[^0-9]*//p' /proc/"$child"/status)" = 1 ] || fail 'new privileges'
        kill -TERM $pid
        wait $pid || fail "ordinary: $(cat told)"
    )
    "$strata" info ordinary/out >ordinary.info
fi

# All that there was, in order, with what decodes it; the last page is short.
ends good 0 'v: 41.0 kB of 2 CPUs, 907 events written to out/guest-v'
ends good 0 'its clock mono_raw is related'
! grep -q 'connection is lost' good/told || fail "good: $(cat good/told)"
beats good v 0 >0
beats good v 1 >1
seq 0 299 | cmp - 0
seq 0 606 | cmp - 1
"$strata" report good/out | grep -q 'heart2-42' # the names of tasks as they are at the end
"$strata" info good/out >info
grep -q 'complete  *yes' info
grep -q 'boot id  *boot-1' info
awk 'NF != 3 || $3 <= 0 { bad = 1 } END { exit bad || NR == 0 }' good/out/guest-v/clock-pairs || fail "$(cat good/out/guest-v/clock-pairs)"

# What was written to each file, however it ended: for each boot, without a guest that says bye, and where it was cut off.
. "$here/../lib/stated_files.sh"
for name in $plain $again flood torn deaf keyed second paused; do
    check_stated_files $name/out || fail "$name: trace.json states other files than there are"
done
[ "$(jq '[.sources[].files // {} | length] | add' killed/out/trace.json)" -eq 0 ] || fail "killed: $(cat killed/out/trace.json)"

# The sandbox that trace.json states. Only root changes the user; any user has landlock and seccomp.
if [ "$(id -u)" -eq 0 ]; then
    grep -q 'confined by  *user, landlock, seccomp' info || grep -q 'less protection' good/told
    [ -z "$ordinary" ] || grep -q 'confined by  *landlock, seccomp' ordinary.info || grep -q 'less protection' ordinary/told
else
    grep -q 'confined by  *landlock, seccomp' info || grep -q 'less protection' good/told
fi

# Its clock is the host's here, so that the host's time of an event is that of its page, give or take
# what `info` says.
grep -q 'related to  *the host.s monotonic clock, by [0-9]* exchanges, within' info
"$strata" report --host-time good/out >told 2>err || fail "good: $(cat err)"
[ "$(wc -l <told)" -eq 907 ]
"$strata" info --host-time good/out | grep -q 'clock  *monotonic'
status=0
"$strata" report --host-time no-clock/out >told 2>err || status=$?
[ $status -eq 1 ]
grep -q "its clock cannot be related to the host's" err
# Clocks of two guests are no one clock, but in the host's time.
"$strata" report good/out reboot/out >told 2>err || fail "good and reboot: $(cat err)"
[ "$(grep -c 'beat: count=606' told)" -ge 1 ]
"$strata" report --host-time good/out overrun/out >told 2>err || fail "good and overrun: $(cat err)"
[ "$(wc -l <told)" -ge 1814 ]

# What was known when the collector was killed relates the clocks.
"$strata" report --host-time killed/out >told 2>err || fail "killed: $(cat err)"
grep -q 'beat: count=0' told
grep -q 'is incomplete' err

# No control characters reach the terminal.
ends colourful 0 'v: \x1b[31m red \x07'
ends no-clock 0
[ ! -e no-clock/out/guest-v/clock-pairs ]
ends left-over 0
beats left-over v 1 | cmp - 1
ends overrun 0 '10 events were lost in the guest'
grep -q '"lost": 10' overrun/out/trace.json

# Two guests at once, in one directory.
ends second 0 'w: 41.0 kB of 2 CPUs, 907 events written to out/guest-w'
for name in v w; do
    beats second $name 1 | cmp - 1
done
"$strata" report --host-time second/out >told 2>err || fail "second: $(cat err)"
[ "$(grep -c 'beat: count=606' told)" -eq 2 ]

# A collector that was stopped for a while does not take its agent for lost.
ends paused 0 'v: 41.0 kB of 2 CPUs, 907 events written to out/guest-v'
! grep -q 'lost' paused/told || fail "paused: $(cat paused/told)"

# A page lost to damage or to a cut connection is reported, and is a loss in the trace.
for name in flip reconnect; do
    ends $name 0 '1 page was lost on the way'
    ! grep -q 'begin anew' $name/told || fail "$name: $(cat $name/told)"
    (seq 0 299; seq 400 499) >expected
    beats $name v 0 | cmp - expected
    "$strata" report $name/out 2>/dev/null | grep -qi 'lost' || fail "$name: the loss is not shown"
done
# An agent that ends answers no pings any more. What it still sends is recorded.
ends deaf 0
beats deaf v 0 >got
seq 0 299 | cmp - got
# A guest that reboots gets a source of its own. Another agent of the same boot continues the old source.
ends reboot 0 'guest rebooted'
seq 0 299 >expected
beats reboot v 0 | cmp - expected
(seq 400 699) >expected
beats reboot v.2 0 | cmp - expected
# It ended without a word of its agent.
[ "$(jq -c '[.sources[] | .problems // [] | map(select(startswith("the guest rebooted before"))) | length]' reboot/out/trace.json)" = '[1,0]' ]
[ "$(jq -c '[.sources[].lost_uncounted]' reboot/out/trace.json)" = '[true,null]' ] || fail "$(cat reboot/out/trace.json)"
status=0
"$strata" report --strict reboot/out >/dev/null 2>&1 || status=$?
[ $status -eq 3 ] || fail "reboot: --strict exits with $status"
for name in new-agent forgets; do
    ends $name 0 'the agent ended before it had sent the rest'
    [ "$(jq -c '[.sources[].lost_uncounted]' $name/out/trace.json)" = '[true]' ] || fail "$(cat $name/out/trace.json)"
    (seq 0 299; seq 400 699) >expected
    beats $name v 0 | cmp - expected
done

# Messages that the collector must reject.
ends refuses 1 'the agent: no event is called so; look into events/'
ends silent-setup 1 'was stopped before its agent traced'
ends halted 1 'was stopped before its agent traced'
ends nobody 1 'no agent has answered'
ends nobody 1 'no events were recorded into out'
! grep -h 'strata summary' nobody/told nobody/said || fail "nobody: a summary of nothing"
grep -q 'strata summary' good/told good/said || fail "good: no advice"
ends taken 1 'another collector is connected to its port'
ends torn 1 'the connection was lost, and what the agent had left is missing'
ends endless-meta 1 'the guest sends files of more than'
ends endless-files 1 'the guest sends more than 65536 files'
for name in path-up path-absolute path-other path-dots path-pages path-empty path-long; do
    ends $name 1 'the guest sends a file that tracefs does not have'
done
ends two-files 1 'the guest begins a file before another one has ended'
ends garbage 1 'data from the guest was corrupted'
ends wrong-length 1 'the guest sends pages of 100 bytes, not of 4096'
for name in wrong-cpu wrong-type data-in-zstd; do
    ends $name 1 'invalid message from the agent'
done
find . -name '*evil*' | grep . && fail "it wrote where a guest wanted it to"
ends many-cpus 0 'of 4096 CPUs'
# What came before is kept.
beats wrong-type v 0 >got
seq 0 299 | cmp - got
grep -q '"complete": false' wrong-type/out/trace.json
[ "$(du -sk flood/out | cut -f 1)" -lt 25000 ] || fail "flood: $(du -sk flood/out)"
grep -q -e '--max-size is reached' flood/told

ends keyed 0
# Which events have a filter is in the manifest.
jq -e '.sources[0].filters == ["toy:beat=count > 0"]' keyed/out/trace.json >/dev/null || fail "$(cat keyed/out/trace.json)"
"$strata" info keyed/out 2>&1 | grep -q '^  conditions  *toy:beat{count > 0}$' || fail "$("$strata" info keyed/out)"
# Which threads an agent records is known only if it says so.
jq -e '.sources[0].pid_filter' keyed/out/trace.json >/dev/null || fail "$(cat keyed/out/trace.json)"
jq -e '.sources[0] | .filters == [] and (has("pid_filter") | not)' good/out/trace.json >/dev/null || fail "$(cat good/out/trace.json)"
jq -e '.sources[0] | has("filters") or has("pid_filter") | not' flip/out/trace.json >/dev/null || fail "$(cat flip/out/trace.json)"
beats keyed v 1 | cmp - 1
ends no-key 1 'the agent requires a key'
ends wrong-key 1 'the key is another one'

# The old protocol, with what decodes the pages from elsewhere.
mkdir old
"$strata" collect -o old/out v=virtio-trace:old --cpus=2 --tracefs-copy=good/out/guest-v >old/said 2>old/told &
pid=$!
wait_for '[ -p old/agent-ctl-path.in ]'
python3 "$here/../lib/collect_agent.py" old old >old/agent.out 2>&1 &
agent=$!
echo $agent >old/pid
wait_for '[ "$(cat old/out/guest-v/cpu1.raw 2>/dev/null | wc -c)" -eq 20480 ]'
stop_old old $pid
wait $pid || fail "old: $(cat old/told)"
wait $agent || fail "old: $(cat old/agent.out)"
beats old v 0 >0
seq 0 499 | cmp - 0
beats old v 1 >1
seq 1000 1506 | cmp - 1
grep -q '45.1 kB of 2 CPUs, written to' old/said
[ ! -s old/agent.out ] || fail "$(cat old/agent.out)"
# Nothing came.
status=0
mkdir silent
"$strata" collect -o silent/out v=virtio-trace:silent --cpus=2 -t 1 >out.txt 2>err.txt || status=$?
[ $status -eq 1 ] || fail "nothing came: $status: $(cat out.txt)"
grep -q 'strata: v: no data came from its ports' err.txt || fail "$(cat err.txt)"
# From a tree that came from a guest, only regular files are read: a link would lead into the host.
for kind in link fifo; do
    cp -r good/out/guest-v $kind
    rm $kind/saved_cmdlines
done
ln -s "$work/key" link/saved_cmdlines
mkfifo fifo/saved_cmdlines
for kind in link fifo; do
    status=0
    "$strata" collect -o $kind-out v=virtio-trace:old --cpus=2 --tracefs-copy=$kind -t 1 >out.txt 2>err.txt || status=$?
    [ $status -eq 1 ] || fail "$kind: $status"
    grep -q "$kind/saved_cmdlines: not a regular file" err.txt
done
! grep -rqs 'enough bytes' link-out || fail 'a link was followed'
status=0
"$strata" collect -o x virtio-trace:./good >out.txt 2>err.txt || status=$?
[ $status -eq 1 ]
grep -q 'no FIFOs or sockets trace-path-cpu0' err.txt
"$strata" collect --print-qemu virtio-trace:/run/o --cpus=40 >lines
grep -qF 'max_ports=42' lines
grep -qF "pipe,id=strata41,path=/run/o/trace-path-cpu39'" lines
grep -qF 'nr=41,chardev=strata41,name=trace-path-cpu39' lines

# The disk is full: trace.json and the clock pairs are still written, because space for them was reserved.
start full much
mkdir full/out
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=1m none full/out 2>/dev/null; then
    mounted=$work/full/out
    run full ''
    ends full 1 'v: cannot write its pages: No space left on device'
    ! grep -q 'trace.json' full/told || fail "$(cat full/told)"
    ! grep -q ' 0 events' full/said || fail "$(cat full/said)"
    "$strata" info full/out >info 2>err
    grep -q 'problems *cannot write its pages: No space left on device' info || fail "$(cat info)"
    # What it sent is in the trace, or was counted: the summary and the trace say the same of it.
    written=$(sed -n 's/^  events  *\([0-9]*\) .*/\1/p' info)
    lost=$(sed -n "s/^  lost in all  *unknown; \([0-9]*\) by the recorder's count$/\1/p" info)
    [ $((written + lost)) -eq 1500907 ] || fail "$(cat info)"
    grep -q ", $written events" full/said || fail "$(cat full/said full/told info)"
    grep -q "  $lost events that came could not be written" full/told || fail "$(cat full/said full/told info)"
    grep -q "related to *the host's monotonic clock" info || fail "$(cat info)"
    umount -l full/out
    mounted=
else
    echo "collect: SKIPPED in part: no small file system can be mounted" >&2
fi

# Usage.
usage() {
    status=0
    "$strata" collect "$@" >out.txt 2>err.txt || status=$?
    [ $status -eq 2 ] || fail "collect $*: $status"
}
usage
usage -o x
usage -o x p
usage -o x -e 'a:*' tcp:localhost:1
usage -o x -e 'a:*' vsock:3:1
usage -o x -e 'a:*' ./p --kvm=other=1
usage -o x -e 'a:*' ./p --kvm=none
usage -o x -e 'a:*' a=p a=q
usage -o x -e 'a:*{' ./p
status=0
"$strata" collect -o good/out -e 'a:*' ./p >out.txt 2>err.txt || status=$?
[ $status -eq 1 ]
grep -q 'directory is not empty' err.txt
install -m 640 key open-key
status=0
"$strata" collect -o x -e 'a:*' ./p --key=open-key >out.txt 2>err.txt || status=$?
[ $status -eq 1 ]
grep -q 'open-key: others can read this key' err.txt

# What QEMU and libvirt need.
"$strata" collect --print-qemu /run/a,b >lines
grep -qF "path=/run/a,,b,server=on,wait=off" lines
grep -qF 'nr=1,' lines
"$strata" collect --print-qemu fifo:/run/p | grep -qF "pipe,id=strata1,path=/run/p"
"$strata" collect --print-qemu /run/p virtio-trace:/run/o --cpus=2 >lines
[ "$(grep -c virtserialport, lines)" -eq 4 ]
grep -qF 'socket,id=strata1,path=/run/p,server=on' lines
grep -qF 'nr=4,chardev=strata4,name=trace-path-cpu1' lines
usage --print-qemu ./a ./b
usage --print-qemu ./a fifo:./b
usage --print-qemu ./a virtio-trace:./b
"$strata" collect --print-libvirt '/run/a&b' | grep -qF "path='/run/a&amp;b'"
