/* SPDX-License-Identifier: MIT */
#pragma once

/* The largest error of a duration between two events, of one clock or of two.
 *
 * Between two clocks, it is the sum of the errors of both times. Within one clock, it is the error of the clock's rate
 * (struct origin), and at most that sum. If the clock was set or stood still in between, it is the sum. */

#include "event/item.h"

/* A part of a clock's time in which the clock may have been set, or may have stood still. */
#define CLOCK_UNSTEADY UINT8_MAX
/* Rounding of converted times, ns. */
#define CLOCK_ROUNDED 2

static inline uint32_t clock_errors_sum(uint32_t a, uint32_t b)
{
    return a + b < a ? UINT32_MAX : a + b;
}

/* The error of one end of a duration between two sources: ERROR_NS of its item, or the error by missing digits. */
static inline uint32_t clock_end_error(const struct origin *origin, uint32_t error_ns)
{
    return error_ns > 0 ? error_ns : origin->duration_error_ns;
}

/* The part that has both events of a clock, or CLOCK_UNSTEADY if the clock was set or stood still in between. */
static inline uint8_t clock_parts_join(uint8_t a, uint8_t b)
{
    return a == b ? a : CLOCK_UNSTEADY;
}

/* The error in ns of a duration of TICKS within PART of ORIGIN's clock. SUM is the sum of the errors of its ends, in ns. */
static inline uint32_t clock_duration_error(const struct origin *origin, int64_t ticks,
                                            uint8_t part, uint32_t sum)
{
    double ns;

    if (likely(origin->rate_error == 0 && origin->duration_error_ns == 0))
        return part == CLOCK_UNSTEADY ? sum : 0;
    if (part == CLOCK_UNSTEADY)
        return sum;
    if (origin->rate_error == 0 && sum == 0) /* its times are cut */
        return origin->duration_error_ns;
    ns = ticks < 0 ? -(double)ticks : (double)ticks;
    if (origin->clock.hz != NANOSECONDS && origin->clock.hz != 0)
        ns = ns * NANOSECONDS / (double)origin->clock.hz;
    ns = ns * origin->rate_error + 1 + CLOCK_ROUNDED + origin->duration_error_ns; /* rounded up */
    if (sum > 0 && ns > sum)
        return sum;
    return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}
