#!/bin/sh
# strata record --config and --print-config: a command line as a file, and back.
. "$(dirname "$0")/../lib/golden.sh"

# same WORD...: the command line of the WORDs, as a file, is that file again, also by the command line made of it.
same() {
    "$strata" record --print-config "$@" >one.conf 2>errors || fail "$*: $(cat errors)"
    [ ! -s errors ] || fail "$(cat errors)"
    "$strata" record --config=./one.conf --print-config >two.conf || fail "$(cat one.conf)"
    cmp one.conf two.conf || fail "changes: $(cat one.conf two.conf)"
    "$strata" record --config one.conf --print-command >command || fail "$(cat one.conf)"
    sed 's/^strata record/"$strata" record --print-config/' command >script
    strata=$strata sh ./script >two.conf || fail "$(cat command)"
    cmp one.conf two.conf || fail "changes: $(cat command two.conf)"
}

case=round
same --flight=5m,2G --host --guest -o 'a b' -e 'visit_*' -e 'x "y" ' -- qemu-system-x86_64 -m 2048 -name "it's \$a \\" '' ' ' "a
b	c" -- --host
[ "$(grep -c ^event one.conf)" -eq 2 ] && grep -qx 'flight = 5m,2G' one.conf && grep -qx 'host = yes' one.conf ||
    fail "$(cat one.conf)"
same -a --keep-rings 4711 4712
grep -qx 'attach = yes' one.conf && grep -qx 'operands = 4711 4712' one.conf || fail "$(cat one.conf)"
same --guest web=vsock:3:4727 --guest db=tcp:10.0.0.2:4727 --event=guest:irq_handler_entry \
    --event 'guest:sched_switch{prev_comm == "a b\"}"}' --key '"quoted" key' -t 0.5 --kernel-symbols -o x
same --xen -o '#x' --cpu 0,2-5 -e sched
# Bytes that are no text, and characters that a terminal would obey.
odd=$(printf 'a\001\033\177\377\342\200\256\302\233b\\')
same --host -e "$odd" -o "$odd" -- "$odd" " $odd"
"$strata" record --config one.conf --print-command | LC_ALL=C grep -qF -- "--output='$odd'" || fail "$(cat one.conf)"
same --guest=./port --clock "" -o x
grep -qx 'clock = ""' one.conf || fail "$(cat one.conf)"
# Every option of the table that says how to record.
"$strata" record --help | sed -n 's/^  \(-.,\|   \) --\([a-z-]*\).*/\2/p' | grep -vxE 'help|config|print-.*' >names
[ "$(wc -l <names)" -gt 40 ] || fail "$(cat names)"
while read -r name; do
    echo "$name = " >one.conf
    # Known: it may lack something, but not a name.
    "$strata" record --config one.conf --print-config >out 2>errors || :
    ! grep -q 'unknown' errors || fail "$name: $(cat errors)"
done <names

# ---- By hand ----

case=file
cat >hand.conf <<'END'
# comment
   ; another, \
  output   =   /x y/z   
host-threads = no
host
	for = \
exits,sched
attach = off
command = true 'a b'"c" \
    d\ e "f\n\"g\"" \
    last
END
printf 'flight=1m\r\n' >>hand.conf
cat >expected <<'END'
# Configuration of strata record, see strata-record.conf(5)
output = /x y/z
host = yes
for = exits,sched
flight = 1m
command = true 'a bc' 'd e' "f\n\"g\"" last
# This records a QEMU or a program, from its start to its end:
END
"$strata" record --config hand.conf --print-config >all 2>errors || fail "$(cat errors)"
grep -v '^#   ' all >out 2>errors || fail "$(cat errors)"
diff expected out || fail "is not read as it should be"
# What is left to strata, which is what --for needs.
grep -q "^#   events of the host's kernel, if present: kvm:kvm_exit,.*sched:sched_switch" all || fail "$(cat all)"
grep -q "^#   events of a QEMU, if present: kvm_run_exit" all || fail "$(cat all)"
"$strata" record --event=host:irq -e a --flight=1G --on lost --on 'exit != 0' --print-config -- true >all 2>errors || fail "$(cat errors)"
cat >expected <<'END'
# This records a QEMU or a program, from its start to its end:
#   conditions: 2, of which 1 need events
#   snapshots: at most 12 in any hour, 4G in all
END
tail -n 3 all | diff expected - || fail "$(cat all)"
# The command line comes last, and its words are in place of those of the file.
"$strata" record -t 5 --config hand.conf --flight=2m --print-command -- false x >out 2>errors || fail "$(cat errors)"
echo "strata record --output='/x y/z' --host --for=exits,sched --flight=1m --time=5 --flight=2m -- false x" |
    diff - out || fail "is not added as it should be"

# ---- It records ----

case=records
mkdir -m 700 run
XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
"$strata" record -o trace --flight=60s --print-config -- "$EMIT" -q 1000 1 >record.conf
"$strata" record --config record.conf >out 2>&1 || fail "$(cat out)"
[ "$("$strata" report trace | wc -l)" -eq 1000 ] || fail "$(cat out)"

# ---- Errors ----

case=errors
# says TEXT LINE...: that file's error.
says() {
    expected=$1
    shift
    printf '%s\n' "$@" >bad.conf
    status=0
    "$strata" record --config bad.conf >out 2>errors || status=$?
    [ "$status" -eq 2 ] || fail "$*: exit status $status: $(cat errors)"
    [ "$(cat errors)" = "strata: $expected" ] || fail "$*: $(cat errors)"
}
says "bad.conf:2: flight = 'banana' is neither a time nor a size (examples: 60s, 5m, 512M, 2G)" '' 'flight = banana'
says "bad.conf:3: unknown option 'flihgt'; did you mean 'flight'?" '# a' '' 'flihgt = 5m'
says "bad.conf:1: unknown option 'zzzzzz'; 'strata record --help' lists all" 'zzzzzz = 5m'
says "bad.conf:1: 'kallsyms' is 'kernel-symbols' now" 'kallsyms'
says "bad.conf:1: unknown option '--host'; write its long name without dashes" '--host'
says "bad.conf:1: sections such as '[record]' are not used; remove the line" '[record]'
says "bad.conf:4: attach = 'maybe' is neither yes nor no" 'for = \' 'exits' '' 'attach = maybe'
says "bad.conf:1: 'output' requires DIR; write 'output = DIR'" 'output ='
says "bad.conf:1: 'command' requires words" 'command'
says "bad.conf:1: '=' is missing after 'host'" 'host sched'
says "bad.conf:1: quotation mark without an end; close it in the same line" "command = a 'b"
says "bad.conf:1: text after the closing quotation mark; write \\\" for one that belongs to the value" 'output = "a" b'
says "bad.conf:1: 'config' cannot be in a file; give --config on the command line" 'config = other'
says "bad.conf:1: 'help' cannot be in a file; give --help on the command line" 'help'
printf 'output = a\0b\n' >bad.conf
"$strata" record --config bad.conf 2>errors && fail "a NUL byte"
grep -q 'bad.conf:1: contains a NUL byte' errors || fail "$(cat errors)"
"$strata" record --config no-such-name 2>errors && fail "no such file"
grep -q '^strata: /etc/strata/no-such-name.conf: cannot open the configuration file: ' errors || fail "$(cat errors)"
"$strata" record --print-config --flight=1m --max-size=1M -o x -- true 2>errors && fail "what cannot be recorded"
grep -q 'max-size' errors || fail "$(cat errors)"
"$strata" record --print-config --attach -- true >out 2>errors && fail "a process and a command"
[ ! -s out ] && grep -q "a command after '--' excludes --attach" errors || fail "$(cat out errors)"
