/* SPDX-License-Identifier: MIT */
#pragma once

/* The clock that stamps records: the processor's counter where that runs at one rate on all
 * processors, else CLOCK_MONOTONIC. Records hold its ticks as they are; what turns them into time is
 * pairs of readings taken together, over the time of the trace. */

#include <stdint.h>
#include <time.h>

enum clock_kind {
    CLOCK_KIND_MONOTONIC = 0, /* ticks are ns of CLOCK_MONOTONIC */
    CLOCK_KIND_TSC = 1,       /* x86: rdtsc */
    CLOCK_KIND_CNTVCT = 2,    /* aarch64: cntvct_el0 */
};

/* One moment by three clocks. */
struct clock_pair {
    uint64_t ticks;
    int64_t monotonic; /* ns */
    int64_t realtime;  /* ns since 1970 */
};

/* Which clock stamps; the same for the whole life of the process, and of its children. Any thread,
 * signal handlers too. */
enum clock_kind trace_clock_kind(void);
uint64_t trace_clock_ticks(void);
/* What a clock of clock_gettime() shows, in ns; 0: there is no such clock. Any thread, signal handlers too. */
uint64_t trace_clock_ns(clockid_t id);

/* Reads the three as close together as can be: of several tries the one that took the least time.
 * *ret_error is by how many ns they can be apart at most. May be NULL. Any thread, signal handlers too. */
struct clock_pair trace_clock_pair(uint32_t *ret_error);

/* Ticks a second, by two pairs (the further apart the better), or 0 when they are too close to tell. */
uint64_t clock_rate(const struct clock_pair *first, const struct clock_pair *last);

/* Ticks a second as far as is known: exact for CLOCK_KIND_MONOTONIC and CLOCK_KIND_CNTVCT; for the TSC
 * what the processor says about itself, else measured since the library was loaded, else 0: not known
 * yet, in the first 10 ms. Any thread, signal handlers too. */
uint64_t trace_clock_hz_known(void);
/* The same, but waits those 10 ms if it must. Not from signal handlers. */
uint64_t trace_clock_hz(void);
