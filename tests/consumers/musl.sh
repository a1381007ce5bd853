#!/bin/sh
# The generator, libstrata and the agent built with musl, from nothing but the sources, and a program of them without any
# shared library: all that it emits arrives. Kernel headers are those of this machine.
. "$(dirname "$0")/../lib/golden.sh"

for need in musl-gcc meson ninja; do
    command -v $need >/dev/null || {
        echo "$need is not installed"
        exit 77
    }
done
headers="-idirafter /usr/include -idirafter /usr/include/$(cc -dumpmachine 2>/dev/null || gcc -dumpmachine)"
# No library of another libc: pkg-config finds none.
CC="musl-gcc $headers" PKG_CONFIG_LIBDIR=/nowhere meson setup built "$tree" -Dreading=disabled -Dagent=enabled \
    -Dtests=disabled >log 2>&1 && ninja -C built >>log 2>&1 || fail "$(tail -n 30 log)"
built/bin/strata-agent --version >told || fail "the agent does not run"
echo 'hello(uint64_t n, const char *text) "n %" PRIu64 " text %s"' >trace-events
for format in h c; do
    built/bin/strata gen -f $format --backend ring -g musl -o trace-musl.$format trace-events
done
cat >main.c <<'END'
#include "trace-musl.h"

int main(void)
{
    for (unsigned i = 0; i < 100000; i++)
        trace_hello(i, "musl");
    return 0;
}
END
# shellcheck disable=SC2086 # words
musl-gcc $headers -O2 -static -I. -I"$tree/include" -o program main.c trace-musl.c built/src/runtime/libstrata.a -pthread
STRATA_TRACE='hello;ctf=trace' ./program 2>errors || fail "$(cat errors)"
[ ! -s errors ] || fail "$(cat errors)"
[ "$("$STRATA_BIN/strata" stat -f json trace | jq .events)" -eq 100000 ] || fail "$("$STRATA_BIN/strata" stat trace)"
"$STRATA_BIN/strata" report trace | tail -n 1 | grep -q 'hello: n 99999 text musl$' || fail "$("$STRATA_BIN/strata" report trace | tail -n 1)"
