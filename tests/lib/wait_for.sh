# Sourced: wait_for CONDITION, some words of sh, or wait_for COMMAND ARGUMENT...: waits until it is true, for four minutes at
# most; then the sourcing test's fail() says that it is not.
# shellcheck shell=sh
wait_for() {
    n=0
    until if [ $# -eq 1 ]; then eval "$1"; else "$@"; fi; do
        n=$((n + 1))
        [ $n -lt 4800 ] || fail "waited in vain for: $*"
        sleep 0.05
    done
}
