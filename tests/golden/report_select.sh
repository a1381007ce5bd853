#!/bin/sh
# What -e, --from, --until, --cpu, --pid and --limit leave is what awk leaves of the whole report.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

. "$here/../lib/kernel_capture.sh"
kernel_capture local guest
"$strata" report guest >all 2>/dev/null

# same AWK-CONDITION OPTION...: losses are always there, unless the condition names them.
same() {
    condition=$1
    shift
    awk "$condition" all >expected
    "$strata" report guest "$@" >actual 2>/dev/null
    cmp expected actual || {
        echo "strata report $* is not awk '$condition'" >&2
        diff expected actual | head -4 >&2
        exit 1
    }
    [ -s actual ]
}

same '$4 == "LOST:" || $4 == "sys_exit:"' -e sys_exit
same '$4 == "LOST:" || $4 ~ /^sys_/' -e 'sys_*'
same '$4 == "LOST:" || ($4 ~ /^sys_/ && $4 !~ /write/)' -e 'sys_*' -e '-*write*'
same '$4 == "LOST:" || $4 !~ /^sys_/' --event '-sys_*'
same '$4 == "LOST:" || $4 ~ /^sys_(enter|exit)_/' -e 'syscalls:*'
same '$4 == "LOST:" || $4 ~ /^(sys_enter|sys_exit):$/' -e 'raw_syscalls:*'
same '$4 == "LOST:" || $4 ~ /^sched_wak/ || $4 ~ /^irq/' -e 'sched:sched_wak*' -eirq*
same '$4 == "LOST:" || ($4 ~ /^sys_/ && $4 !~ /write/) || $4 ~ /^irq/' -e 'sys_*,-*write*,irq*'
same '$2 == "[000]"' --cpu 0
same '$2 == "[001]"' --cpu=1-7,9
same '$4 == "LOST:" || $3 ~ /-(157|161)$/' --pid 157,161
same '$1 >= 4.65' --from 4.65
same '$1 <= 4.65' --until 4.65
same '$1 >= 4.640000001 && $1 <= 4.65' --from 4.640000001 --until 4.65
same '$1 >= 4.627817784 && $1 <= 4.628817784' --from +0.02 --until +0.021
same 'NR <= 11' --limit 10
same '$4 == "LOST:" && NR == 1 || $4 == "sys_exit:" && ++n <= 3' -e sys_exit -n3
same '$2 == "[000]" && $4 == "sys_exit:" && $1 >= 4.67 && $3 ~ /-161$/ && ++n <= 5' \
    --cpu 0 -e sys_exit --from 4.67 --pid 161 -n 5

# JSON and CSV are selected the same way.
[ "$("$strata" report guest -fjson -e sys_exit 2>/dev/null | grep -c '"event":"sys_exit"')" -eq \
    "$(grep -c ' sys_exit: ' all)" ]
[ "$("$strata" report guest -fcsv -n 3 2>/dev/null | wc -l)" -eq 5 ]

# A pattern that no event has is pointed out, and is not an error.
"$strata" report guest -e nonesuch >actual 2>err
grep -q "no event in the trace matches 'nonesuch'" err
[ "$(wc -l <actual)" -eq 2 ]

# stat counts what is selected.
"$strata" stat guest -e sys_exit --cpu 0 2>/dev/null | sed -n 2p | awk '{ print $1, $2 }' >actual
echo "sys_exit $(awk '$2 == "[000]" && $4 == "sys_exit:"' all | wc -l)" | diff - actual

# usage WORDS OPTION...
usage() {
    words=$1
    shift
    status=0
    "$strata" report guest "$@" >out 2>err || status=$?
    [ "$status" -eq 2 ] && [ ! -s out ] && grep -qF -- "$words" err || {
        echo "strata report $*: status $status, $(cat err)" >&2
        exit 1
    }
}
usage "--from 'x' is not a time" --from x
usage "--until '1.0000000001' has more than nine decimals" --until 1.0000000001
usage "--cpu 'a' is not a list of numbers like 0,2-5" --cpu a
usage "--pid '5-1' is not a list of numbers" --pid 5-1
usage "--limit '-1' is not a whole number" --limit -1
usage "--format 'xml' is not one of text, json or csv" --format=xml
usage "unknown option '--evnt'; did you mean '--event'?" --evnt x
usage "-e requires GLOB" -e
for list in ,irq irq, irq,,sched ,; do
    usage "-e '$list' has an empty element between its commas" -e "$list"
done

# Ticks want whole numbers.
xz -dc "$DATA/xen/xen-4.17-no-guest-class.raw.xz" >xen.raw
status=0
"$strata" report xen.raw --from 1.5 2>err || status=$?
[ "$status" -eq 1 ]
grep -q 'in whole ticks, or the rate (--cpu-hz)' err
"$strata" report xen.raw >all 2>/dev/null
middle=$(sed -n 5000p all | cut -d' ' -f1)
awk -v from="$middle" '$1 >= from' all >expected
"$strata" report xen.raw --from "$middle" 2>/dev/null | cmp expected -
