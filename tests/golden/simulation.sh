#!/bin/sh
# What the verbs say of made machines, of which parts are missing, is what happened there (simulation/check.py).
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

# check KIND ARGUMENT...
check() {
    kind=$1
    shift
    TMPDIR=$work python3 "$here/../simulation/check.py" --kind "$kind" "$strata" "$@" || fail "$kind: a number is not true"
}
# 1005, 1016, 1018: older recorders did not state their files. 483403463, 884791158: the time of one of the first two pages is damaged. LTTng 4, 9: packets are missing. 12, 16, 30: a time is damaged. 11, 40: wake-ups are switched on late. 4074: a softirq was raised before the trace began, and again in it. Others: losses in a request, a first wake-up, a cut stream.
# shellcheck disable=SC2046 # a list of seeds
check kvm $(seq 9) 11 12 16 30 40 502 1005 1016 1018 483403463 884791158 226140660 189479428 274107778
check xen 1 2 103
check xen --partitions 11
check perf 3 4 13 21 287601563 862365020 854163322 368873649
check perf-ctf 4 5 8 9
check lttng 3 4 5 6 8 9 4074
check raw 1 2 8
check text 1 2 5 6 9 10 12
check clock 3 5 9
check rate 1 2 3 4 5 6
check two 7 11 14
check path $(seq 20)
