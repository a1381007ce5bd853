#!/bin/sh
# strata record --flight: the last seconds or bytes of each layer are kept, and saved as traces without stopping anything.
# $EMIT: tests/runtime/emit.c.
. "$(dirname "$0")/../lib/golden.sh"

XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
mkdir -m 700 run
pids=
at_exit='[ -z "$pids" ] || kill -KILL $pids 2>/dev/null || :'
skipped=

# kept FILE...: bytes that they use on the disk.
kept() {
    stat -c '%b %B' "$@" | awk '{ n += $1 * $2 } END { print n + 0 }'
}

# reads TRACE: it is a trace, complete, in which events are in order; into `report`.
reads() {
    "$strata" report "$1" >report 2>errors || fail "$1: $(cat errors)"
    [ ! -s errors ] || fail "$1: $(cat errors)"
    cut -d' ' -f1 report | sort -n -c || fail "$1: is not in order"
    [ "$(jq '[.sources[].complete] | all' "$1/trace.json")" = true ] || fail "$(cat "$1/trace.json")"
}

# ask DIR LINE...: asks the recorder at once, on a connection for each line; prints the answers in that order.
ask() {
    python3 - "$@" <<'END'
import os, socket, sys
os.chdir(sys.argv[1])
asked = []
for line in sys.argv[2:]:
    s = socket.socket(socket.AF_UNIX)
    s.connect("control.sock")
    s.sendall(line.encode() + b"\n")
    asked.append(s)
for s in asked:
    print(s.makefile().read(), end="")
END
}

# take DIR: $snapshot, of the recording there. One of which the agent's part is missing, as it had no CPU for a second, is taken again.
take() {
    until take_whole "$1"; do sleep 0.1; done
}
take_whole() {
    snapshot=$("$strata" ctl "$1" snapshot 2>told) || fail "no snapshot: $(cat told)"
    ! grep -q 'did not send them within a second' told
}

# ---- A program, by bytes ----

case=program
# Half of its events, then the rest: 400,000 of four threads, some 10 MB.
"$strata" record -o program --flight=2M -- "$EMIT" -q -w go 50000 4 >out 2>err &
pid=$!
pids="$pids $pid"
# No more comes, so what is kept has come within the limit.
wait_for '[ -e program/program/stream-0 ] && [ "$(kept program/program/stream-*)" -gt 100000 ] &&
    "$strata" stat program 2>/dev/null | grep -q . && [ -S program/control.sock ]'
first=$("$strata" ctl program snapshot one) || fail "snapshot: $first"
[ "$first" = "$work/program/snapshots/one" ] || fail "not the path: $first"
reads "$first"
[ "$(jq -r .snapshot.reason "$first/trace.json")" = request ] || fail "$(cat "$first/trace.json")"
"$strata" info "$first" >info || fail "info"
grep -q 'snapshot by *request' info || fail "$(cat info)"
"$strata" ctl program snapshot one 2>told && fail "two snapshots of one name"
grep -q "there is a snapshot 'one'" told || fail "$(cat told)"
"$strata" ctl program snapshot ../one 2>told && fail "a snapshot elsewhere"
grep -q "letters, digits" told || fail "$(cat told)"
second=$("$strata" ctl program snapshot)
third=$("$strata" ctl program snapshot)
[ "$second" != "$third" ] && [ -d "$second" ] && [ -d "$third" ] || fail "snapshots: $second $third"
: >go
wait $pid || fail "exit status $?: $(cat out err)"
[ "$(ls program/snapshots | wc -l)" -eq 3 ] && [ -z "$(ls -A program/snapshots | grep '^\.')" ] ||
    fail "left: $(ls -A program/snapshots)"
[ ! -e program/control.sock ] || fail "the socket is left"
"$strata" ctl program snapshot 2>told && fail "a snapshot of nothing"
grep -q 'nothing is being recorded there' told || fail "$(cat told)"
reads program
tail -n 1 report >last
"$strata" report "$first" >report 2>errors || fail "$(cat errors)"
! grep -qF "$(cat last)" report || fail "the snapshot has what came later"

# ---- Losses: those of what a snapshot has ----

case=losses
# lost_of NAME: "MANIFEST RECORDS" of a snapshot, and the exit status of --strict.
lost_of() {
    "$strata" ctl losses snapshot "$1" >told || fail "$(cat told)"
    strict=0
    "$strata" report --strict "losses/snapshots/$1" >report 2>/dev/null || strict=$?
    echo "$(jq '.sources[0].lost' "losses/snapshots/$1/trace.json") $("$strata" info -f json "losses/snapshots/$1" |
        jq '.lost.events') $strict"
}
# has_dropped PID: the program has dropped events.
has_dropped() {
    "$strata" ctl -f json "$1" stats 2>/dev/null | jq -se 'any(.[]; .kind == "program" and .dropped > 0)' >/dev/null
}
# The half that it emits at once is more than its rings hold, and is five seconds old in the end; where it was that before
# the snapshot was taken, there was nothing to be lost: then again.
tries=10
until [ $tries -eq 0 ]; do
    tries=$((tries - 1))
    rm -rf go losses
    # The recorder stands still until something is lost, so that it cannot keep up, however slow the program is.
    # shellcheck disable=SC2016 # of that shell
    STRATA_TRACE='*;ring=64k,subbuffer=8k' "$strata" record -o losses --flight=5s -- \
        sh -c 'kill -STOP $PPID; exec "$EMIT" -q -w go 40000 2' >out 2>err &
    pid=$!
    pids="$pids $pid"
    wait_for 'has_dropped "$(tr -d " " <"/proc/$pid/task/$pid/children")"'
    kill -CONT $pid
    wait_for '[ -S losses/control.sock ] && "$strata" stat losses 2>/dev/null | grep -q .'
    first=$(lost_of first)
    "$strata" report losses/snapshots/first 2>/dev/null >report
    [ ! -s report ] || break
    : >go
    wait $pid || fail "exit status $?: $(cat out err)"
done
[ "${first% 3}" != "$first" ] && [ "${first%% *}" -gt 0 ] || fail "$first"
wait_for '[ "$(kept losses/program/stream-*)" -lt 10000 ]'
# … and are reported while it is recorded.
wait_for 'grep -q "^strata: program: [0-9]* events were lost so far$" err'
[ "$(lost_of quiet)" = "0 0 0" ] || fail "nothing came, and $(lost_of again)"
: >go
wait $pid || fail "exit status $?: $(cat out err)"

# ---- By bytes, while they come: what is kept is the end of what was written, without a gap ----

case=bytes
# keeps_some: a snapshot is taken, and the recording ends before the program has emitted another megabyte, so that what is kept
# then begins within the snapshot.
keeps_some() {
    rm -rf bytes
    "$strata" record -o bytes --flight=1M -- "$EMIT" -q -p 10000 10000000 1 >out 2>err &
    pid=$!
    pids="$pids $pid"
    # The file is several times as long as what is kept of it.
    wait_for '[ -e bytes/program/stream-0 ] && [ "$(stat -c %s bytes/program/stream-0)" -gt 1500000 ]'
    wait_for '[ "$(kept bytes/program/stream-*)" -lt 1300000 ] || ! kill -0 $pid 2>/dev/null'
    snapshot=$("$strata" ctl bytes snapshot)
    kill -TERM $pid
    wait $pid || :
    reads "$snapshot"
    end=$(tail -n 1 report | cut -d' ' -f1)
    cut -d' ' -f2- report >of-snapshot
    "$strata" report bytes >report.bytes 2>errors || fail "$(cat errors)"
    begin=$(head -n 1 report.bytes | cut -d' ' -f1)
    cut -d' ' -f2- report.bytes >report
    [ "$(printf '%s\n' "$begin" "$end" | sort -n | head -n 1)" = "$begin" ]
}
# Where this test has no CPU for as long: again.
wait_for keeps_some
# (The rate of its clock is known better at the end, so times differ by nanoseconds.) The events of the snapshot that are
# still kept stand in the trace one after the other, as they stand in the snapshot.
python3 - <<'END' || fail "what is kept is not the end of what was written"
saved, kept = open("of-snapshot").read().splitlines(), open("report").read().splitlines()
begins = [i for i in range(len(saved)) if saved[i : i + 50] == kept[:50]]
assert len(begins) == 1, begins
rest = saved[begins[0] :]
assert len(rest) >= 50 and kept[: len(rest)] == rest
END

# ---- Killed ----

case=killed
"$strata" record -o killed --flight=1M -- "$EMIT" -q -p 5000 10000000 1 >out 2>err &
pid=$!
pids="$pids $pid"
wait_for '[ -e killed/program/stream-0 ] && [ "$(stat -c %s killed/program/stream-0)" -gt 1500000 ]'
wait_for '[ "$(kept killed/program/stream-*)" -lt 1300000 ]'
program=$(jq '.sources[] | select(.name == "program").vmm.pid' killed/trace.json)
pids="$pids $program" # which goes on
kill -KILL $pid
wait $pid || :
"$strata" report killed >report 2>errors || fail "$(cat errors)"
[ "$(wc -l <report)" -gt 1000 ] || fail "only $(wc -l <report) events are left"
cut -d' ' -f1 report | sort -n -c || fail "is not in order"
# What its rings hold comes to the rest, whose beginning was released.
kill -KILL "$program"
wait_for '! kill -0 $program 2>/dev/null'
# Unless another test's recorder is at it, or has done it.
wait_for '"$strata" recover "$program" >told 2>&1 || ! grep -q "another strata is reading these rings" told'
grep -q 'recovered into its trace\|has left nothing' told || fail "$(cat told)"
"$strata" report killed 2>errors | cut -d' ' -f2- >recovered || fail "$(cat errors)"
cut -d' ' -f2- report | head -n 1000 >begin
head -n 1000 recovered | cmp - begin || fail "what was recorded begins otherwise"
[ "$(wc -l <recovered)" -ge "$(wc -l <report)" ] || fail "$(cat told)"

# ---- QEMU and the kernel of this host, by time ----

case=qemu
qemu=$(command -v qemu-system-x86_64) || skipped="$skipped; qemu-system-x86_64 is not installed"
host=
if can_trace_kernel; then
    host=--event=host:sched:sched_switch
else
    skipped="$skipped; $no_kernel"
fi
if [ "$qemu" ]; then
    mkfifo monitor
    # shellcheck disable=SC2086 # nothing, or a word
    "$strata" record -o vm --flight=1s $host -e 'visit_*,handle_qmp_command' -- \
        "$qemu" -machine none -nodefaults -display none -qmp stdio <monitor >out 2>err &
    pid=$!
    pids="$pids $pid"
    exec 9>monitor
    printf '{"execute":"qmp_capabilities"}\n' >&9
    # Commands, until the log has a hole at its beginning.
    wait_for 'printf "{\"execute\":\"query-version\"}\n" >&9; [ -e vm/vmm/trace.log ] && [ -S vm/control.sock ] &&
        [ "$(kept vm/vmm/trace.log)" -lt "$(stat -c %s vm/vmm/trace.log)" ]'
    # A second after its last command QEMU has nothing in a snapshot.
    # shellcheck disable=SC2016 # for wait_for
    wait_for 'printf "{\"execute\":\"query-version\"}\n" >&9; take_whole vm &&
        "$strata" report --source=vmm --limit 1 "$snapshot" 2>/dev/null | grep -q .'
    reads "$snapshot"
    for name in vmm ${host:+host}; do
        "$strata" report --source=$name --limit 1 "$snapshot" >one 2>errors
        [ -s one ] || fail "nothing of $name: $(cat errors)"
    done
    # A reader that gets no CPU for a second finds pages that were released meanwhile, or nothing: the rest was, and the kernel
    # holds what is new.
    shows_vm() {
        printf '{"execute":"query-version"}\n' >&9
        if "$strata" report vm >report 2>errors; then
            ! grep -v 'still recording' errors >&2 || fail "$(cat errors)"
            [ -s report ]
        else
            grep -q 'a page that was never written' errors || fail "$(cat errors)"
            false
        fi
    }
    wait_for shows_vm
    printf '{"execute":"quit"}\n' >&9
    exec 9>&-
    wait $pid || fail "exit status $?: $(cat out err)"
    reads vm
fi

# ---- What runs already ----

case='attached program'
mkdir rings
rm -f go
"$EMIT" -q -w go -t '*,writer=none,rings=rings' 1000 1 >/dev/null 2>&1 &
program=$!
pids="$pids $program"
wait_for '[ -e rings/*/ring-0 ]'
"$strata" record -o attached --flight=600s --attach rings/* >out 2>err &
pid=$!
pids="$pids $pid"
wait_for '[ -S attached/control.sock ] && "$strata" stat attached 2>/dev/null | grep -q " 500 events"'
snapshot=$("$strata" ctl attached snapshot)
reads "$snapshot"
[ "$(wc -l <report)" -eq 500 ] || fail "$(wc -l <report) events of 500"
: >go
wait $pid || fail "exit status $?: $(cat out err)"
reads attached
[ "$(wc -l <report)" -eq 1000 ] || fail "$(wc -l <report) events of 1000"

case='attached QEMU'
if [ "$qemu" ]; then
    "$qemu" -machine none -nodefaults -display none -msg timestamp=on -qmp unix:qmp,server=on,wait=off >/dev/null 2>&1 &
    machine=$!
    pids="$pids $machine"
    wait_for '[ -S qmp ]'
    "$strata" record -o machine --flight=60s -e handle_qmp_command --attach ./qmp >out 2>err &
    pid=$!
    pids="$pids $pid"
    wait_for '"$strata" ctl machine list runstate_set 2>/dev/null | grep -q .'
    before=0
    for n in 1 2 3; do
        "$strata" ctl machine list runstate_set >told 2>&1 || fail "$(cat told)" # a command of QMP, or some
        snapshot=$("$strata" ctl machine snapshot $n)
        reads "$snapshot"
        [ "$(wc -l <report)" -gt "$before" ] || fail "no command is in the snapshot"
        before=$(wc -l <report)
    done
    kill -TERM $pid
    wait $pid || fail "exit status $?: $(cat out err)"
    reads machine
    # A machine without a bus for a port: its kernel is not recorded, which is reported at once.
    "$strata" record -o portless --flight=60s --guest -e handle_qmp_command --attach ./qmp >out 2>err &
    pid=$!
    pids="$pids $pid"
    wait_for 'grep -q "^strata: vmm: the guest.s kernel is not recorded: QEMU cannot add a port" err'
    kill -TERM $pid
    wait $pid || :
    kill $machine
fi

# ---- A QEMU that writes its trace by itself: what is asked of it says so ----

case=simple
if [ "$qemu" ]; then
    cat >with-simple.py <<'END'
import os, select

while line := os.read(0, 1 << 16):
    line = line.replace(b"unknown command: 'trace-file'", b"trace-file on|off|flush|set [arg] -- open, close, or flush")
    while line:
        select.select([], [1], []) # it is a socket that does not wait
        line = line[os.write(1, line[:4096]):]
END
    cat >qemu-system-simple <<END
#!/bin/sh
$qemu "\$@" | python3 $work/with-simple.py
END
    chmod +x qemu-system-simple
    "$strata" record -o simple --flight=1M -- ./qemu-system-simple -machine none >out 2>err && fail "it is recorded"
    grep -q 'writes its trace by itself, with the backend simple' err || fail "$(cat err)"
    [ ! -e simple ] || fail "a directory is left"
fi

# ---- The kernel of this host holds what it records, and hands it over for a snapshot ----

case=held
. "$here/../lib/stated_files.sh"
if [ "$host" ]; then
    "$strata" record -o held --flight=60s --event=host:sched:sched_process_exec -- "$EMIT" -q -w go-on 1000 1 >out 2>err &
    pid=$!
    pids="$pids $pid"
    wait_for '{ [ -e held/program/stream-0 ] && [ -S held/control.sock ]; } || ! kill -0 $pid 2>/dev/null'
    for n in 1 2 3; do
        ln -s /bin/true seen-$n
        ./seen-$n
        take held
        "$strata" report --source=host "$snapshot" >report 2>errors || fail "$(cat errors)"
        grep -q "filename=./seen-$n " report || fail "the snapshot has no seen-$n: $(cat report errors)"
        [ ! -s errors ] || fail "$(cat errors)"
        check_stated_files "$snapshot" || fail "the snapshot states other files than it has: $(cat "$snapshot/trace.json")"
        # What the host did since it was asked is not in it.
        jq -e '[.sources[] | {(.name): .ended.monotonic_ns}] | add | .host < .program' "$snapshot/trace.json" >out.json ||
            fail "the host's end: $(cat "$snapshot/trace.json")"
    done
    : >go-on
    wait $pid || fail "exit status $?: $(cat out err)"
    reads held
    check_stated_files held || fail "trace.json: $(cat held/trace.json)"
fi

# ---- What is held is brought to the files, also while snapshots are taken ----

case=flush
if [ "$host" ]; then
    "$strata" record -o flush --flight=60s --event=host:sched:sched_process_exec -- "$EMIT" -q -w go-flush 1000 1 >out 2>err &
    pid=$!
    pids="$pids $pid"
    wait_for '{ [ -e flush/program/stream-0 ] && [ -S flush/control.sock ]; } || ! kill -0 $pid 2>/dev/null'
    ln -s /bin/true flushed
    for n in 1 2 3; do
        ./flushed
        # Seven at once are served.
        ask flush "snapshot a$n" flush "snapshot b$n" flush nonsense "snapshot a$n" flush >answers
        [ "$(grep -c '^ok [0-9]*\( late host\)*$' answers)" -eq 3 ] || fail "flush: $(cat answers)"
        [ "$(grep -c "^ok .*/snapshots/[ab]$n\$" answers)" -eq 2 ] || fail "snapshots: $(cat answers)"
        grep -q "^error there is a snapshot 'a$n'" answers && grep -q '^error unknown request' answers ||
            fail "errors: $(cat answers)"
        sed -n 's/^ok \([0-9]*\)\( late host\)*$/\1/p' answers | sort -n -c || fail "flushes: $(cat answers)"
        # The agent may have had no CPU for a second.
        until grep -q '^ok [0-9]*$' answers; do ask flush flush >answers; done
        "$strata" report --source=host flush >report 2>errors || fail "$(cat errors)"
        [ "$(grep -c 'filename=./flushed ' report)" -eq $n ] || fail "not flushed: $(cat report answers)"
    done
    # One that went away meanwhile holds nothing up.
    python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("flush/control.sock"); s.sendall(b"flush\n")'
    ask flush flush >answers
    grep -q '^ok [0-9]*\( late host\)*$' answers || fail "$(cat answers)"
    : >go-flush
    wait $pid || fail "exit status $?: $(cat out err)"
    reads flush
fi

# ---- What ends while the rest goes on is reported at once, and in snapshots ----

case='log full'
if [ "$qemu" ]; then
    mkfifo monitor-full
    yes '{"execute":"query-version"}' | head -n 500 >batch
    (
        ulimit -f 4096
        exec "$strata" record -o log --flight=60s -e 'visit_*,handle_qmp_command' -- \
            "$qemu" -machine none -nodefaults -display none -qmp stdio <monitor-full >/dev/null 2>err
    ) &
    pid=$!
    pids="$pids $pid"
    exec 9>monitor-full
    printf '{"execute":"qmp_capabilities"}\n' >&9
    wait_for 'cat batch >&9; grep -q "^strata: vmm: QEMU.s log ends after [0-9]* bytes: " err'
    wait_for 'cat batch >&9; grep -q "^strata: vmm: [0-9]* events* w[aer]*s* lost so far$" err'
    [ "$(grep -c 'log ends after' err)" -eq 1 ] || fail "$(cat err)"
    snapshot=$("$strata" ctl log snapshot 2>told) || fail "$(cat told)"
    grep -q '^warning: vmm: QEMU.s log ends after' told || fail "$(cat told)"
    jq -e '.sources[0].problems[0] | test("log ends after")' "$snapshot/trace.json" >/dev/null ||
        fail "$(cat "$snapshot/trace.json")"
    printf '{"execute":"quit"}\n' >&9
    exec 9>&-
    wait $pid || : # lines are lost
fi

case='disk full'
. "$here/../lib/mount_namespace.sh"
if [ "$host" ] && ! has_mount_namespace .; then
    skipped="$skipped; a full disk: $no_namespace"
elif [ "$host" ]; then
    cat >full.sh <<'END'
mkdir disk
mount -t tmpfs -o size=4M none disk || fail "no file system can be mounted"
rm -f go
"$strata" record -o disk/full --flight=600s --event=host:sched:sched_process_exec,host:sched:sched_process_fork -- \
    "$EMIT" -q -w go 1000 1 >out 2>err &
pid=$!
wait_for '[ -e disk/full/program/stream-0 ] && [ -S disk/full/control.sock ]'
dd if=/dev/zero of=disk/filler bs=4k 2>/dev/null || :
# What is released to go on, others take at once.
wait_for 'for i in 1 2 3 4 5 6 7 8 9; do /bin/true | /bin/true; done; cat /dev/zero >>disk/filler 2>/dev/null || :; ask disk/full flush >/dev/null
    grep -q "^strata: host: the disk was full: events were dropped until there was space$" err'
rm disk/filler
"$strata" ctl disk/full snapshot after >out 2>told || fail "$(cat told)"
grep -q '^warning: host: the disk was full: ' told || fail "$(cat told)"
"$strata" info disk/full/snapshots/after >info 2>&1 || fail "$(cat info)"
grep -q 'problems .*the disk was full' info || fail "$(cat info)"
# The kernel is still recorded.
cp /bin/true after-all
./after-all
"$strata" ctl disk/full snapshot later >out 2>told || fail "$(cat told)"
"$strata" report -e sched_process_exec disk/full/snapshots/later 2>&1 | grep -q after-all || fail "nothing came after that"
: >go
wait $pid || :
! grep -q 'has ended' err || fail "$(cat err)"
[ "$(grep -c 'the disk was full' err)" -eq 2 ] || fail "not once, and at the end: $(cat err)"
END
    sed -n "/^ask() {/,/^}/p" "$here/record_flight.sh" >ask.sh
    status=0
    (
        export strata EMIT
        in_mount_namespace sh -c ". '$here/../lib/wait_for.sh'; . ./ask.sh; fail() { echo \"disk full: \$*\" >&2; exit 1; }; . ./full.sh"
    ) || status=$?
    [ $status -eq 0 ] || fail "status $status"
fi

# Less is kept while others fill the disk, and recording goes on.
case='disk nearly full'
if has_mount_namespace .; then
    cat >nearly.sh <<'END'
mkdir small
mount -t tmpfs -o size=64M none small || fail "no file system can be mounted"
rm -f go
"$strata" record -o small/trace --flight=1h -- "$EMIT" -q -w go 50000 4 >out 2>err &
pid=$!
used() {
    stat -c '%b %B' small/trace/program/stream-* | awk '{ n += $1 * $2 } END { print n + 0 }'
}
# Its first half.
wait_for '[ "$("$strata" info -f json small/trace 2>/dev/null | jq -s "map(.events) | add")" = 100000 ]'
before=$(used)
head -c $(($(df --output=avail -B1 small | tail -n 1) - 2000000)) /dev/zero >small/others
wait_for 'grep -q "the disk is nearly full: less is kept than --flight says" err && [ "$(used)" -lt "$before" ]'
rm small/others
: >go
wait $pid || fail "exit status $?: $(cat out err)"
"$strata" report small/trace >report 2>errors || fail "$(cat errors)"
tail -n 1 report | grep -q emit_ || fail "$(tail -n 3 report)"
! grep -q 'No space' out err || fail "$(cat out err)"
END
    (
        export strata EMIT
        in_mount_namespace sh -c ". '$here/../lib/wait_for.sh'; fail() { echo \"disk nearly full: \$*\" >&2; exit 1; }; . ./nearly.sh"
    ) || fail "status $?"
fi

# ---- What cannot be ----

case=options
for bad in 60 60x s 0s 0M , 60s, 1G,; do
    "$strata" record -o bad --flight="$bad" -- "$EMIT" 1 1 >out 2>err && fail "--flight=$bad"
    grep -q 'is neither a time nor a size' err || fail "--flight=$bad: $(cat err)"
done
"$strata" record -o bad --flight=1M --max-size=1M -- "$EMIT" 1 1 >out 2>err && fail "--flight with --max-size"
grep -q -e '--max-size excludes --flight' err || fail "$(cat err)"
"$strata" record -o bad --flight=1M --keep-in-memory=1M --percpu none >out 2>err && fail "--flight with --keep-in-memory"
grep -q -e '--keep-in-memory excludes --flight' err || fail "$(cat err)"
[ ! -e bad ] || fail "a directory is left"

[ -z "$skipped" ] || {
    echo "record_flight: SKIPPED in part: ${skipped#; }" >&2
    exit 77
}
