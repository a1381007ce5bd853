# Sourced, from the folder $here, into a test in a folder of its own.
# shellcheck shell=sh

# start NAME BEHAVIOUR [KEY]: the agent, in a folder of its own.
start() {
    mkdir "$1"
    (
        cd "$1"
        python3 "$here/collect_agent.py" socket "$2" ${3:+"$3"} >agent.out 2>&1 &
        echo $! >pid
    )
    for _ in $(seq 200); do
        [ ! -S "$1/socket" ] || break
        sleep 0.05
    done
}
