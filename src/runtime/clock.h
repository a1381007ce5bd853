/* SPDX-License-Identifier: MIT */
#pragma once

/* The clock that stamps records: the processor's counter if it runs at one rate on all processors, else
 * CLOCK_MONOTONIC. Records hold its ticks; pairs of readings that are taken together convert ticks to time over the
 * length of the trace. */

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

/* The clock that stamps records. It stays the same for the life of the process and its children. Any thread, signal
 * handlers too. */
enum clock_kind trace_clock_kind(void);
uint64_t trace_clock_ticks(void);
/* Reads a clock as clock_gettime() does, in ns; 0: no such clock. Any thread, signal handlers too. */
uint64_t trace_clock_ns(clockid_t id);

/* Reads the three clocks as close together as possible: the fastest of several attempts. *ret_error
 * (may be NULL) is the largest distance between them, in ns. Any thread, signal handlers too. */
struct clock_pair trace_clock_pair(uint32_t *ret_error);

/* Ticks per second from two pairs (the further apart the better); 0 if they are too close. */
uint64_t clock_rate(const struct clock_pair *first, const struct clock_pair *last);

/* Ticks per second as far as known: exact for CLOCK_KIND_MONOTONIC and CLOCK_KIND_CNTVCT. For the TSC: the rate that
 * the processor reports, or the rate measured since the library was loaded, or 0 in the first 10 ms. Any thread, signal
 * handlers too. */
uint64_t trace_clock_hz_known(void);
/* The same, but waits for those 10 ms if necessary. Do not call it from signal handlers. */
uint64_t trace_clock_hz(void);
