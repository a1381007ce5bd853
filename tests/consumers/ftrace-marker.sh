#!/bin/sh
# Backend ftrace: the text arrives in the kernel's buffer - in an instance of tracefs of the test's own.
. "${0%/*}/common.sh"

tracefs=/sys/kernel/tracing
[ -d $tracefs/instances ] || tracefs=/sys/kernel/debug/tracing
[ -d $tracefs/instances ] || skip "tracefs is not mounted here"
instance=$tracefs/instances/strata-test-$$
mkdir "$instance" 2>/dev/null || skip "no instance can be made in $tracefs (not root?)"
at_exit='rmdir "$instance"'

generate ftrace
compile cc "$dir/program" -O2 "$here/probes.c" "$dir/trace-probes.c"

# run OPTIONS: with events and marker as they say; what arrives into found, without thread and time.
run() {
    : >"$instance/trace"
    STRATA_TRACE=$1 "$dir/program" >"$dir/stdout" 2>"$dir/stderr" || fail "the program fails"
    [ ! -s "$dir/stderr" ] || { cat "$dir/stderr" >&2 && fail "it complains"; }
    sed -n '/^#/d; s/^.*: tracing_mark_write: //p' "$instance/trace" >"$dir/found"
}
same() {
    diff -u "$dir/expected" "$dir/found" >&2 || fail "$1: another text is in the kernel's buffer"
}

run "ftrace=$instance;enable=*"
# The program's own addresses are different each time.
sed -i 's/^\(types .* c\) 0x[0-9a-f]* 0x[0-9a-f]* /\1 0xADDR 0xADDR /
    s/\(address=\)0x[0-9a-f]*/\10xADDR/' "$dir/found"
cat >"$dir/expected" <<'E2'
nothing nothing at all
numbers -8 208 -1600 65000 -320000 0xdeadbeef -64000000000 18364758544493064720 1 4096
ten 1 -2 3 -4 5 -6 7 -8 9 -10
texts name=a name other=other    where=0x1234 address=0xADDR 100%
texts name=(null) other=(null)   where=(nil) address=(nil) 100%
words next=1 string=0x22 self=self probe=4 class=5 printf=6 next_=7
types 18446744073709551615 c 0xADDR 0xADDR -1 4000000000 -5
stars [ right] [cut] "quoted" \ %
linux 7
last__one mask=0xffffffff00000000 negative=4294967295
E2
same "all events"
[ "$(cat "$dir/stdout")" = "nothing 1 texts 1 never 0" ] || fail "the program does not see its states"

run "ftrace=$instance/trace_marker;enable=l*"
printf '%s\n' 'linux 7' 'last__one mask=0xffffffff00000000 negative=4294967295' >"$dir/expected"
same "two events"

run "ftrace=$instance"
: >"$dir/expected"
same "no event"
echo "the kernel has the text"
