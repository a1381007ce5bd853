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
until_true 120 sleeps $perf || say "FAILED: perf does not record: $(cat perf-record.log)"
strata record -o trace --host --for exits,sched -- kvm-guest >record.log 2>&1
echo $? >record.status
kill -INT $perf
until_true 120 gone $perf || {
    say "FAILED: perf does not end"
    kill -KILL $perf
}
wait $perf
perf kvm --host -i perf.data stat report >perf-report.txt 2>&1 || say "FAILED: perf reports nothing"
perf data convert --to-ctf=perf.ctf -i perf.data >perf-convert.log 2>&1 || say "FAILED: perf converts nothing"
rm -f perf.data
