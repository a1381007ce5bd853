#!/bin/sh
# Backend dtrace: bpftrace attaches to the probes of a running program, counts the hits and prints the
# arguments.
. "${0%/*}/common.sh"
need bpftrace bpftrace

generate dtrace
compile cc "$dir/program" -O2 "$here/probes.c" "$dir/trace-probes.c"

bpftrace -l "usdt:$dir/program:*" >"$dir/out" 2>"$dir/err" || {
    cat "$dir/err" >&2
    skip "bpftrace cannot list probes here"
}
sed "s|.*:probes:||" "$dir/out" | sort >"$dir/listed"
printf '%s\n' last__one linux nothing numbers stars ten texts types words >"$dir/expected"
diff -u "$dir/expected" "$dir/listed" >&2 || fail "bpftrace lists other probes"

# Does the kernel let anything be attached at all? The same with a function of a program.
bpftrace -e "uprobe:$dir/program:main { exit(); }" -c "$dir/program" >"$dir/out" 2>&1 || {
    head -n 3 "$dir/out" >&2
    skip "bpftrace lists the probes, but the kernel lets it attach to nothing"
}

# (This bpftrace knows six arguments.)
cat >"$dir/script" <<E2
usdt:$dir/program:probes:nothing { @nothing = count(); }
usdt:$dir/program:probes:numbers
{
    printf("numbers %d %u %d %u %d %u\n", (int8)arg0, (uint8)arg1, (int16)arg2, (uint16)arg3,
        (int32)arg4, (uint32)arg5);
}
usdt:$dir/program:probes:types { printf("types %lu\n", arg0); }
usdt:$dir/program:probes:texts /arg0/ { printf("texts %s %s %lx\n", str(arg0), str(arg1), arg2); }
E2
bpftrace -B line -c "$dir/program 3" "$dir/script" >"$dir/out" 2>"$dir/err" || {
    cat "$dir/err" >&2
    fail "bpftrace does not run"
}
# said TIMES LINE
said() {
    [ "$(grep -cxF -- "$2" "$dir/out")" -eq "$1" ] || {
        cat "$dir/out" "$dir/err" >&2
        fail "not $1 times: $2"
    }
}
said 1 '@nothing: 3'
said 3 'numbers -8 208 -1600 65000 -320000 3735928559'
said 3 'types 18446744073709551615'
said 3 'texts a name other 1234'
# The semaphores were raised: the program saw that somebody watches.
said 1 'nothing 1 texts 1 never 0'
echo "bpftrace reads the probes"
