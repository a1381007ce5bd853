#!/bin/sh
# Recording from Xen, where there is none: each way to start it says so, in one line, and leaves nothing.
# (Where there is one: tests/xen.) And what is wrong on the command line, which is told before.
. "$(dirname "$0")/../lib/golden.sh"

[ "$(cat /sys/hypervisor/type 2>/dev/null)" != xen ] || { echo "SKIPPED: this machine runs on Xen"; exit 77; }
xentrace=$STRATA_BIN/xentrace

# run STATUS COMMAND...: into out and err.
run() {
    wanted=$1
    shift
    status=0
    "$@" >out 2>err </dev/null || status=$?
    [ "$status" -eq "$wanted" ] || {
        echo "$*: status $status instead of $wanted; $(cat out err)" >&2
        exit 1
    }
    [ ! -s out ] || {
        echo "$*: on standard output: $(cat out)" >&2
        exit 1
    }
}
# says WORDS: the last run said so.
says() {
    grep -qF -- "$1" err || {
        echo "no '$1' in: $(cat err)" >&2
        exit 1
    }
}
# no_xen COMMAND...
no_xen() {
    run 1 "$@"
    says 'this machine does not run on Xen'
    says 'dom0'
    [ "$(wc -l <err)" -eq 1 ] || {
        echo "$*: more than one line: $(cat err)" >&2
        exit 1
    }
}

no_xen "$strata" record --xen -o trace
no_xen "$strata" record --xen -o trace -t 1 -e 'sched,vmexit,csched2_*' --cpu 0-1 --keep-in-memory 1M --strict
no_xen "$xentrace" -e all -T 1 -S 64 -M 1M raw
no_xen "$strata" xentrace raw
no_xen sh -c "'$xentrace' -D | cat >raw; exit 1"
rm raw
[ "$(ls)" = "$(printf 'err\nout')" ] || {
    echo "something was left behind: $(ls)" >&2
    exit 1
}

run 2 "$strata" record --xen
says '--output=DIR is required'
run 2 "$strata" record -o trace
says "'-- COMMAND', --attach, --libvirt, --xen, --percpu, --guest=ENDPOINT or --host is required"
run 2 "$strata" record --xen --attach -o trace
says '--attach requires a PID'
run 2 "$strata" record --xen -o trace 17
says 'accepts no PID'
run 2 "$strata" record --xen -o trace -e sched,vmexot
says "did you mean 'vmexit'?"
run 2 "$strata" record --xen -o trace -e 0x80000
says 'selects nothing'
run 2 "$strata" record --xen -o trace -e 'zz*'
says 'no event of Xen matches'
run 2 "$strata" record --xen -o trace --keep-in-memory 1Q
says 'is not a size'
run 2 "$strata" record --xen -o trace --poll 0
says '--poll is 1 to'
run 2 "$strata" record --xen -o trace --buffer-size 1G
says '--buffer-size is'
run 2 "$strata" record --xen -o trace --buffer-size 18446744073709551615
says '--buffer-size is'
run 2 "$strata" record --xen -o trace --trace-events missing
says 'missing: '
for table in - /dev/stdin; do
    run 2 "$strata" record --xen -o trace --trace-events $table
    says "$table: must be a regular file"
done
# Events of one's own are known by name, in either language.
echo '0x0800f123 my_probe a:u32' >events
no_xen "$strata" record --xen -o trace --trace-events events -e my_probe
echo '0x0800f124  CPU%(cpu)d  %(tsc)d (+%(reltsc)8d)  my_other  [ a = %(1)d ]' >formats
no_xen "$strata" record --xen -o trace --trace-events formats -e my_other

run 1 "$xentrace" -e nonsense raw
says 'not a class'
run 1 "$xentrace" -s raw raw
says "invalid value 'raw' for -s"
run 1 "$xentrace" -T -1 raw
says ' for -T; see'
run 1 "$xentrace" -M 12q raw
says ' for -M; see'
run 1 "$xentrace" one two
says 'one file at a time'
run 1 "$xentrace" --no-such raw
says 'Usage: xentrace'

"$xentrace" -V | grep -q '^xentrace (strata '
"$xentrace" '-?' >one
"$xentrace" --help >two
cmp one two
"$xentrace" --usage | grep -q '^Usage: xentrace '
for option in cpu-mask evt-mask poll-sleep log-thresh trace-buf-size time-interval memory-buffer \
    reserve-disk-space discard-buffers dont-disable-tracing start-disabled version help; do
    grep -q -- "--$option" one || {
        echo "--$option is not in the help" >&2
        exit 1
    }
done
