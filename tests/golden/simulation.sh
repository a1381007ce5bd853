#!/bin/sh
# What the verbs say of made machines, of which parts are missing, is what happened there (simulation/check.py).
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

# check KIND FIRST LAST
check() {
    # shellcheck disable=SC2046 # a list of seeds
    TMPDIR=$work python3 "$here/../simulation/check.py" --kind "$1" "$strata" $(seq "$2" "$3") || fail "$1: a number is not true"
}
check kvm 1 18
check xen 1 2
check perf 3 5
check lttng 5 7
