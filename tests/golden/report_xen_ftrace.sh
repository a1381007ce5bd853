#!/bin/sh
# strata report of a hypervisor's and a guest's traces: losses, tasks, vCPUs, several CPUs.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

xz -dc "$DATA/xen/xen-4.17-no-guest-class.raw.xz" >xen.raw
"$strata" report xen.raw >actual 2>err
# Without a rate, times are ticks.
awk '$1 !~ /^[0-9]+$/ || $2 !~ /^\[00[01]\]$/ { exit 1 }' actual
awk '$1 < last { exit 1 } { last = $1 }' actual
grep -q ' d0v1 ' actual
# With one, seconds: the same ticks divided by it.
"$strata" report --cpu-hz 2G xen.raw >seconds 2>/dev/null
awk '{ print $1 }' seconds >a
awk '{ printf "%d.%09d\n", $1 / 2000000000, ($1 % 2000000000) / 2 }' actual >b
cmp a b
cut -d' ' -f2- seconds >a
cut -d' ' -f2- actual >b
diff a b | grep -v LOST | grep -q '^[<>]' && exit 1
# Losses are told where they happened, and together at the end.
lost=$(awk '/ LOST: / { n += $5 } END { print n + 0 }' actual)
if [ "$lost" -gt 0 ]; then
    grep -q "^strata: $lost events were lost" err
else
    [ ! -s err ]
fi

. "$here/../lib/kernel_capture.sh"
kernel_capture local guest
"$strata" report guest >actual 2>err
sed -n 1,3p actual >head
cat >expected <<'END'
4.607817784 [001]                    - LOST: 5657 events
4.607817784 [001]               ls-157 sys_enter_openat: dfd: 0xffffff9c, filename: 0x005c0d1f, flags: 0x00080000, mode: 0x00000000
4.607845506 [001]               ls-157 sys_exit: NR 257 = -2
END
diff expected head
echo 'strata: 90735 events were lost (CPU 0: 85078, CPU 1: 5657) in 2 places' | diff - err
[ "$(wc -l <actual)" -eq 14398 ]
# The same by the files of pages, in any order, and with the tree named.
"$strata" report guest/cpu1.raw guest/cpu0.raw 2>/dev/null | cmp actual -
mv guest/cpu0.raw guest/cpu1.raw .
"$strata" report cpu0.raw cpu1.raw --tracefs-copy guest/guest 2>/dev/null | cmp actual -
mkdir pages
cp cpu0.raw cpu1.raw pages
"$strata" report pages --tracefs-copy guest/guest 2>/dev/null | cmp actual -
! "$strata" report pages 2>err || exit 1
grep -q 'no tracefs copy .* give one with --tracefs-copy=DIR$' err
# Pages alone: an error that says what is missing.
! "$strata" report cpu0.raw 2>err || exit 1
grep -q 'no tracefs copy' err

# All times of the guest's events are later than CPU 0's last: clocks of another kind are not merged.
! "$strata" report cpu0.raw xen.raw --tracefs-copy guest/guest 2>err >out || exit 1
grep -q 'the clock (local) of cpu0.raw is another than that (tsc) of xen.raw' err
[ ! -s out ]

# Two traces of one clock are one report, which says which is which.
cp -r guest guest2
cp cpu0.raw guest/
cp cpu1.raw guest2/
grep -v ' LOST: ' actual >events
"$strata" report guest guest2 2>err | sed 's/ #[01] / /' | grep -v ' LOST: ' | cmp events -
# Those of CPU 1 name CPU 0.
grep -q '^strata: guest2: there are no data of CPU 0, which its events, files or vCPUs name: what it did is unknown$' err
[ "$("$strata" report guest guest2 2>/dev/null | grep -c ' #1 \[001\]')" -eq \
    "$(grep -c '\[001\]' actual)" ]
