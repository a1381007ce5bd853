#!/bin/sh
# Selections of rows: what a selection by CPU, thread, vCPU, task or time has is a part of what the whole trace has, and
# the parts add up to that.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/kernel_capture.sh"
kernel_capture local guest
mkdir kvm io
xz -dc "$DATA/kvm/exits.tar.xz" | tar -x -C kvm
xz -dc "$DATA/io/virtio-blk.tar.xz" | tar -x -C io
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen.raw
XDG_CONFIG_HOME=$PWD/config
export XDG_CONFIG_HOME

for case in kvm/trace guest io/vm xen.raw; do
    python3 "$here/selection.py" "$strata" "$case" || fail "parts are not the whole"
done

case="a thread that migrates"
# Its exits of CPU 0 end on the CPU to which it moved: of both, the sum is that of all.
for select in "" "--cpu 0" "--cpu 1"; do
    "$strata" exits -f json $select kvm/trace | jq '[.rows[].sum] | add'
done >sums
[ "$(sed -n 1p sums)" -eq $(($(sed -n 2p sums) + $(sed -n 3p sums))) ] || fail "$(cat sums)"

case="states on a CPU that is not known"
note='^the CPU of [0-9]+ states? is not known: no --cpu selects (it|them)$'
"$strata" sched -f json --cpu 0 xen.raw 2>/dev/null | jq -e --arg note "$note" '.notes | any(test($note))' >/dev/null || fail "no note"
for verb in exits latency; do
    "$strata" $verb -f json --cpu 0 kvm/trace | jq -e '.notes | any(test("no --cpu selects")) | not' >/dev/null || fail "$verb: a note"
done

case="the thread that is switched to and from"
# Events that name it are those of other threads.
"$strata" exits -f json kvm/trace | jq '[.rows[].wait] | add' >whole
"$strata" exits -f json --pid 190 kvm/trace | jq '[.rows[].wait] | add' >part
cmp -s whole part && [ "$(cat part)" -gt 0 ] || fail "$(cat whole part)"

case="a number of events limits what is read"
"$strata" exits -f json -n 1000 kvm/trace >first
[ "$(jq '.events' first)" -eq 1000 ] || fail "not 1000 events"
"$strata" exits -f json -n 1000 --cpu 1 kvm/trace >part && fail "no status"
[ "$(jq '.events' part)" -eq 1000 ] || fail "not 1000 events are read"

case="refused"
# refuses MESSAGE ARGUMENT...
refuses() {
    message=$1
    shift
    status=0
    "$strata" sched "$@" guest >actual 2>err || status=$?
    [ $status -eq 2 ] && grep -q "$message" err || fail "$*: exit status $status: $(cat err)"
}
refuses "select threads" --by cpu --pid 1
refuses "select threads" --by cpu --vcpu 1
refuses "select threads" --by cpu --task x
refuses "select threads" --by domain --pid 1
refuses "xenalyze-names excludes --cpu" --by domain --xenalyze-names --cpu 1
