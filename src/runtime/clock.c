/* SPDX-License-Identifier: MIT */
#include "runtime/clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/wide.h"
#include "runtime/macro.h"

#define NS_PER_S 1000000000LL

/* Two pairs give a rate when they are this far apart: an error of 100 ns is then 10 ppm. */
#define RATE_NS_MIN (10 * 1000 * 1000LL)

uint64_t trace_clock_ns(clockid_t id)
{
    struct timespec ts;

    if (clock_gettime(id, &ts) < 0)
        return 0;
    return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

#if defined(__x86_64__) || defined(__i386__)
/* "Invariant TSC": it runs at one rate in every power state, and the processors' are in step. */
static bool tsc_is_invariant(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1U << 8));
}

/* Leaf 0x15: the TSC as a ratio of the crystal's rate. A hypervisor may tell kHz at 0x40000010. */
static uint64_t tsc_hz_by_cpuid(void)
{
    unsigned a, b, c, d;

    if (__get_cpuid(0x15, &a, &b, &c, &d) && a && b && c)
        return (uint64_t)c * b / a;
    if (__get_cpuid(1, &a, &b, &c, &d) && (c & (1U << 31))) {
        __cpuid(0x40000000, a, b, c, d);
        if (a >= 0x40000010) {
            __cpuid(0x40000010, a, b, c, d);
            return (uint64_t)a * 1000;
        }
    }
    return 0;
}
#endif

static enum clock_kind choose_kind(void)
{
    const char *wish = secure_getenv("STRATA_TRACE_CLOCK");

    if (wish && strcmp(wish, "monotonic") == 0)
        return CLOCK_KIND_MONOTONIC;
#if defined(__x86_64__) || defined(__i386__)
    return tsc_is_invariant() ? CLOCK_KIND_TSC : CLOCK_KIND_MONOTONIC;
#elif defined(__aarch64__)
    return CLOCK_KIND_CNTVCT;
#else
    return CLOCK_KIND_MONOTONIC;
#endif
}

enum clock_kind trace_clock_kind(void)
{
    static _Atomic int kind =
        -1; /* asking the processor takes a microsecond or, in a guest, many */
    int k = atomic_load_explicit(&kind, memory_order_relaxed);

    if (unlikely(k < 0)) { /* before main(): note_first_pair() asks */
        k = (int)choose_kind();
        atomic_store_explicit(&kind, k, memory_order_relaxed);
    }
    return (enum clock_kind)k;
}

uint64_t trace_clock_ticks(void)
{
#if defined(__x86_64__) || defined(__i386__)
    if (likely(trace_clock_kind() == CLOCK_KIND_TSC))
        return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;

    if (likely(trace_clock_kind() == CLOCK_KIND_CNTVCT)) {
        __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#endif
    return trace_clock_ns(CLOCK_MONOTONIC);
}

struct clock_pair trace_clock_pair(uint32_t *ret_error)
{
    struct clock_pair best = {};
    uint64_t best_took = UINT64_MAX;
    int64_t best_ns = 0;

    for (unsigned i = 0; i < 8; i++) {
        uint64_t t0 = trace_clock_ticks();
        int64_t m0 = (int64_t)trace_clock_ns(CLOCK_MONOTONIC);
        uint64_t t1 = trace_clock_ticks();
        int64_t real = (int64_t)trace_clock_ns(CLOCK_REALTIME);
        int64_t m1 = (int64_t)trace_clock_ns(CLOCK_MONOTONIC);
        uint64_t t2 = trace_clock_ticks();

        /* Every reading lies between t0 and t2; the middle of the three calls is nearest to t1. */
        if (t2 - t0 >= best_took)
            continue;
        best_took = t2 - t0;
        best_ns = m1 - m0;
        best = (struct clock_pair){
            .ticks = t1,
            .monotonic = m0 + (m1 - m0) / 2,
            .realtime = real,
        };
    }
    if (best_ns < 0 || best_ns > UINT32_MAX)
        best_ns = UINT32_MAX;
    if (ret_error)
        *ret_error = (uint32_t)best_ns;
    return best;
}

uint64_t clock_rate(const struct clock_pair *first, const struct clock_pair *last)
{
    int64_t ns = last->monotonic - first->monotonic;

    if (ns < RATE_NS_MIN || last->ticks <= first->ticks)
        return 0;
    return mul_div_u64(last->ticks - first->ticks, NS_PER_S, (uint64_t)ns);
}

/* When the process began to have this library, for rates. */
static struct clock_pair first_pair;

static void RUNS_FIRST note_first_pair(void)
{
    first_pair = trace_clock_pair(NULL);
}

uint64_t trace_clock_hz_known(void)
{
    struct clock_pair now;

    if (trace_clock_kind() == CLOCK_KIND_MONOTONIC)
        return NS_PER_S;
#if defined(__aarch64__)
    uint64_t hz;

    __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
    return hz;
#elif defined(__x86_64__) || defined(__i386__)
    static _Atomic uint64_t by_cpuid = UINT64_MAX;
    uint64_t hz = atomic_load_explicit(&by_cpuid, memory_order_relaxed);
    if (hz == UINT64_MAX) {
        hz = tsc_hz_by_cpuid();
        atomic_store_explicit(&by_cpuid, hz, memory_order_relaxed);
    }
    if (hz > 0)
        return hz;
#endif
    now = trace_clock_pair(NULL);
    return clock_rate(&first_pair, &now);
}

uint64_t trace_clock_hz(void)
{
    for (;;) {
        uint64_t hz = trace_clock_hz_known();

        if (hz > 0)
            return hz;
        nanosleep(&(struct timespec){.tv_nsec = RATE_NS_MIN / 4}, NULL);
    }
}
