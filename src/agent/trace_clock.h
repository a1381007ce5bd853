/* SPDX-License-Identifier: MIT */
#pragma once

/* The clock of a trace buffer, read from user space.
 *
 *   trace_clock   read by                                        counts
 *   x86-tsc       the processor's time stamp counter             ticks, at the rate that perf reports
 *   mono          CLOCK_MONOTONIC                                nanoseconds
 *   mono_raw      CLOCK_MONOTONIC_RAW                            nanoseconds
 *   boot          CLOCK_BOOTTIME                                 nanoseconds
 *   tai           CLOCK_TAI                                      nanoseconds
 *   others        `now ts:` of per_cpu/cpu0/stats                nanoseconds cut to microseconds, or ticks
 *
 * Source: Linux Documentation/trace/ftrace.rst, "trace_clock"; perf_event_open(2), time_mult. */

#include "base/macro.h"

struct guest_clock {
    char name[32];
    int dir; /* of the buffer, to read `now ts:`; -1: such clocks cannot be read */
};

/* Chooses a clock from OFFERED, the text of trace_clock ("[local] global x86-tsc"): WANTED. If WANTED is "", chooses
 * the clock that relates best to a host's clock: x86-tsc, mono_raw, mono, or the current clock. -ENOENT: WANTED is not
 * offered. */
int guest_clock_choose(const char *offered, const char *wanted, char *ret_name, size_t size);
/* The current clock, which is in brackets; "": none. */
void guest_clock_in_force(const char *offered, char *ret_name, size_t size);

/* The clock's time; 0: it cannot be read. Any thread. */
uint64_t guest_clock_now(const struct guest_clock *clock);
/* Ticks per second; 0: unknown. */
uint64_t guest_clock_hz(const struct guest_clock *clock);
