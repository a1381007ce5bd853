# perf kvm stat and strata record at the same time, while a guest with known exits runs.

# until_true SECONDS COMMAND...
until_true() {
    tries=$(($1 * 20))
    shift
    until "$@"; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        usleep 50000
    done
}
gone() {
    ! grep -q '^State:.[^Z]' "/proc/$1/status" 2>/dev/null
}
# perf opens its events disabled and enables them in a second step: it counts when it sleeps in poll().
sleeps() {
    grep -q poll "/proc/$1/wchan" 2>/dev/null
}

perf kvm --host stat record -a -o perf.data >perf-record.log 2>&1 &
perf=$!
until_true 240 sleeps $perf || say "FAILED: perf does not record: $(cat perf-record.log)"
strata record -o trace --metrics-file=trace.prom --metrics-period=1 --host --for exits,sched -- kvm-guest >record.log 2>&1
echo $? >record.status
kill -INT $perf
until_true 240 gone $perf || {
    say "FAILED: perf does not end"
    kill -KILL $perf
}
wait $perf
perf kvm --host -i perf.data stat report >perf-report.txt 2>&1 || say "FAILED: perf reports nothing"
perf data convert --to-ctf=perf.ctf -i perf.data >perf-convert.log 2>&1 || say "FAILED: perf converts nothing"

# strata record --attach of virtual machines whose monitors are not QEMU.
# start N NAME: a machine that waits, as $vmmN, with a thread called NAME; a line to the FIFO lets it run.
start() {
    mkfifo "go$1"
    kvm-guest --wait "$2" <"go$1" >"vmm$1.log" 2>&1 &
    eval "vmm$1=$!"
    eval "exec $((5 + $1))>go$1"
    until_true 240 grep -qs ready "vmm$1.log" || say "FAILED: no virtual machine $1: $(cat "vmm$1.log")"
}
# record OUT PID...
record() {
    out=$1
    shift
    strata record -o "$out" --metrics-file="$out.prom" --metrics-period=1 --host --for exits,sched --attach "$@" >"$out.log" 2>&1 &
    recorder=$!
    until_true 240 test -s "$out/trace.json" || say "FAILED: $out: $(cat "$out.log")"
}
# finished OUT: the recording ends by itself.
finished() {
    until_true 240 gone $recorder || {
        say "FAILED: $1 does not end: $(cat "$1.log")"
        kill -KILL $recorder
    }
    wait $recorder
    echo $? >"$1.status"
}
# The name of the first one's thread is wrong, and another machine runs meanwhile.
start 1 'fc_vcpu 3'
start 2 'other'
echo $vmm1 $vmm2 >one.pids
record one $vmm1
echo >&7
wait $vmm2 || say "FAILED: the second machine: $(cat vmm2.log)"
echo >&6
finished one
wait $vmm1 || say "FAILED: the first machine: $(cat vmm1.log)"
# Two at once.
start 3 'vcpu0'
start 4 'other'
echo $vmm3 $vmm4 >two.pids
record two $vmm3 $vmm4
echo >&8
echo >&9
finished two
for path in /sys/kernel/tracing/instances/*; do
    [ ! -e "$path" ] || say "FAILED: $path is left"
done
