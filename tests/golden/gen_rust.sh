#!/bin/sh
# SPDX-License-Identifier: MIT
# What format rs makes for QEMU is compiled by rustc, linked with a C side that stands for QEMU's
# tree, and called from Rust: every type, and every backend that Rust has there.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

rustc=$(command -v rustc || echo "${HOME:-/root}/.cargo/bin/rustc")
if ! "$rustc" --version >version 2>/dev/null; then
    echo "SKIPPED: there is no rustc: what format rs makes was not compiled"
    exit 77
fi
minor=$(sed -n 's/^rustc 1\.\([0-9]*\).*/\1/p' version)
if [ "${minor:-0}" -lt 83 ]; then
    echo "SKIPPED: $(cat version) is too old, QEMU wants 1.83: what format rs makes was not compiled"
    exit 77
fi

cat >trace-events <<'EOF'
# every type that QEMU allows
rs_plain(void) "nothing"
rs_no_format(int a)
rs_small(bool on, char c, signed char s, unsigned char u, int8_t i8, uint8_t u8, int16_t i16, uint16_t u16) "%d %d %d %u %"PRId8" %"PRIu8" %"PRId16" 0x%"PRIx16
rs_short(short s, unsigned short u, short int si) "%d %u %d"
rs_words(int i, unsigned u, unsigned int ui, long l, unsigned long ul, long long ll, unsigned long long ull) "%d %u %u %ld %lu %lld %llu"
rs_sizes(size_t a, ssize_t b, uintptr_t c, ptrdiff_t d, int64_t e, uint64_t f) "%zu %zd 0x%"PRIxPTR" %td %"PRId64" 0x%016" PRIx64
rs_strings(const char *type, char *out) "type \"%s\" out '%s' 100%% back\\slash tab\t."
rs_pointers(void *p, const void *q, uint8_t *r, void **s) "%p %p %p %p"
rs_Capital(uint32_t fn, uint32_t match) "%u %u"
rs_off(int a) "never %d"
disable rs_disabled(int a) "never %d"
EOF

"$STRATA_BIN/tracetool" --format=rs --backends=log,syslog,ftrace,simple,ring,dtrace,ust --group=test trace-events trace-test.rs

cat >main.rs <<'EOF'
#![deny(warnings)]
mod trace {
    include!("trace-test.rs");
}
use trace::*;
extern "C" {
    fn test_switch(count: u32, state: u16);
}
fn call_all() {
    trace_rs_plain();
    trace_rs_no_format(1);
    trace_rs_small(true, 65, -2, 250, -100, 200, -30000, 60000);
    trace_rs_short(-5, 65535, 6);
    trace_rs_words(-1, 4294967295, 7, -8, 1 << 40, -9, u64::MAX);
    trace_rs_sizes(10, -11, 0xabc, -12, -13, 0xfedcba9876543210);
    let mut out = *b"changed\0";
    trace_rs_strings(c"text", out.as_mut_ptr().cast());
    trace_rs_pointers(0x10 as *mut (), 0x20 as *const (), 0x30 as *mut u8, 0x40 as *mut ());
    trace_rs_Capital(1, 2);
    trace_rs_disabled(3);
}
fn main() {
    unsafe { test_switch(0, 1) };
    call_all();
    unsafe { test_switch(1, 0) };
    call_all();
    unsafe { test_switch(1, 1) };
    call_all();
    trace_rs_off(4);
}
EOF
cat >side.c <<'EOF'
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

uint32_t trace_events_enabled_count;
uint32_t qemu_loglevel = 1u << 15;

#define EVENTS(X) X(PLAIN) X(NO_FORMAT) X(SMALL) X(SHORT) X(WORDS) X(SIZES) X(STRINGS) X(POINTERS) X(CAPITAL)
#define STATE(name) uint16_t _TRACE_RS_##name##_DSTATE;
EVENTS(STATE)
uint16_t _TRACE_RS_OFF_DSTATE, _TRACE_RS_DISABLED_DSTATE = 1;

void test_switch(uint32_t count, uint16_t state)
{
#define SWITCH(name) _TRACE_RS_##name##_DSTATE = state;
    trace_events_enabled_count = count;
    EVENTS(SWITCH)
    printf("%u %u\n", count, state);
    fflush(stdout);
}

#define BACKENDS(name, parameters, ...)                               \
    void _log_trace_rs_##name parameters { SAY("log", #name, __VA_ARGS__); }    \
    void _syslog_trace_rs_##name parameters { SAY("syslog", #name, __VA_ARGS__); } \
    void _ftrace_trace_rs_##name parameters { SAY("ftrace", #name, __VA_ARGS__); } \
    void _simple_trace_rs_##name parameters { SAY("simple", #name, __VA_ARGS__); } \
    void _ring_trace_rs_##name parameters { SAY("ring", #name, __VA_ARGS__); }
#define SAY(backend, name, format, ...) \
    do { printf(backend " " name format "\n", ##__VA_ARGS__); fflush(stdout); } while (0)

BACKENDS(plain, (void), "")
BACKENDS(no_format, (int a), " %d", a)
BACKENDS(small, (bool on, char c, signed char s, unsigned char u, int8_t i8, uint8_t u8, int16_t i16, uint16_t u16),
         " %d %c %d %u %d %u %d %u", on, c, s, u, i8, u8, i16, u16)
BACKENDS(short, (short s, unsigned short u, short int si), " %d %u %d", s, u, si)
BACKENDS(words, (int i, unsigned u, unsigned int ui, long l, unsigned long ul, long long ll, unsigned long long ull),
         " %d %u %u %ld %lu %lld %llu", i, u, ui, l, ul, ll, ull)
BACKENDS(sizes, (size_t a, ssize_t b, uintptr_t c, ptrdiff_t d, int64_t e, uint64_t f),
         " %zu %zd 0x%" PRIxPTR " %td %" PRId64 " 0x%" PRIx64, a, b, c, d, e, f)
BACKENDS(strings, (const char *type, char *out), " %s %s", type, out)
BACKENDS(pointers, (void *p, const void *q, uint8_t *r, void **s), " %p %p %p %p", p, q, (void *)r, (void *)s)
BACKENDS(Capital, (uint32_t fn, uint32_t match), " %u %u", fn, match)
BACKENDS(off, (int a), " %d", a)
EOF
# Names in capitals are the same in C and in Rust.
cc -Wall -Wno-unused-function -c side.c -o side.o
ar rcs libside.a side.o
"$rustc" --edition 2021 -O -L . -l static=side main.rs -o program
./program >output

cat >expected <<'EOF'
0 1
1 0
1 1
EOF
while read -r line; do
    for backend in log syslog ftrace simple ring; do
        echo "$backend $line"
    done
done >>expected <<'EOF'
plain
no_format 1
small 1 A -2 250 -100 200 -30000 60000
short -5 65535 6
words -1 4294967295 7 -8 1099511627776 -9 18446744073709551615
sizes 10 -11 0xabc -12 -13 0xfedcba9876543210
strings text changed
pointers 0x10 0x20 0x30 0x40
Capital 1 2
EOF
diff expected output
