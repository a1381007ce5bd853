#!/bin/sh
# Recording from per-CPU buffers of a program, examples/toy-hypervisor ($TOY): counts that agree to the
# last record, losses, masks that are restored, one recorder at a time.
set -eu

dir=$(mktemp -d)
name=strata-test-$$
toy= qemu=
trap 'kill $toy $qemu 2>/dev/null || :; rm -rf "$dir" "/dev/shm/$name" "/dev/shm/$name-other"' EXIT
strata=$STRATA_BIN/strata
. "$(dirname "$0")/../lib/wait_for.sh"
events=$(cd "$(dirname "$0")/../../examples/toy-hypervisor" && pwd)/events
cd "$dir"
[ -w /dev/shm ] || { echo "SKIPPED: /dev/shm cannot be written"; exit 77; }

fail() {
    echo "percpu_record: $*" >&2
    for file in toy.out toy.err record.out record.err; do
        [ ! -s $file ] || sed "s/^/$file: /" $file >&2
    done
    exit 1
}

# start_toy OPTION...
start_toy() {
    : >toy.out
    "$TOY" -buffer "$name" "$@" >toy.out 2>toy.err &
    toy=$!
    wait_for test -s toy.out
}

# The word at OFFSET of the area.
word() {
    od -A n -t x4 -j "$1" -N 4 "/dev/shm/$name" | tr -d ' \n'
}
is_on() {
    [ "$(word 128)" = 00000001 ]
}

# record OPTION...: in the background, from before the toy begins until it has ended.
record() {
    rm -rf trace
    "$strata" record --percpu "$name" -o trace "$@" >record.out 2>record.err &
    recorder=$!
}
end_record() {
    [ -z "$toy" ] || wait $toy || fail "the toy failed"
    toy=
    # The recorder ends with it.
    status=0
    wait $recorder || status=$?
}

traced() {
    sed -n 's/^cpu.* \([0-9]*\) records$/\1/p' toy.out | awk '{ n += $1 } END { print n }'
}
lost() {
    jq .sources[0].lost trace/trace.json
}
# The loss that is printed of this machine's kernel, of which a busy machine may lose events, is that of the trace.
says_host() {
    [ -z "$host" ] || grep -q "^  host  *[0-9]* events*, $(jq '.sources[] | select(.name == "host").lost' trace/trace.json) lost" record.err
}
reported() {
    "$strata" report trace 2>/dev/null | grep -vc LOST || :
}

# ---- Nothing is lost ----

start_toy -wait -cpus 3 -exits 4000 -pages 1024
record --trace-events "$events"
end_record
[ $status -eq 0 ] || fail "the recorder ended with $status"
n=$(traced)
[ "$n" -gt 20000 ] || fail "too few records"
[ "$(reported)" -eq "$n" ] || fail "$(reported) of $n are in the report"
[ "$(lost)" -eq 0 ] || fail "$(lost) are said to be lost"
grep -q "^$n events written to trace " record.out || fail "the recorder counted otherwise"
"$strata" report --strict trace >report
for field in ' toy_tick: cpu=[012] count=[0-9]* in_guest=[01]$' ' vmexit: reason=npf rip=0xffffffff8100000[0-9]$' \
    ' d[123]v[012] toy_page: vcpu=[012] dom=[123] address=0x[0-9a-f]*000$' ' switch: .*next_dom=[123] '; do
    grep -q "$field" report || fail "no $field in: $(head -n 20 report)"
done
[ "$(grep -c ' vmexit: ' report)" -eq 12000 ] || fail "not as many exits as there were"
"$strata" info trace >info
for line in 'buffers  *'"$name" 'recorded cpus  *0-2' 'complete  *yes' 'lost  *nothing' \
    'clock  *tsc, [0-9]* ticks'; do
    grep -q "$line" info || fail "no '$line' in: $(cat info)"
done
# The old tool counts the same, and knows an event of one's own by a line in its formats file.
{
    echo '0x0001f003  skipped'
    echo '0x0800f001  CPU%(cpu)d  %(tsc)d (+%(reltsc)8d)  toy_tick  [ cpu = %(1)d, count = %(2)d ]'
    echo '0  CPU%(cpu)d %(tsc)d %(event)x'
} >formats
"$STRATA_BIN/xentrace_format" formats <trace/percpu/trace.raw | grep -c '^CPU' >old || :
fillers=$("$STRATA_BIN/xentrace_format" formats <trace/percpu/trace.raw | grep -c ' 1f002$' || :)
[ "$(cat old)" -eq $((n + fillers)) ] || fail "xentrace_format finds $(cat old), not $n + $fillers"

"$STRATA_BIN/xentrace_format" formats <trace/percpu/trace.raw |
    sed -n 's/^CPU[0-9]* .*)  toy_tick  \[ cpu = \([0-9]*\), count = \([0-9]*\) \]$/\1 \2/p' | sort >old
sed -n 's/.* toy_tick: cpu=\([0-9]*\) count=\([0-9]*\) .*/\1 \2/p' report | sort | cmp -s - old ||
    fail "xentrace_format shows other ticks: $(head -n 3 old)"
[ -s old ] || fail "no ticks"

# Xen's own reader (which gives up at the first event of a guest's class).
if command -v xenalyze >/dev/null; then
    start_toy -wait -exits 1000 -pages 1024
    record -e sched
    end_record
    xenalyze --dump-all trace/percpu/trace.raw 2>/dev/null >dump || fail "xenalyze cannot read it"
    n=$(grep -c '^[] ]' dump || :)
    [ "$n" -gt 1000 ] && [ "$n" -eq "$(reported)" ] || fail "xenalyze finds $n, not $(reported)"
fi

# ---- The recorder comes first: it waits for the buffers ----

record --trace-events "$events"
wait_for grep -q "^strata: waiting for the buffers '$name'" record.err
start_toy -wait -cpus 2 -exits 100 -pages 1024
end_record
[ $status -eq 0 ] || fail "the recorder that waited ended with $status"
[ "$(reported)" -eq "$(traced)" ] || fail "$(reported) of $(traced) are in the report"

# ---- Records are lost: all are accounted for ----

start_toy -wait -cpus 3 -exits 30000 -pages 1
kill -STOP $toy
record --poll 500
wait_for is_on
kill -STOP $recorder # so that it cannot keep up, however slow the toy is
kill -CONT $toy
wait $toy || fail "the toy failed"
toy=
kill -CONT $recorder
end_record
[ $status -eq 0 ] || fail "the recorder ended with $status"
[ "$(lost)" -gt 0 ] || fail "nothing is lost in one page"
[ $(($(reported) + $(lost))) -eq "$(traced)" ] || fail "$(reported) + $(lost) is not $(traced)"
grep -q "^strata: $(lost) events were lost (CPU " record.err || fail "the loss is not told"

# ---- Masks, and one recorder at a time ----

start_toy -pages 1024
! is_on || fail "it traces before anybody asks"
record -e vmexit --cpu 1
wait_for is_on
[ "$(word 132)" = 00081000 ] || fail "the event mask is $(word 132)"
[ "$(word 1024)" = 00000002 ] || fail "the mask of CPUs is $(word 1024)"
! "$strata" record --percpu "$name" -o second >record2.out 2>record2.err || fail "two record at a time"
grep -q 'already being recorded' record2.err || fail "second: $(cat record2.err)"
[ ! -e second ] || fail "the second left a directory"
[ "$(word 132)" = 00081000 ] || fail "the second changed the mask to $(word 132)"
wait_for test -s trace/percpu/trace.raw
kill -TERM $recorder
wait $recorder || fail "the recorder ended with $?"
! is_on || fail "tracing is on"
[ "$(word 132)" = 0ffff000 ] || fail "the event mask is not restored but $(word 132)"
[ "$(word 1024)" = 00000003 ] || fail "the mask of CPUs is not restored but $(word 1024)"
"$strata" report trace 2>/dev/null | grep -v ' LOST: ' >report
[ -s report ] || fail "nothing was recorded"
! grep -v ' \[001\] .* vmexit: ' report >other || fail "there is more than was asked for: $(head -n 3 other)"
grep -q 'vmentry, *\|events that were not asked for were discarded' record.out record.err ||
    fail "nothing is said of what was left out"

# Killed: the next one restores what the first one found.
record -e sched
wait_for test -e trace/trace.json
wait_for is_on
kill -KILL $recorder
wait $recorder || :
is_on || fail "this cannot be"
[ "$(word 132)" = 0002f000 ] || fail "the event mask is $(word 132)"
"$strata" report trace >/dev/null 2>err || fail "what it left cannot be read: $(cat err)"
"$strata" record --percpu "$name" -o third -t 1 -e hvm >record.out 2>record.err || fail "third"
! is_on || fail "tracing is on after all"
[ "$(word 132)" = 0ffff000 ] || fail "the event mask is not restored but $(word 132)"
[ "$(word 1024)" = 00000003 ] || fail "the mask of CPUs is not restored but $(word 1024)"

# More than a file may have by the shell's limit: an end like that by a full disk.
status=0
(ulimit -f 64 && exec "$strata" record --percpu "$name" -o limited -t 30 >record.out 2>record.err) || status=$?
[ $status -eq 1 ] || fail "the recorder ended with $status at the limit of files"
grep -q 'cannot be written: File too large' record.err || fail "limited: $(cat record.err)"
! is_on || fail "tracing is on after the limit"
"$strata" report limited >/dev/null 2>&1 || fail "what is there cannot be read"
# For ever, nearly.
"$strata" record --percpu "$name" -o long -t 18446744074 -e guest >record.out 2>record.err &
recorder=$!
wait_for test -s long/percpu/trace.raw
! "$strata" ctl long list 2>told || fail "buffers are controlled"
grep -q "nothing to control: no QEMU or program .* 'strata ctl long status'" told || fail "$(cat told)"
sleep 0.5
kill -TERM $recorder 2>/dev/null || fail "a long time has ended"
wait $recorder || fail "long ended with $?"

# Left on; another program changes the mask; a wrong size.
"$strata" record --percpu "$name" -o fourth -t 1 --leave-enabled -e guest >record.out 2>record.err || fail "fourth"
is_on || fail "tracing is not left on"
[ "$(word 132)" = 0800f000 ] || fail "the event mask is not left"
! "$strata" record --percpu "$name" -o fifth --buffer-size 8K 2>record.err || fail "another size"
grep -q 'these buffers have 1024 pages (4096 KB) for each CPU, not 2' record.err || fail "size"
[ ! -e fifth ] || fail "a directory of what was not recorded"
cp "/dev/shm/$name" whole
kill $toy
wait $toy || fail "the toy does not end well"
toy=
[ ! -e "/dev/shm/$name" ] || fail "the buffers' name is left"

# ---- Wrong and damaged buffers ----

# wrong MESSAGE NAME
wrong() {
    ! "$strata" record --time 0.05 --percpu "$2" -o never 2>told || fail "$2 is taken"
    grep -v '^strata: waiting for the buffers' told >err || :
    grep -qF "$1" err || fail "no '$1' but: $(cat err)"
    [ "$(wc -l <err)" -eq 1 ] || fail "$(cat err)"
    [ ! -e never ] || fail "a directory is left"
}
wrong "/dev/shm/$name: no such file" "$name"
wrong 'not a trace buffer file' /dev/null
: >empty
wrong 'is empty: its program has not created the buffers yet' ./empty
head -c 100 /dev/zero >short
wrong 'it has 100 bytes' ./short
head -c 200000 /dev/zero >zero
wrong 'its program has not created the buffers yet' ./zero
# damaged OFFSET BYTES MESSAGE
damaged() {
    cp whole damaged
    printf "$2" | dd of=damaged bs=1 seek="$1" conv=notrunc 2>/dev/null
    wrong "$3" ./damaged
}
damaged 8 '\002' 'of version 2, where 1 is known'
damaged 12 '\000' 'its sizes are impossible'
damaged 16 '\001' 'its sizes are impossible'
damaged 40 '\001' 'its sizes are impossible'
head -c 200000 whole >damaged
wrong 'its sizes are impossible' ./damaged

# An impossible cons, in the file of a program that has ended: the content is dropped.
cp whole damaged
# number BYTES OFFSET: in the damaged file
number() {
    od -A n -t "u$1" -j "$2" -N "$1" damaged | tr -d ' \n'
}
info=$(number 4 40)
buffer=$(($(number 4 $((info + 4 * $(number 2 $((info + 2)))))) * 4096))
printf '\001' | dd of=damaged bs=1 seek=$buffer conv=notrunc 2>/dev/null
[ "$(number 4 $buffer)" -ne "$(number 4 $((buffer + 4)))" ] || fail "this cannot be"
"$strata" record --percpu ./damaged -o sixth -t 1 >record.out 2>record.err || fail "a file of no program: $(cat record.err)"
grep -q '^strata: process [0-9]*, which made these buffers, has ended' record.err || fail "no program: $(cat record.err)"
[ "$(number 4 $buffer)" -eq "$(number 4 $((buffer + 4)))" ] || fail "cons is left in disorder"
cp whole damaged
printf '\001' | dd of=damaged bs=1 seek=$buffer conv=notrunc 2>/dev/null
! "$strata" record --percpu ./damaged -o seventh --include-old -t 1 >record.out 2>record.err || fail "a backlog of disorder"
grep -q 'the trace buffer of CPU 0 is damaged' record.err || fail "$(cat record.err)"
! "$strata" record --percpu a --attach -o never 2>err || fail "--attach of nothing"
grep -q -e '--attach requires a PID' err || fail "$(cat err)"

# ---- Several at once ----

start_toy -wait -cpus 2 -exits 500 -pages 1024
other=$name-other
: >other.out
"$TOY" -buffer "$other" -wait -cpus 3 -exits 700 -pages 1024 >other.out 2>other.err &
other_toy=$!
wait_for test -s other.out
rm -rf trace
"$strata" record --percpu "$name" --percpu "$other" -o trace --trace-events "$events" >record.out 2>record.err &
recorder=$!
wait $other_toy || fail "the other toy failed"
end_record
[ $status -eq 0 ] || fail "the recorder of both ended with $status"
n=$(traced)
others=$(sed -n 's/^cpu.* \([0-9]*\) records$/\1/p' other.out | awk '{ n += $1 } END { print n }')
[ "$n" -gt 1000 ] && [ "$others" -gt 1000 ] || fail "too few records: $n, $others"
grep -q "^$n events written to trace/percpu (" record.out || fail "the first: $(cat record.out)"
grep -q "^$others events written to trace/percpu-2 (" record.out || fail "the second: $(cat record.out)"
[ "$(jq -r '.sources[] | "\(.name) \(.percpu.buffer) \(.complete)"' trace/trace.json)" = "percpu $name true
percpu-2 $other true" ] || fail "the sources: $(jq .sources trace/trace.json)"
[ "$(reported)" -eq $((n + others)) ] || fail "$(reported) of $n + $others are in the report"

# With a program beside them, which ends the recording; and with the kernel of this machine, where it may be traced.
start_toy -cpus 2 -pages 1024
host=
[ ! -w /sys/kernel/tracing/instances ] || host=--event=host:sched:sched_switch
rm -rf trace
# shellcheck disable=SC2086 # nothing, or an option
"$strata" record --percpu "$name" $host --max-size 64M -o trace -- "$EMIT" 300 2 >record.out 2>record.err ||
    fail "with a program: status $?"
kill -0 $toy || fail "the toy has ended"
! is_on || fail "tracing is on after the program"
[ "$(jq -r '.sources | map("\(.kind) \(.layer) \(.complete)") | sort | .[]' trace/trace.json)" = "ctf vmm true
${host:+ftrace host true
}xentrace hypervisor true" ] || fail "the sources: $(jq .sources trace/trace.json)"
"$strata" report trace >report 2>report.err || fail "the report: $(cat report.err)"
[ "$(grep -c ' emit_' report)" -eq 600 ] || fail "$(grep -c ' emit_' report) events of the program"
says_host || fail "nothing is said of the host"
[ -n "$host" ] || echo "SKIPPED in part: this machine's kernel beside the buffers: tracefs cannot be written"
kill $toy
wait $toy || fail "the toy does not end well"
toy=

# A file that may have no more: what was in the buffers then is counted.
start_toy -wait -cpus 3 -exits 4000 -pages 1024
record --max-size 64K
wait_for grep -q '^strata: stopped: ' record.err
end_record
unwritten=$(sed -n 's/^strata: \(.*: \)*\([0-9]*\) events that were in the trace buffers .* not written$/\2/p' record.err)
[ "${unwritten:-0}" -gt 0 ] || fail "max-size: $(cat record.err)"
# Each CPU may have been at one when tracing ended.
n=$(($(reported) + unwritten))
[ $n -le "$(traced)" ] && [ $n -ge $(($(traced) - 3)) ] || fail "$(reported) and $unwritten of $(traced)"
"$strata" info trace 2>&1 | grep -q "problems .*$unwritten events that were in" || fail "$("$strata" info trace)"

# Together with QEMU: a QEMU that is started ends the recording; a QEMU that is attached to continues.
if ! command -v qemu-system-x86_64 >/dev/null; then
    echo "SKIPPED in part: QEMU beside the buffers: it is not installed"
    exit 0
fi
mkdir -m 700 run
XDG_RUNTIME_DIR=$dir/run
export XDG_RUNTIME_DIR
# The sources of QEMU, of the buffers and of the host's kernel are whole, and nothing goes on.
assert_with_qemu() {
    [ $status -eq 0 ] || fail "QEMU beside buffers: status $status"
    [ "$(jq -r '.sources | map("\(.kind) \(.layer) \(.complete)") | sort | .[]' trace/trace.json)" = "${host:+ftrace host true
}qemu-log vmm true
xentrace hypervisor true" ] || fail "the sources: $(jq .sources trace/trace.json)"
    ! is_on || fail "tracing is on after QEMU"
    [ -z "$(ls run)" ] || fail "left behind: $(ls run)"
    grep -q 'lines\{0,1\} of events, 0 lost' record.err || fail "nothing is said of QEMU"
    grep -q ' events written to trace/percpu (' record.out || fail "nothing is said of the buffers"
    says_host || fail "nothing is said of the host"
    "$strata" report trace >report 2>report.err || fail "the report: $(cat report.err)"
    grep -q "$1" report || fail "no event of QEMU is in the report"
    [ "$(reported)" -gt 100 ] || fail "too few of the buffers are in the report"
}
start_toy -cpus 2 -pages 1024
# shellcheck disable=SC2086 # nothing, or an option
record $host --max-size 64M --min-free 1M -- qemu-system-x86_64 -M none -nodefaults -display none
wait_for grep -q mon_iothread trace/trace.json
wait_for grep -q runstate_set trace/vmm/trace.log
wait_for test -s trace/percpu/trace.raw
kill -TERM $recorder
status=0
wait $recorder || status=$?
assert_with_qemu ' runstate_set: '

qemu-system-x86_64 -M none -nodefaults -display none -msg timestamp=on -qmp unix:socket,server=on,wait=off 2>errors &
qemu=$!
wait_for '"$strata" ctl $qemu info >record.out 2>/dev/null'
# shellcheck disable=SC2086 # nothing, or an option
record $host --keep-in-memory 8M --attach $qemu
is_recorded() {
    "$strata" ctl trace list runstate_set 2>/dev/null | grep -q '^on'
}
wait_for is_recorded
"$strata" ctl trace on qmp_enter_human_monitor_command >record.ctl
"$strata" ctl trace monitor info name >record.ctl
wait_for is_on
kill -TERM $recorder
status=0
wait $recorder || status=$?
"$strata" ctl $qemu info >record.ctl || fail "QEMU has ended"
kill $qemu
wait $qemu || fail "QEMU: $(cat errors)"
qemu=
assert_with_qemu 'qmp_enter_human_monitor_command'
kill $toy
wait $toy || fail "the toy does not end well"
toy=
