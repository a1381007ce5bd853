#!/bin/sh
# Formats stap, log-stap and simpletrace-stap: SystemTap parses the tapsets, finds each probe in the
# program, and translates all of it into C. Building and loading a kernel module of that is what is
# left out (stap-run.sh does in its place what the tapset says); so a directory that looks like that of a
# kernel's headers will do.
. "${0%/*}/common.sh"
need stap systemtap

mkdir -p "$dir/kernel/include/config" "$dir/tapset"
: >"$dir/kernel/Makefile"
: >"$dir/kernel/Module.symvers"
uname -r >"$dir/kernel/include/config/kernel.release"
printf '%s=y\n' CONFIG_TRACEPOINTS CONFIG_UPROBES CONFIG_ARCH_SUPPORTS_UPROBES CONFIG_PERF_EVENTS \
    CONFIG_KALLSYMS >"$dir/kernel/.config"
echo 'ffffffff81000000 T _text' >"$dir/kernel/System.map"
SYSTEMTAP_DIR=$dir/systemtap
export SYSTEMTAP_DIR

# translate PASS TAPSETS SCRIPT: into out.
translate() {
    stap -r "$dir/kernel" -p"$1" -I "$2" -e "$3" >"$dir/out" 2>"$dir/err" || {
        grep -v 'symbol table missing' "$dir/err" | head -n 20 >&2
        fail "stap does not take it: $3"
    }
}
stap -r "$dir/kernel" -p2 -e 'probe begin { println(1) }' >"$dir/out" 2>"$dir/err" || {
    head -n 5 "$dir/err" >&2
    skip "stap translates nothing here"
}

generate dtrace
compile cc "$dir/program" -O2 "$here/probes.c" "$dir/trace-probes.c"

for target in strata qemu; do
    for format in stap log-stap simpletrace-stap; do
        "$strata" gen --target $target --format $format --backend dtrace --group probes \
            --provider probes --binary "$dir/program" --probe-prefix demo.x \
            -o "$dir/tapset/$format.stp" "$here/probes.trace-events"
    done
    # The probes by themselves: each is found in the program, and its arguments can be named.
    stap -r "$dir/kernel" -I "$dir/tapset" -L 'demo.x.*' 2>"$dir/err" | grep -v '\.log\.\|\.simpletrace\.' |
        sed 's/ \$.*//; s/:long//g' | sort >"$dir/found"
    cat >"$dir/expected" <<'E2'
demo.x.last__one mask negative
demo.x.linux unix
demo.x.nothing
demo.x.numbers flag i16 i32 i64 i8 size u16 u32 u64 u8
demo.x.stars precision s t width
demo.x.ten a b c d e f g h i j
demo.x.texts address name other where
demo.x.types cuc li sc u uc ull vpp
demo.x.words class next_ next__ printf_ probe_ self_ string_
E2
    # The names come in any order.
    while read -r probe names; do
        echo "$probe" "$(printf '%s' "$names" | tr ' ' '\n' | sort | tr '\n' ' ')"
    done <"$dir/found" | sed 's/ *$//' >"$dir/sorted"
    diff -u "$dir/expected" "$dir/sorted" >&2 || fail "$target: stap finds other probes"

    # All of them in the C that stap makes: 9 probes of each kind, as one event is disabled.
    for kind in log simpletrace; do
        translate 2 "$dir/tapset" "probe demo.x.$kind.* { }"
        n=$(grep -c 'process(' "$dir/out")
        [ "$n" -eq 9 ] || fail "$target: $n probes of 9 in demo.x.$kind.*"
        translate 3 "$dir/tapset" "probe demo.x.$kind.* { }"
        grep -q '_stp_printf' "$dir/out" || fail "$target: nothing prints"
    done
    # Without the program there is nothing to probe, which is not an error of the tapset.
    translate 2 "$dir/tapset" 'probe demo.x.log.nothing, begin { println(1) }'
done
echo "stap translates the tapsets"
