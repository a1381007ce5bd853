#!/bin/sh
# What the bash completion offers.
set -eu

tree=$(cd "$(dirname "$0")/../.." && pwd)
command -v bash >/dev/null || { echo "SKIPPED: bash is not installed"; exit 77; }

# offers WORD...: prints the completions of the last word, one per line.
offers() {
    PATH=$STRATA_BIN:$PATH bash -c '
        . "$0"
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        case $1 in *-agent) _strata_agent ;; *) _strata ;; esac
        printf "%s\n" "${COMPREPLY[@]}"
    ' "$tree/data/completion/strata.bash" "$@"
}

# has "WANTED..." WORD...: each wanted word is offered.
has() {
    wanted=$1
    shift
    got=$(offers "$@")
    for word in $wanted; do
        printf '%s\n' "$got" | grep -qxF -- "$word" || {
            echo "'$*' does not offer '$word' but: $got" >&2
            exit 1
        }
    done
}
# is "OFFERED..." WORD...: just these are offered.
is() {
    wanted=$1
    shift
    got=$(offers "$@" | tr '\n' ' ')
    [ "$got" = "$wanted " ] || {
        echo "'$*' offers '$got', not '$wanted'" >&2
        exit 1
    }
}

has 'report info stat help --version' strata ''
has 'report' strata re
has '--format= --event= --limit= --strict --keep-going' strata report --
is '--format=' strata report --form
is 'text json csv' strata report --format = ''
is 'json' strata report --format = j
is 'csv' strata report -f c
is 'number time name' strata top --sort = ''
is 'trace.dat trace-events' strata export --to = tr
is 'trace-events' strata export --to trace-
is 'guest' strata report --layer = g
is 'guest,vmm' strata stat --layer guest,v
is 'exits sched io irq' strata record --for ''
is 'exits,sched' strata record --for = exits,s
is 'exits,sched,io exits,sched,irq' strata record --for = exits,sched,i
is 'task' strata stat -b t
events=$(mktemp)
printf '# what declares events\nblk_read(int n) "%%d"\nvcpu guest_mem(int n) "%%d"\ndisable blk_write(int n) "%%d"\n' >"$events"
STRATA_EVENTS=$events
export STRATA_EVENTS
is 'blk_read blk_write' strata record -e b
is 'blk_read,guest_mem' strata record --event = blk_read,g
rm "$events"
unset STRATA_EVENTS
has 'cpu,vcpu' strata stat --by = cpu,
has 'version -V' strata ''
is 'stat' strata help st
cd "$tree"
is 'LICENSE' strata info LICEN
has 'tests docs' strata top ''
has '--listen --key --run --run-after --version' strata-agent --
is 'tcp: vsock: unix:' strata-agent --listen = ''
is 'LICENSE' strata-agent --key LICEN
has 'tests docs' strata-agent --run ls ''
