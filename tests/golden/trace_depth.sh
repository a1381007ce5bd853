#!/bin/sh
# The first event of a program needs less than 2 KB of a stack, in a signal handler on an alternate stack, by
# each backend, and when a file must be opened again. Of floating point, which needs libc's printf(), the
# manual says how much. $DEPTH: tests/runtime/depth.c.
. "$(dirname "$0")/../lib/golden.sh"

. "$here/../lib/own_program.sh"
at_exit='discard_own_rings'
own_program "$DEPTH"
DEPTH=$own_program
STRATA_CONTROL=off
export STRATA_CONTROL
limit=2048

# depth WORDS...
depth() {
    "$DEPTH" "$@" >told 2>errors || fail "$*: ended with $?: $(cat errors)"
    cat told
    tail -n 1 told >>all
}

mkdir tracefs a-directory
: >tracefs/trace_marker
for again in '' -again; do
    for which in ring string; do
        depth -t '*,ctf=c' $which$again
        depth -t '*,ctf=c,rings=a-directory' $which$again
        depth -t '*,ctf=c,rings=-' $which$again
        depth -t '*,ctf=c,mode=overwrite' $which$again
        depth -t '*,simple=s' $which$again
        depth -t '*,writer=none' $which$again
    done
    depth -t 'text: name == "*text*" && thread.name != "x",ctf=c' filter$again
    depth log$again
    depth -t logfile=l log$again
    depth -t ftrace=tracefs ftrace$again
    depth syslog$again
done
"$DEPTH" log 2>&1 >>all | cat >/dev/null # a pipe
depth -l -t logfile=l log
depth -l -t ftrace=tracefs ftrace
depth -l syslog
awk -v limit=$limit '$2 >= limit { print "more than " limit ": " $0; bad = 1 } END { exit bad }' all >&2 || fail "too deep"
depth float
