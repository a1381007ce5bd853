# Sourced. count_events ARGUMENT...: how many events `strata report` prints with these options. To read no more than those up
# to a time: strata VERB --limit "$(count_events --until TIME TRACE)" TRACE.
# shellcheck shell=sh
count_events() {
    "$strata" report -f json "$@" 2>/dev/null | grep -c '"event":'
}
