# Sourced, after golden.sh, by tests of strata record --attach, which runs as $pid, records QEMU into ./trace and says what it has to say
# in ./told.
# shellcheck shell=sh

# ask N: what is asked of the monitor is traced, N times.
ask() {
    for _ in $(seq "$1"); do
        "$strata" ctl trace monitor info name >/dev/null || fail "monitor"
    done
}

# end [STATUS]: 1, where nothing was recorded of the guest.
end() {
    kill -TERM $pid || fail "has ended: $(cat told)"
    status=0
    wait $pid || status=$?
    [ $status -eq "${1:-0}" ] || fail "exit status $status: $(cat told)"
    pid=
}
