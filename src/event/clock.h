/* SPDX-License-Identifier: MIT */
#pragma once

/* The clock that stamped a source's events. Times are kept in its own ticks; nothing converts them
 * but what shows them or relates two clocks. */

#include <stdint.h>

struct text;

struct clock {
    const char *name; /* "monotonic", "realtime", "local", "x86-tsc", … */
    uint64_t hz;      /* ticks a second; NANOSECONDS for ns; 0: not known */
};

#define NANOSECONDS 1000000000u

/* TIME in ticks of CLOCK, as "SECONDS.NNNNNNNNN", or the bare ticks where the rate is not known. */
void clock_put_time(const struct clock *clock, int64_t time, struct text *text);

/* Ticks as nanoseconds, at most INT64_MAX (292 years); the ticks themselves where the rate is not
 * known. */
int64_t clock_to_ns(const struct clock *clock, int64_t time);
