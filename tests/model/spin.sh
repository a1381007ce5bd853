# What searches a model of a protocol by spin; for the scripts beside it, which set $model, its file's name.
# $seconds is how long a search may take, $memory its megabytes. With $exact set each state visited is kept; otherwise a
# few bits of an array that is some hundred times as large, which takes a fraction of the time and memory. Without
# $optimise less time goes into compiling a search than into a short one itself.
#
# What spin finds is decided by the model and these scripts alone: where they are as when it was run last (searched has
# their sum), it is not run once more, unless STRATA_TEST_MODEL or STRATA_TEST_LONG is set.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
sum=$(cat "$0" "$here/spin.sh" "$here/$model" | sha256sum | cut -c 1-64)
if [ -z "${STRATA_TEST_MODEL:-}${STRATA_TEST_LONG:-}" ] && grep -qxF "$sum $model" "$here/searched"; then
    echo "$model and the scripts are as when it was searched: tests/model/searched"
    exit 0
fi
echo "If this passes, note it in tests/model/searched: $sum $model"
for need in spin cc; do
    command -v $need >/dev/null || {
        echo "$need is not installed"
        exit 77
    }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

exact=
optimise=

# search FILE OPTION...: 0 nothing found; 1 an assertion that does not hold.
search() {
    file=$1
    shift
    spin -a "$@" "$file" >log 2>&1 || {
        cat log >&2
        exit 2
    }
    # -E: interrupts that wait for one that does not come are no deadlock.
    states='-DBITSTATE' bits='-w29 -k3'
    [ -z "$exact" ] || states='-DCOLLAPSE' bits=
    cc "-O${optimise:-0}" -w -DSAFETY $states -DVECTORSZ=1024 -DMEMLIM="$memory" -o pan pan.c
    # shellcheck disable=SC2086 # a list of words
    timeout "$seconds" ./pan -E -m1000000 $bits >log 2>&1 || [ $? -eq 124 ] || {
        cat log >&2
        exit 2
    }
    ! grep -q '^pan:[0-9]*: assertion violated' log
}

# holds OPTION...
holds() {
    search "$here/$model" "$@" || {
        cat log >&2
        echo "$model: does not hold with $*; see it by: spin -a $* $model; cc -DSAFETY pan.c; ./a.out -E; spin -t -p -g -l $* $model" >&2
        exit 1
    }
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' log)
    echo "holds: $* (${states:-not all} states)"
}

# broken WHAT SED OPTION...: the protocol changed so must be found out.
broken() {
    what=$1
    sed "$2" "$here/$model" >broken.pml
    ! cmp -s broken.pml "$here/$model" || {
        echo "$model: $what: the model is not changed by $2" >&2
        exit 1
    }
    shift 2
    ! search broken.pml "$@" || {
        echo "$model: nothing is found wrong with: $what" >&2
        exit 1
    }
    echo "found: $what"
}
