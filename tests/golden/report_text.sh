#!/bin/sh
# strata report as text: every line of a log that stock QEMU wrote, put another way by sed.
. "$(dirname "$0")/../lib/golden.sh"

"$tree/tools/qemu-events" declared || exit
xz -dc "$DATA/qemu/stock-qemu.log.xz" >boot.log
# PID@SEC.USEC:NAME TEXT → SEC.USEC000 [---] PID NAME: TEXT, in the order of time.
sed -E 's/^([0-9]+)@([0-9.]+):([^ ]+) (.*)$/\2000 [---] \1 \3: \4/' boot.log |
    sort -s -n -k1,1 >expected
"$strata" report boot.log 2>err | sed -E 's/^([^ ]+) +([^ ]+) +/\1 \2 /' >actual
# Events of one microsecond stand in the order of the file in both.
cmp expected actual || {
    diff expected actual | head >&2
    exit 1
}
[ ! -s err ]

# The columns, as they are.
"$strata" report boot.log --limit 2 >actual
cat >expected <<'END'
1795246302.879456000 [---]     9145 bdrv_open_common: bs 0x559360a11880 filename "disk.img" flags 0x2a002 format_name "file"
1795246302.879548000 [---]     9145 blk_root_attach: child 0x5593609ea400 blk 0x559360a16e80 bs 0x559360a11880
END
cmp expected actual

# simpletrace, with the names and threads that QEMU's own script told.
xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot.trace
xz -dc "$DATA/qemu/simpletrace.txt.xz" | awk '{ sub("pid=", "", $3); print $1, $3 }' | sort >expected
"$strata" report boot.trace | awk '{ sub(":$", "", $4); print $4, $3 }' | sort >actual
cmp expected actual
"$strata" report boot.trace --limit 2 >actual
cat >expected <<'END'
5572.089026368 [---]        0 qmp_enter_set_action: {"reboot": "shutdown"}
5572.089095637 [---]        0 qmp_exit_set_action: {} 1
END
cmp expected actual

# In the order of time, though the file is not.
"$strata" report boot.trace | awk '$1 < last { exit 1 } { last = $1 }'
# The same with the declarations given, and another text without any.
"$strata" report boot.trace --trace-events declared --limit 2 | cmp expected -

# An event without text leaves no blank at its line's end, wherever in the output's buffer it comes.
printf 'is_silent(void) ""\nis_loud(const char *s) "%%s"\n' >events
awk 'BEGIN { for (i = 0; i < 100000; i++) print i % 3 ? "is_silent " : "is_loud " substr("aaaaaaaaaaa", 1, i % 11) }' >log
"$strata" report --trace-events events log >actual
[ "$(wc -l <actual)" -eq 100000 ]
if grep -n ' $' actual | head -3 | grep .; then exit 1; fi
grep -q ' is_silent:$' actual
grep -q ' is_loud: a$' actual
