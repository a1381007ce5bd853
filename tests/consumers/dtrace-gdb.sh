#!/bin/sh
# Backend dtrace: gdb lists the probes, stops at them and reads their arguments; a probe that nobody
# watches is never reached.
. "${0%/*}/common.sh"
need gdb gdb

generate dtrace
compile cc "$dir/program" -O2 "$here/probes.c" "$dir/trace-probes.c"

# gdb COMMAND...: runs them over the program.
run_gdb() {
    printf '%s\n' "$@" >"$dir/commands"
    gdb -nx -batch -iex 'set debuginfod enabled off' -iex 'set style enabled off' \
        -x "$dir/commands" "$dir/program" >"$dir/out" 2>&1 || :
    if grep -qE 'Cannot (PTRACE|trace)|[Cc]ould not trace|ptrace: Operation not permitted' "$dir/out"; then
        skip "gdb may not trace programs here: $(grep -m1 -i trace "$dir/out")"
    fi
}
# says WORDS: the last run said so.
says() {
    grep -qF -- "$1" "$dir/out" || {
        cat "$dir/out" >&2
        fail "gdb does not say '$1'"
    }
}

run_gdb 'info probes stap probes'
for name in nothing numbers ten texts words types stars linux last__one; do
    grep -qE "^stap +probes +$name +0x[0-9a-f]+ +0x[0-9a-f]+" "$dir/out" || {
        cat "$dir/out" >&2
        fail "gdb does not list $name, or no semaphore of it"
    }
done
! grep -q never "$dir/out" || fail "gdb lists a disabled event"

# A breakpoint at a probe raises its semaphore; one at a function does not.
run_gdb 'set breakpoint pending on' 'break _dtrace_trace_texts' 'run' 'print "ended"' 'kill'
says 'nothing 0 texts 0 never 0'
! grep -q 'Breakpoint 1, ' "$dir/out" || fail "called without a breakpoint"

run_gdb 'break -probe-stap probes:texts' 'break -probe-stap probes:numbers' 'run' \
    'print $_probe_argc' 'print $_probe_arg0' 'print $_probe_arg4' 'print $_probe_arg5' \
    'print $_probe_arg7' 'continue' \
    'print (char *)$_probe_arg0' 'print $_probe_arg2' 'continue' 'print $_probe_arg0' 'continue'
for value in '$1 = 10' '$2 = -8' '$3 = -320000' '$4 = 3735928559' '$5 = 18364758544493064720' \
    '"a name"' '$7 = 4660' '$8 = 0' 'nothing 0 texts 1 never 0'; do
    says "$value"
done
echo "gdb finds the probes and reads their arguments"
