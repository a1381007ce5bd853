# Sourced after golden.sh by tests of strata record on a real QEMU: $qemu, and what they say of a recording. $case is what
# is tested.
# shellcheck shell=sh
qemu=$(command -v qemu-system-x86_64) || {
    echo "qemu-system-x86_64 is not installed"
    exit 77
}
XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
mkdir -m 700 run

fail() {
    echo "$(basename "$0" .sh): $case: $*" >&2
    cat err >&2 || :
    exit 1
}
# record STATUS [OPTION...] -- COMMAND: its exit status must be STATUS.
record() {
    want=$1
    shift
    status=0
    "$strata" record "$@" >out 2>err || status=$?
    [ $status -eq "$want" ] || fail "exit status $status, not $want"
}
says() {
    grep -qF -- "$1" err || fail "does not say '$1'"
}
# QEMU has answered all that the recorder asks, and so has caught its signals and tells why it ends, when this event is
# in the log.
answers=qmp_exit_query_cpus_fast
# wait_ready FOLDER [LOG]: waits for that, and until the recorder has told of QEMU's process.
wait_ready() {
    wait_for "grep -qs $answers ${2-$1/vmm/trace.log} && grep -qs mon_iothread $1/trace.json"
}
