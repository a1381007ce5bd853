#!/bin/sh
# Made traces of every version: odd strings, drops, times that step backwards, other byte orders; and
# what is said of files that are wrong.
. "$(dirname "$0")/../lib/golden.sh"

made="$DATA/qemu/made"
events="$made/trace-events"

same() { # EXPECTED ARGUMENT…
    expected=$1
    shift
    "$STRATA_BIN/simpletrace" "$@" >"$work/got"
    cmp "$work/got" "$expected"
}

same "$made/v4.txt" "$events" "$made/v4.simpletrace"
same "$made/v4.txt" "$events" "$made/v4-big-endian.simpletrace"
same "$made/v4-as-10.txt" --as=10 "$events" "$made/v4.simpletrace"
same "$made/no-header.txt" --no-header "$events" "$made/no-header.simpletrace"
same "$made/no-header.txt" "$events" "$made/v3.simpletrace"
same "$made/v2.txt" "$events" "$made/v2.simpletrace"
same "$made/v0.txt" "$events" "$made/v0.simpletrace"

# Trees of the time of the old versions had types of their own.
sed 's/(void \*p, /(struct foo *p, /' "$events" >"$work/old-types"
same "$made/v2.txt" "$work/old-types" "$made/v2.simpletrace"

# Fails with status 1, prints nothing on standard output and on standard error what is expected.
refused() { # MESSAGE ARGUMENT…
    message=$1
    shift
    status=0
    "$STRATA_BIN/simpletrace" "$@" >"$work/out" 2>"$work/err" || status=$?
    [ "$status" = 1 ] || { echo "status $status, not 1: $*"; exit 1; }
    printf '%s\n' "$message" | cmp - "$work/err" || { cat "$work/err"; exit 1; }
    [ ! -s "$work/out" ] || { echo "printed something: $*"; exit 1; }
}

cp "$made/v4.simpletrace" trace
refused "usage: $STRATA_BIN/simpletrace [--no-header] <trace-events> <trace-file>"
refused "usage: $STRATA_BIN/simpletrace [--no-header] <trace-events> <trace-file>" a b c
refused "strata: missing: cannot open it: No such file or directory" "$events" missing
refused "strata: missing: cannot open it: No such file or directory" missing trace
refused "Error at $work/old-types:6: the argument type 'struct foo *' is not allowed
    6 | mixed(struct foo *p, const char* s, uint32_t n, const char *t, int z) \"p %p s %s n %u t %s z %d\"
      |       ^~~~~~~~~~~~ write 'void *'" \
    "$work/old-types" trace
refused "strata: invalid option '--as=8' (valid: --as=7.2, the default, and --as=10)" --as=8 a b

printf 'a(struct foo *p) ""\nb(int x) "\\n"\nc(void) ""' >bad
refused "Error at bad:1: the argument type 'struct foo *' is not allowed
    1 | a(struct foo *p) \"\"
      |   ^~~~~~~~~~~~ write 'void *'
Error at bad:2: the format must not end with a newline
    2 | b(int x) \"\\n\"
      |           ^~ leave it out: backends end their lines themselves
Error at bad:3: the file does not end with a newline
    3 | c(void) \"\"
      |           ^" bad trace

printf 'something else, much longer than a header' >other
refused "strata: other: offset 0: not a simpletrace file: the header is missing" "$events" other
: >empty
refused "strata: empty: offset 0: not a simpletrace file: the header is missing" "$events" empty
{ head -c 16 trace; printf '\007\0\0\0\0\0\0\0'; } >version
refused "strata: version: offset 16: unknown simpletrace version 7 (known: 0, 2, 3, 4)" \
    "$events" version

printf 'other(void) ""\n' >few
refused "'empty' event is logged but is not declared in the trace events file, try using trace-events-all instead." \
    few trace
sed 's/^empty(void)/empty(int missing)/' "$events" >more
refused "strata: trace: a record of 'empty' is shorter than more:3 declares; give the events file of the QEMU that wrote the trace" \
    more trace

# Cut anywhere, what stands before the cut is printed.
size=$(wc -c <trace)
for cut in 24 25 32 $((size - 1)) $((size - 41)) 1000 2000; do
    head -c "$cut" trace >cut
    status=0
    "$STRATA_BIN/simpletrace" "$events" cut >out 2>err || status=$?
    len=$(wc -c <out)
    head -c "$len" "$made/v4.txt" | cmp - out
    if [ "$cut" = 24 ]; then
        [ "$status" = 0 ]
    else
        [ "$status" = 1 ]
        grep -q '^strata: cut: offset [0-9]*: the file ends within a record' err
    fi
done
