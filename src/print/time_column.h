/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes times as text at the rate of a report. Successive events mostly fall into the same second, so its digits are
 * cached; the rest is one multiplication and nine digits. If the clock's rate is unknown, all digits of the ticks but
 * eight are cached. The text equals clock_put_time()'s. */

#include "base/macro.h"
#include "base/number.h"
#include "base/wide.h"
#include "event/clock.h"

#define TIME_COLUMN_MAX 40
/* Ticks whose other digits are cached. */
#define TIME_COLUMN_TICKS 100000000

struct time_column {
    struct clock clock;
    int64_t second_start;    /* ticks at the begin of the cached second */
    uint64_t second_ticks;   /* ticks of a second, or TIME_COLUMN_TICKS; 0: nothing is cached */
    uint64_t reciprocal;     /* 2^64 / second_ticks, rounded down */
    unsigned digits;         /* length of `second` */
    char second[NUMBER_MAX]; /* "1234." */
};

/* Writes any time, and caches its second. */
char *time_column_slow(struct time_column *column, const struct clock *clock, char *p,
                       int64_t time);

/* Converts TICKS, less than a second, to nanoseconds. */
static inline uint32_t time_column_ns(const struct time_column *column, uint64_t ticks)
{
    uint64_t scaled;
    uint64_t ns;

    if (column->second_ticks == NANOSECONDS)
        return (uint32_t)ticks;
    /* scaled / second_ticks by the reciprocal: right, or one too small. */
    scaled = ticks * NANOSECONDS;
    ns = mul_shift_u64(scaled, column->reciprocal, 64);
    if (scaled - ns * column->second_ticks >= column->second_ticks)
        ns++;
    return (uint32_t)ns;
}

/* Writes TIME at P, where TIME_COLUMN_MAX bytes must be free. Returns its end. */
static inline char *time_column_put(struct time_column *column, const struct clock *clock, char *p,
                                    int64_t time)
{
    uint64_t ticks = (uint64_t)time - (uint64_t)column->second_start;

    if (unlikely(ticks >= column->second_ticks || clock->hz != column->clock.hz))
        return time_column_slow(column, clock, p, time);
    memcpy(p, column->second, NUMBER_MAX);
    p += column->digits;
    if (clock->hz == 0)
        return number_dec8(p, (uint32_t)ticks);
    return number_dec9(p, time_column_ns(column, ticks));
}
