/* SPDX-License-Identifier: MIT */
#pragma once

/* The clock that stamped a source's events. Times stay in its ticks; only code that prints a time or relates two clocks
 * converts them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text;

struct clock {
    const char *name; /* "monotonic", "realtime", "local", "x86-tsc", … */
    uint64_t hz;      /* ticks per second; NANOSECONDS for ns; 0: not known */
};

#define NANOSECONDS 1000000000u

/* True if CLOCK only counts events or lines of a text: it has their order, but no times. */
bool clock_is_order(const struct clock *clock);
/* The unit that follows a number of ticks, if the rate is not known. */
#define CLOCK_TICKS_TEXT " ticks (the clock's rate is not known)"
#define CLOCK_ORDER_TEXT ", in their order: the trace has no times"

/* Puts TIME, in ticks of CLOCK, as "SECONDS.NNNNNNNNN", or the bare ticks if the rate is not known. */
void clock_put_time(const struct clock *clock, int64_t time, struct text *text);

/* Converts ticks to nanoseconds, at most INT64_MAX (292 years); the ticks themselves if the rate is not
 * known. */
int64_t clock_to_ns(const struct clock *clock, int64_t time);
/* The other way round, rounded down, at most INT64_MAX. */
int64_t clock_from_ns(const struct clock *clock, uint64_t ns);

/* TICKS of CLOCK with three significant digits, "12.3ms", "1.50us", "340ns", or the ticks themselves
 * if the rate is not known. BUF of 24 bytes or more. Returns BUF. */
const char *duration_text(char *buf, size_t size, const struct clock *clock, uint64_t ticks);
