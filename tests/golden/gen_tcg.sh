#!/bin/sh
# SPDX-License-Identifier: MIT
# The four formats for TCG, compiled together as QEMU's tree does it, with stand-ins for its macros: a
# "translator" calls trace_NAME_tcg(), the "translated code" is a list of calls that are made later.
. "$(dirname "$0")/../lib/golden.sh"

cat >trace-events <<'EOF'
vcpu guest_cpu_reset(void)
vcpu tcg guest_mem(TCGv vaddr, uint16_t info) "info=%d", "vaddr=0x%016"PRIx64" info=%d"
tcg plain(void) "translated", "executed"
vcpu tcg only_vcpu(void) "translated", "executed"
tcg kinds(TCGv a, uint32_t b, const char *c, uint8_t d, int64_t e, void *f) "%u %s %u %"PRId64" %p", "%"PRIu64" %u %s %u %"PRId64" %p"
disable vcpu tcg off(TCGv a) "x", "%"PRIu64
ordinary(int a) "%d"
EOF
# Words of one of these are of no other.
for form in tcg-h tcg-helper-c tcg-helper-h tcg-helper-wrapper-h; do
    "$STRATA_BIN/tracetool" --format=$form --backends=log --group=root trace-events >$form
done
if grep -l 'ordinary\|guest_cpu_reset\|[^_]disable' tcg-*; then
    echo "events without the property tcg are in the files above" >&2
    exit 1
fi

# ---- What of QEMU's tree they are compiled with ----

mkdir -p qemu exec trace
: >qemu/osdep.h
cat >cpu.h <<'EOF'
#pragma once
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
typedef uint32_t target_ulong;
typedef struct CPUState { int index; } CPUState;
typedef struct CPUArchState { CPUState *cpu; } CPUArchState;
static inline CPUState *env_cpu(CPUArchState *env) { return env->cpu; }
EOF
# What the group's header has for these events.
cat >trace/trace-root.h <<'EOF'
#pragma once
#include "cpu.h"
#define trace_event_get_vcpu_state(cpu, id) (id##_ON)
extern bool TRACE_GUEST_MEM_EXEC_ON, TRACE_ONLY_VCPU_EXEC_ON;
#define SAY(...) (printf(__VA_ARGS__), putchar('\n'))
#define INDEX(cpu) ((CPUState *)(cpu))->index
static inline void trace_guest_mem_trans(void *cpu, uint16_t info) { SAY("guest_mem_trans %d %u", INDEX(cpu), info); }
static inline void trace_guest_mem_exec(void *cpu, uint64_t vaddr, uint16_t info)
{ SAY("guest_mem_exec %d %" PRIx64 " %u", INDEX(cpu), vaddr, info); }
static inline void trace_plain_trans(void) { SAY("plain_trans"); }
static inline void trace_plain_exec(void) { SAY("plain_exec"); }
static inline void trace_only_vcpu_trans(void *cpu) { SAY("only_vcpu_trans %d", INDEX(cpu)); }
static inline void trace_only_vcpu_exec(void *cpu) { SAY("only_vcpu_exec %d", INDEX(cpu)); }
static inline void trace_kinds_trans(uint32_t b, const char *c, uint8_t d, int64_t e, void *f)
{ SAY("kinds_trans %u %s %u %" PRId64 " %p", b, c, d, e, f); }
static inline void trace_kinds_exec(uint64_t a, uint32_t b, const char *c, uint8_t d, int64_t e, void *f)
{ SAY("kinds_exec %" PRIu64 " %u %s %u %" PRId64 " %p", a, b, c, d, e, f); }
EOF
cp tcg-h generated-tcg-tracers.h
cp tcg-helper-c helpers.c
cp tcg-helper-h trace/generated-helpers.h
cp tcg-helper-wrapper-h trace/generated-helpers-wrappers.h

# The declarations, as QEMU's exec/helper-proto.h makes them.
cat >exec/helper-proto.h <<'EOF'
#ifndef PROTO_H
#define PROTO_H
#include "cpu.h"
#define T_env CPUArchState *
#define T_tl target_ulong
#define T_i32 uint32_t
#define T_i64 uint64_t
#define T_ptr void *
#define TCG_CALL_NO_RWG 0
#define DEF_HELPER_FLAGS_0(name, flags, ret) ret helper_##name(void);
#define DEF_HELPER_FLAGS_1(name, flags, ret, a) ret helper_##name(T_##a);
#define DEF_HELPER_FLAGS_3(name, flags, ret, a, b, c) ret helper_##name(T_##a, T_##b, T_##c);
#define DEF_HELPER_FLAGS_6(name, flags, ret, a, b, c, d, e, f) \
    ret helper_##name(T_##a, T_##b, T_##c, T_##d, T_##e, T_##f);
#include "trace/generated-helpers.h"
#undef DEF_HELPER_FLAGS_0
#undef DEF_HELPER_FLAGS_1
#undef DEF_HELPER_FLAGS_3
#undef DEF_HELPER_FLAGS_6
#endif
EOF
# And as its exec/helper-gen.h does: here translated code is a list of calls with the numbers of
# registers. Registers hold values when the code runs; constants are registers of their own.
cat >helper-gen.h <<'EOF'
typedef struct { int n; } *TCGv_i32; typedef struct { long n; } *TCGv_i64;
typedef struct { short n; } *TCGv_ptr; typedef TCGv_i32 TCGv; typedef TCGv_ptr TCGv_env;
extern uintptr_t registers[64]; extern int n_registers, n_live;
static inline void *constant(uintptr_t v)
{ registers[n_registers] = v; n_live++; return &registers[n_registers++]; }
#define tcg_const_i32(v) ((TCGv_i32)constant((uint32_t)(v)))
#define tcg_const_i64(v) ((TCGv_i64)constant((uint64_t)(v)))
#define tcg_const_ptr(v) ((TCGv_ptr)constant((uintptr_t)(v)))
#define tcg_temp_free_i32(t) ((void)(TCGv_i32){t}, n_live--)
#define tcg_temp_free_i64(t) ((void)(TCGv_i64){t}, n_live--)
#define tcg_temp_free_ptr(t) ((void)(TCGv_ptr){t}, n_live--)
struct code { void *helper; void *arguments[6]; };
extern struct code code[16]; extern int n_code;
#define V_env TCGv_env
#define V_tl TCGv
#define V_i32 TCGv_i32
#define V_i64 TCGv_i64
#define V_ptr TCGv_ptr
#define GEN(name, ...) { code[n_code++] = (struct code){(void *)helper_##name, {__VA_ARGS__}}; }
#define DEF_HELPER_FLAGS_0(name, flags, ret) static inline void gen_helper_##name(void) GEN(name, 0)
#define DEF_HELPER_FLAGS_1(name, flags, ret, ta) static inline void gen_helper_##name(V_##ta a) GEN(name, a)
#define DEF_HELPER_FLAGS_3(name, flags, ret, ta, tb, tc) \
    static inline void gen_helper_##name(V_##ta a, V_##tb b, V_##tc c) GEN(name, a, b, c)
#define DEF_HELPER_FLAGS_6(name, flags, ret, ta, tb, tc, td, te, tf) \
    static inline void gen_helper_##name(V_##ta a, V_##tb b, V_##tc c, V_##td d, V_##te e, V_##tf f) \
    GEN(name, a, b, c, d, e, f)
#include "trace/generated-helpers.h"
#include "trace/generated-helpers-wrappers.h"
EOF
cat >main.c <<'EOF'
#include "exec/helper-proto.h"
#include "helper-gen.h"
#include "generated-tcg-tracers.h"

uintptr_t registers[64];
struct code code[16];
int n_registers = 8, n_live, n_code;
bool TRACE_GUEST_MEM_EXEC_ON = true, TRACE_ONLY_VCPU_EXEC_ON = false;

static void run(const struct code *c)
{
    uintptr_t v[6];
    for (int i = 0; i < 6; i++)
        v[i] = c->arguments[i] ? *(uintptr_t *)c->arguments[i] : 0;
    ((void (*)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t))c->helper)(
        v[0], v[1], v[2], v[3], v[4], v[5]);
}

int main(void)
{
    CPUState cpu = {3};
    CPUArchState env = {&cpu};
    registers[0] = (uintptr_t)&env;
    trace_guest_mem_tcg(&cpu, (TCGv_env)&registers[0], (TCGv)&registers[1], 0x8042);
    trace_plain_tcg();
    trace_only_vcpu_tcg(&cpu, (TCGv_env)&registers[0]);
    TRACE_ONLY_VCPU_EXEC_ON = true;
    trace_only_vcpu_tcg(&cpu, (TCGv_env)&registers[0]);
    trace_kinds_tcg((TCGv)&registers[2], UINT32_MAX, "text", 200, -5, (void *)0x77);
    trace_off_tcg(&cpu, (TCGv_env)&registers[0], (TCGv)&registers[1]);
    printf("-- %d calls, %d constants live\n", n_code, n_live);
    for (int pass = 1; pass <= 2; pass++) {
        registers[1] = 0x1000u * (unsigned)pass;
        registers[2] = (uintptr_t)pass;
        for (int i = 0; i < n_code; i++)
            run(&code[i]);
    }
    return 0;
}
EOF
for cc in gcc clang; do
    command -v $cc >/dev/null || continue
    $cc -std=gnu11 -Wall -Werror -I. main.c helpers.c -o program
    ./program >output
    cat >expected <<'EOF'
guest_mem_trans 3 32834
plain_trans
only_vcpu_trans 3
only_vcpu_trans 3
kinds_trans 4294967295 text 200 -5 0x77
-- 4 calls, 0 constants live
guest_mem_exec 3 1000 32834
plain_exec
only_vcpu_exec 3
kinds_exec 1 4294967295 text 200 -5 0x77
guest_mem_exec 3 2000 32834
plain_exec
only_vcpu_exec 3
kinds_exec 2 4294967295 text 200 -5 0x77
EOF
    diff expected output
done

# ---- What they refuse ----

refused() { # FORMAT PATTERN < events
    cat >bad-events
    if "$STRATA_BIN/tracetool" --format="$1" --backends=log --group=root bad-events >out 2>error; then
        echo "accepted for $1:" >&2
        cat bad-events >&2
        exit 1
    fi
    [ ! -s out ]
    grep -q "bad-events:1: .*$2" error || { cat error >&2; exit 1; }
}
refused tcg-helper-h "'x' has 8 arguments" <<'EOF'
vcpu tcg x(TCGv a, int b, int c, int d, int e, int f, int g) "", ""
EOF
refused tcg-helper-h "TCGv_i128" <<'EOF'
tcg x(TCGv_i128 a) "", ""
EOF
echo 'ordinary(int a) "%d"' >trace-events
if "$STRATA_BIN/strata" gen --format tcg-h --backend log --group g trace-events >out 2>error; then
    echo "there is a format tcg-h for programs" >&2
    exit 1
fi
grep -q "tcg-h.*QEMU" error
[ ! -s out ]
