#!/bin/sh
# What is not known at the begin and at the end of a CPU is not known in the files that strata export writes of it either: their
# spans are those of the trace.
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/kernel_capture.sh"

# rows TRACE: of each kind of span how many there are, the longest, and how much of the time is covered.
rows() {
    "$strata" latency -k -f json "$1" 2>err | jq -c '[.duration_ns, .covered_ns, [.rows[] | [.key, .n, .max]]]' || fail "$1: $(cat err)"
}

# both TRACE: exports it, and compares.
both() {
    rows "$1" >wanted
    "$strata" export -k --to ctf -o "$1.ctf" "$1" 2>err || [ $? -eq 1 ] || fail "$(cat err)"
    "$strata" export -k --to trace.dat -o "$1.dat" "$1" 2>err || [ $? -eq 1 ] || fail "$(cat err)"
    rows "$1.dat" >got
    cmp -s wanted got || fail "trace.dat: $(cat got), not $(cat wanted)"
    rows "$1.ctf" >got
    cmp -s wanted got || fail "CTF: $(cat got), not $(cat wanted)"
}

# A buffer that went round: one CPU begins later than the other.
case=begin
kernel_capture local one
"$strata" info one 2>err | grep -q '^  complete from ' || fail "it begins at once"
both one
# An export of the export says it, too.
"$strata" info one 2>err | sed -n 's/^  complete from //p' >wanted
"$strata" info one.ctf 2>err | sed -n 's/^  complete from //p' | cmp - wanted || fail "CTF: begins at once"

mkdir early && tar -C early -xJf "$DATA/kvm/exits.tar.xz"

# A CPU that has no data: what its threads did is not known, though the loss has no end but that of the file.
case="no data"
cp -r early/trace none
jq ".sources[0].files = {\"host/cpu0.raw\": $(stat -c %s none/host/cpu0.raw), \"host/cpu1.raw\": $(stat -c %s none/host/cpu1.raw)}" \
    none/trace.json >new
mv new none/trace.json
rm none/host/cpu1.raw
both none
states() { "$strata" sched -k --states -f json "$1" 2>err | jq -c '[.rows[] | [.key.task, .key.state, .n, .sum]] | sort'; }
states none >wanted
[ "$(jq length wanted)" -gt 3 ] || fail "$(cat wanted)"
for of in none.ctf none.dat; do
    states $of | cmp -s wanted - || fail "$of: $(states $of), not $(cat wanted)"
done

# A recorder that wrote more of a CPU than is there.
case=end
mv early/trace cut
size=$(stat -c %s cut/host/cpu1.raw)
truncate -s $((size / 8192 * 4096)) cut/host/cpu1.raw
jq ".sources[0].files = {\"host/cpu0.raw\": $(stat -c %s cut/host/cpu0.raw), \"host/cpu1.raw\": $size}" cut/trace.json >new
mv new cut/trace.json
"$strata" info cut >info 2>err && fail "it is whole"
both cut

# perf says that a CPU lost events in a later round than its last event before.
case=perf
xz -dc "$DATA/perf/lost.data.xz" >lost.data
both lost.data

# A loss of an unknown number is one in every format, beside counted ones, before the first event of a CPU and after its last one.
case="unknown number"
event() { echo "a-$1 [00$2] d..2. $3: sched_switch: prev_comm=a prev_pid=$1 prev_prio=120 prev_state=R ==> next_comm=a next_pid=$1 next_prio=120"; }
{
    event 7 0 1.0
    echo 'CPU:1 [EVENTS DROPPED]'
    event 8 1 1.1
    echo 'CPU:0 [EVENTS DROPPED]'
    event 7 0 1.2
    echo 'CPU:0 [LOST 3 EVENTS]'
    event 7 0 1.3
    echo 'CPU:1 [EVENTS DROPPED]'
    event 8 1 1.4
    echo 'CPU:0 [EVENTS DROPPED]'
} >unknown.txt
# losses TRACE: their CPUs and numbers, and those in all.
losses() { "$strata" report -f json "$1" 2>err | jq -c 'select(.cause) | [.cpu, .lost]' | sort; grep "lost" err; }
losses unknown.txt >wanted
grep -q '^strata: 3 events were lost (CPU 0: 3) in 1 place, and an unknown number in 4 places$' wanted || fail "$(cat wanted)"
for format in ctf trace.dat simpletrace; do
    "$strata" export --to $format -o unknown.$format unknown.txt 2>err || fail "$(cat err)"
    losses unknown.$format >got
    [ $format != simpletrace ] || sed -i 's/^\[[01],/[null,/; s/ (CPU 0: 3)//' wanted
    sort -o wanted wanted
    sort got | diff wanted - || fail "$format"
done

# Several layers in one file stay apart: two kernels have CPUs, threads and switches of the same numbers.
case=layers
tar -xJf "$DATA/io/virtio-blk.tar.xz"
"$strata" export --to trace.dat -o layers.dat vm 2>err || fail "$(cat err)"
for verb in sched irq; do
    "$strata" $verb vm 2>err | grep -v '^clock error of ' >wanted || fail "$verb: $(cat err)"
    "$strata" $verb layers.dat >got 2>err || fail "$verb: $(cat err)"
    cmp -s wanted got || fail "$verb: $(diff wanted got)"
done

# A CPU that has losses alone, one at its begin and one up to the end, is unknown all the time in each format.
case="losses alone"
{
    printf '# tracer: nop\n#\n# entries-in-buffer/entries-written: 2/2   #P:2\n#\n'
    event 7 0 1.0
    echo 'CPU:1 [LOST 3 EVENTS]'
    event 7 0 1.5
    event 7 0 1.9
} >alone.txt
for format in txt ctf trace.dat; do
    [ $format = txt ] || "$strata" export --to $format -o alone.$format alone.txt 2>err || fail "$(cat err)"
    "$strata" summary -f json alone.$format 2>err >out || fail "$format: $(cat err)"
    jq -e '[.. | objects | select(has("covered_ns")) | .covered_ns][0] < 500000000' out >got || fail "$format: $(grep -o '"covered_ns":[0-9]*' out)"
done
