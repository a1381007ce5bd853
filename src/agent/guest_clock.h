/* SPDX-License-Identifier: MIT */
#pragma once

/* The clock of a trace buffer, read from outside the kernel.
 *
 *   trace_clock   read by                                        counts
 *   x86-tsc       the processor's time stamp counter             ticks, at the rate that perf tells
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
    int dir; /* of the buffer, for those that only it shows; -1: they cannot be read */
};

/* Chooses one of those that are OFFERED ("[local] global x86-tsc", the text of trace_clock): WANTED, or for
 * "" the one that relates best to a host's: x86-tsc, mono_raw, mono, or the one in force. -ENOENT: it is
 * not offered. */
int guest_clock_choose(const char *offered, const char *wanted, char *ret_name, size_t size);
/* The one in brackets; "" if there is none. */
void guest_clock_in_force(const char *offered, char *ret_name, size_t size);

/* Its time now; 0: it cannot be read. Any thread may ask. */
uint64_t guest_clock_now(const struct guest_clock *clock);
/* Its ticks a second, 0: not known. */
uint64_t guest_clock_hz(const struct guest_clock *clock);
