#!/bin/sh
# strata top --batch: what it says of traces that are complete, against other commands; of a recording under way; and how it
# finds what is meant. $VICTIM: tests/runtime/victim.c.
. "$(dirname "$0")/../lib/golden.sh"

export XDG_RUNTIME_DIR="$work/run" LC_ALL=C.UTF-8
mkdir -m 700 run
pid='' kernel=''
ended() {
    [ -z "$pid" ] || kill -TERM $pid 2>/dev/null || true
    [ -z "$kernel" ] || kill -TERM $kernel 2>/dev/null || true
    wait
}
at_exit=ended

# refused STATUS MESSAGE WORD...: strata top WORD... says so.
refused() {
    wanted=$1 message=$2
    shift 2
    status=0
    "$strata" top "$@" >out 2>err </dev/null || status=$?
    [ $status -eq "$wanted" ] || fail "top $*: exit status $status: $(cat out err)"
    grep -qF -- "$message" err || fail "top $*: $(cat err)"
}

# ---- A virtual machine, by its host's kernel ----

case=kvm
mkdir kvm
tar -C kvm -xf "$DATA/kvm/exits.tar.xz"
"$strata" top --batch --iterations 1 kvm/trace >screen 2>err || fail "$(cat err)"
[ ! -s err ] || fail "$(cat err)"
[ "$(wc -L <screen)" -le 80 ] || fail "wider than a terminal: $(cat screen)"
grep -q '^strata top: kvm/trace  not being recorded: its last 2.45s$' screen || fail "$(cat screen)"
grep -q '^host  *host  *[1-9][0-9]* .* 0  *100ns$' screen || fail "$(cat screen)"
"$strata" sched -f json kvm/trace >sched.json
"$strata" report -f json kvm/trace >report.json
python3 "$here/top.py" 190 screen sched.json <report.json || fail "a vCPU: $(cat screen)"
# The same in one window as in several: what is known at the end of a window is carried over.
"$strata" top --batch --iterations 1 -d 3 kvm/trace >one || fail "-d 3"
"$strata" top --batch --iterations 1 -d 0.1 kvm/trace >many || fail "-d 0.1"
sed -n '/^VCPUS/,/^EVENT/p' screen | sed '$d' >several
sed -n '/^VCPUS/,/^EVENT/p' one | sed '$d' | cmp several - || fail "$(cat one)"
! cmp -s one many || fail "--delay changes nothing"
# Exits: their numbers per second, of 2.4525 s.
"$strata" exits -f json kvm/trace | jq -r '.rows[] | "\(.key.reason) \(.n / 2.452466719)"' >exits
while read -r reason rate; do
    awk -v reason="$reason" -v rate="$rate" '$1 == reason { d = $2 - rate; found = d < 0.6 && d > -0.6 }
        END { exit !found }' screen || fail "$reason, $rate/s: $(cat screen)"
done <exits
[ -s exits ] || fail "no exits"
# Orders.
sed -n '/^EXITS/,/^$/p' screen | sed '1d;/^$/d' >by-number
"$strata" top --batch --iterations 1 --sort name kvm/trace | sed -n '/^EXITS/,/^$/p' | sed '1d;/^$/d' >by-name
"$strata" top --batch --iterations 1 --sort time kvm/trace | sed -n '/^EXITS/,/^$/p' | sed '1d;/^$/d' >by-time
LC_ALL=C sort by-number | cmp by-name - || fail "--sort name: $(cat by-name)"
head -n 1 by-time | grep -q '^io ' && head -n 1 by-number | grep -q '^cpuid ' || fail "$(cat by-time by-number)"
# ASCII, where that is all that may be shown.
LC_ALL=C "$strata" top --batch --iterations 1 kvm/trace >ascii
! LC_ALL=C grep -q '[^ -~]' ascii || fail "not ASCII: $(cat ascii)"

# What only the recorder knows was lost may be of any window.
! grep -q 'lost events' screen || fail "$(cat screen)"
cp -r kvm/trace kvm/lossy
sed -i 's/"lost": 0/"lost": 7/' kvm/lossy/trace.json
"$strata" top --batch --iterations 1 kvm/lossy >lossy 2>err || fail "$(cat err)"
grep -q "^'host' lost events in all of its recording, maybe in these windows\$" lossy &&
    grep -q '^host  *host .* unknown  *100ns$' lossy || fail "$(cat lossy)"

# ---- Requests, by all layers ----

case=io
mkdir io
tar -C io -xf "$DATA/io/virtio-blk.tar.xz"
"$strata" top --batch --iterations 1 io/vm >screen || fail top
# Those of guest and host that have ended; what is open stands before, with a +.
sed -n '/^ DURATION/,/^$/p' screen | awk '$1 ~ /^[0-9.]+(ms|us|s)$/ && $4 != "discard" { print $1, $4 }' | head -n 3 >slowest
"$strata" io -f json --slowest 9 io/vm |
    jq -r '.slowest[] | select(.key.layer != "vmm" and (.open | not)) | "\(.end_ns - .begin_ns) \(.key.kind)"' | head -n 3 >wanted
[ -s slowest ] && [ -s wanted ] || fail "nothing: $(cat screen)"
paste -d' ' slowest wanted | awk '{ ms = $3 / 1e6; d = $1 - ms; if (d < 0) d = -d
    if ($1 !~ /ms$/ || d > 0.06 || $2 != $4) exit 1 }' || fail "$(paste slowest wanted): $(cat screen)"
grep -q '^ *[0-9.]*s+ .* ago  discard host ' screen || fail "no open request: $(cat screen)"
# The largest error of a clock is that of the guest.
grep -q '^guest  *guest .* 64.3us$' screen || fail "$(cat screen)"

# ---- A CPU that is missing ----

# An exit or request may have ended there, and its thread or sectors may have had another one: what spans it is not paired.
case=missing
for cpu in 0 1; do
    cp -r kvm/trace missing$cpu
    rm missing$cpu/host/cpu$cpu.raw
    for delay in 1 0.1 3; do
        "$strata" top --batch --iterations 1 -d $delay missing$cpu >screen 2>err || fail "$(cat err)"
        "$strata" exits -f json missing$cpu 2>err | jq -r '.rows[] | "\(.key.reason) \(.max)"' >exits
        [ -s exits ] || fail "no exits"
        while read -r reason max; do
            awk -v reason="$reason" -v max="$max" '$1 == reason && $2 ~ /[+]$/ { unit = $4 ~ /ms$/ ? 1e6 : $4 ~ /us$/ ? 1e3 : 1e9
                d = $4 * unit - max; found = d < max / 150 && d > -max / 150 } END { exit !found }' screen ||
                fail "-d $delay: $reason, at most ${max}ns: $(cat screen)"
        done <exits
    done
done
cp -r io/vm missing
rm missing/host/cpu1.raw
"$strata" top --batch --iterations 1 missing >screen 2>err || fail "$(cat err)"
grep -q '^ *8.44ms .* ago  flush  *guest ' screen && ! grep -q ' ago  [a-z]*  *host ' screen || fail "$(cat screen)"
for lost in '' cpu1 part; do
    python3 "$here/made_requests.py" made$lost $lost || fail "made"
    "$strata" top --batch --iterations 1 -d 0.1 made$lost >screen 2>err || fail "$(cat err)"
    ! sed -n '/^ DURATION/,/^$/p' screen | grep ' ago  read ' | grep -v '^ *5.00ms ' || fail "$lost: $(cat screen)"
    [ "$lost" = cpu1 ] || grep -q '^ *5.00ms .* ago  read ' screen || fail "$lost: $(cat screen)"
    "$strata" io --keep-going --events -f json made$lost >events 2>err || fail "io: $(cat err)"
    jq -s -e 'all(.end_ns - .begin_ns == 5000000)' events >/dev/null || fail "$lost: $(cat events)"
done

# ---- A clock that is not known, a trace without events ----

case=other
xz -dc "$DATA/xen/xen-4.17-no-guest-class.raw.xz" >xen.raw
refused 1 "xen.raw: the rate of its clock is unknown; use 'strata stat'" --batch --iterations 1 xen.raw
xz -dc "$DATA/qemu/stock-qemu.log.xz" >qemu.log
"$strata" top --batch --iterations 1 qemu.log | grep -q '^qemu.log  *vmm .* unknown$' || fail "the error of a clock is known"

# ---- Which ----

case=which
refused 1 "process $$ is not being recorded; record a program with: strata record" --batch $$
refused 1 "there is no process 4194305" --batch 4194305
refused 1 "nosuch: there is no such trace directory, and no QEMU of this name runs; 'strata list' shows" --batch nosuch
refused 2 "not on a terminal; use --batch, as in: strata top --batch --iterations 1" kvm/trace
refused 2 "--iterations requires --batch" --iterations 1 kvm/trace
refused 2 "more than one recording given" --batch kvm/trace io/vm
refused 2 "-d '0.01' is not from 0.1 to 3600 seconds" --batch -d 0.01 kvm/trace

# ---- A program, live ----

case=program
"$strata" record -o trace -- "$VICTIM" run counters 1 0 500 2>told &
pid=$!
wait_for '[ -e trace/trace.json ] && [ -s trace/program/stream-0 ]'
# A busy machine may give the program no CPU in these windows: then in others.
shows_program() {
    "$strata" top --batch --iterations 3 -d 0.2 trace >screen 2>err || fail "$(cat err)"
    [ "$(grep -c '^strata top: trace  recorded by process '$pid'$' screen)" -eq 3 ] || fail "not three screens: $(cat screen)"
    grep -q '^program  *vmm  *[1-9]' screen && grep -q '^victim_tick  *[1-9].* program$' screen
}
wait_for shows_program
# By the process that is recorded, and by its recorder.
program=$(jq '.sources[0].vmm.pid' trace/trace.json)
for process in "$program" $pid; do
    "$strata" top --batch --iterations 1 "$process" | grep -q "^strata top: $work/trace  recorded by process $pid\$" || fail "by process $process"
done
# Without an operand: this one, or a list where there are others on this machine.
"$strata" top --batch --iterations 1 >screen 2>err || true
grep -q "^strata top: $work/trace  recorded" screen || grep -q "^  strata top $work/trace\$" err || fail "$(cat screen err)"
# A signal ends top and not the recording; the last screen is whole. A script has SIGINT ignored in what it starts with &; a
# SIGINT that is sent counts all the same.
for signal in INT TERM; do
    for from in default ignore; do
        : >screen
        env --$from-signal=INT "$strata" top --batch -d 0.2 trace >screen 2>err &
        top=$!
        wait_for '[ -s screen ]'
        kill -$signal $top
        status=0
        wait $top || status=$?
        [ $status -eq 0 ] && [ ! -s err ] || fail "SIG$signal ($from): status $status: $(cat err)"
        awk '/^strata top:/ { n++; head = $0 } { part[n] = part[n] $1 " " } END { exit !(part[n] ~ /SOURCE .*program .*EVENT /) }' screen ||
            fail "SIG$signal: the last screen is not whole: $(cat screen)"
        kill -0 $pid || fail "the recording has ended"
    done
done
# When it ends, so does top.
"$strata" top --batch -d 0.2 trace >screen 2>err &
top=$!
wait_for '[ -s screen ]'
kill -TERM $pid
wait $pid || true
pid=
status=0
wait $top || status=$?
[ $status -eq 0 ] || fail "status $status: $(cat err)"
tail -n 40 screen | grep -q '^strata top: trace  not being recorded' || fail "$(cat screen)"

# ---- The host's kernel, live ----

if ! can_trace_kernel; then
    echo "top: SKIPPED in part: $no_kernel" >&2
    exit 0
fi
case=kernel
"$strata" record -o kernel --flight=20s,50M --event=host:sched >out 2>told &
kernel=$!
wait_for '[ -S kernel/control.sock ] && [ -e kernel/trace.json ]'
# A busy machine may give the recorder no CPU in such a window: then in another one.
shows_kernel() {
    "$strata" top --batch --iterations 3 -d 0.3 kernel >screen 2>err || fail "$(cat err told)"
    tail -n 20 screen | grep -q '^sched_switch  *[1-9].* host$' &&
        tail -n 20 screen | grep -q '^host  *host  *[1-9].* [0-9.]*ns$'
}
wait_for shows_kernel
