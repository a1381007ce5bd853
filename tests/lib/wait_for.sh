# Sourced: wait_for CONDITION, some words of sh, waits until it is true, for a minute at most; then the sourcing
# test's fail() says that it is not.
# shellcheck shell=sh
wait_for() {
    n=0
    until eval "$1"; do
        n=$((n + 1))
        [ $n -lt 1200 ] || fail "waited in vain for: $1"
        sleep 0.05
    done
}
