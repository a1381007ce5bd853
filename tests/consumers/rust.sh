#!/bin/sh
# Format rs: a program in Rust, with the generated C and libstrata linked in.
. "${0%/*}/common.sh"
rustc=$(command -v rustc || ls "$HOME/.cargo/bin/rustc" /root/.cargo/bin/rustc 2>/dev/null | head -n 1) || :
[ -n "$rustc" ] || skip "there is no rustc here (Debian package rustc, which is large)"
"$rustc" --version >"$dir/log" 2>&1 || skip "rustc does not run here: $(head -n 1 "$dir/log")"

# build BACKENDS
build() {
    generate "$1"
    "$strata" gen -f rs --backend "$1" --group probes -o "$dir/trace-probes.rs" "$here/probes.trace-events"
    # shellcheck disable=SC2086 # a list of words
    cc $warnings -O2 -DSTRATA_TRACE_RUST -I"$include" -I"$dir" -c -o "$dir/trace-probes.o" \
        "$dir/trace-probes.c"
    # Edition 2015 knows no c"" literals, 2021 more warnings: it is to do for any.
    for edition in 2015 2021; do
        # -lc once more: with GNU ld, what libstrata.a needs of it has to follow.
        TRACE_PROBES_RS=$dir/trace-probes.rs "$rustc" --edition $edition -O -D warnings \
            -C link-arg="$dir/trace-probes.o" -C link-arg="$LIBSTRATA" -C link-arg=-lpthread -C link-arg=-lc \
            -o "$dir/program" "$here/probes.rs" >"$dir/log" 2>&1 || {
            cat "$dir/log" >&2
            fail "rustc refuses it (backends $1, edition $edition)"
        }
    done
}

cat >"$dir/expected" <<'E2'
nothing nothing at all
numbers -8 208 -1600 65000 -320000 0xdeadbeef -64000000000 18364758544493064720 1 4096
ten 1 -2 3 -4 5 -6 7 -8 9 -10
texts name=a name other=other    where=0x1234 address=0xADDR 100%
words next=1 string=0x22 self=self probe=4 class=5 printf=6 next_=7
linux 7
last__one mask=0xffffffff00000000 negative=4294967295
E2
build log,dtrace
[ "$("$dir/program" 2>"$dir/found")" = "nothing false never false" ] || fail "something is on"
[ ! -s "$dir/found" ] || fail "something is printed"
[ "$(STRATA_TRACE='enable=*' "$dir/program" 2>"$dir/found")" = "nothing true never false" ] ||
    fail "the program does not see its states"
sed -i 's/^[0-9]*@[0-9]*\.[0-9]*://; s/\(address=\)0x[0-9a-f]*/\10xADDR/' "$dir/found"
diff -u "$dir/expected" "$dir/found" >&2 || fail "other events"
n=$(readelf -n "$dir/program" | grep -c 'Provider: probes')
[ "$n" -eq 9 ] || fail "$n static probes of 9"

build dtrace
[ "$("$dir/program")" = "nothing false never false" ] || fail "somebody watches"
build nop
[ "$(STRATA_TRACE='enable=*' "$dir/program" 2>/dev/null)" = "nothing false never false" ] ||
    fail "something is on that is compiled out"
echo "Rust traces"
