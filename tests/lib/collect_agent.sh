# Sourced after golden.sh: the agents of tests of strata collect.
# shellcheck shell=sh

# start NAME BEHAVIOUR [KEY]: the agent, in a directory of its own.
start() {
    mkdir "$1"
    (
        cd "$1"
        python3 "$here/../lib/collect_agent.py" socket "$2" ${3:+"$3"} >agent.out 2>&1 &
        echo $! >pid
    )
    wait_for "[ -S $1/socket ] || ! kill -0 \$(cat $1/pid)"
    [ -S "$1/socket" ] || fail "$1: the agent does not run: $(cat "$1/agent.out")"
}

# stop_old FOLDER PID: ends the collector of the old agent in FOLDER, while the agent has something left to send.
stop_old() {
    kill -STOP "$2"
    wait_for "grep -q '^State:.*T' /proc/$2/status"
    : >"$1/rest"
    wait_for "[ -e $1/written ]"
    kill -TERM "$2"
    kill -CONT "$2"
}
