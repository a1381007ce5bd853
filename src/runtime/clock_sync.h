/* SPDX-License-Identifier: MIT */
#pragma once

/* Converts ticks to nanoseconds while tracing. Readings of both clocks a second apart correct the conversion, so that
 * it neither steps nor drifts, however long the trace is. */

#include "base/wide.h"
#include "runtime/clock.h"

struct clock_sync {
    struct clock_pair start; /* the first reading */
    uint64_t base_ticks;     /* at these ticks … */
    uint64_t base_ns;        /* … the time was this */
    uint64_t ns_per_tick;    /* in 2^-32 */
    uint64_t next;           /* ticks: when to read again */
    uint64_t hz;             /* rate as far as known */
    uint64_t hz_next;        /* ns: when to measure it more precisely */
    int64_t realtime_offset; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
};

void clock_sync_init(struct clock_sync *times);
/* Call it from time to time. Reads the clocks when that is due. */
void clock_sync_steer(struct clock_sync *times);
/* Determines the rate as exactly as possible now. */
void clock_sync_finish(struct clock_sync *times);

static inline uint64_t clock_sync_ns(const struct clock_sync *times, uint64_t ticks)
{
    uint64_t since = ticks - times->base_ticks;

    if ((int64_t)since < 0) { /* rounded down, too */
        since = -since;
        return times->base_ns - mul_shift_u64(since, times->ns_per_tick, 32) -
               ((uint32_t)(since * times->ns_per_tick) != 0);
    }
    return times->base_ns + mul_shift_u64(since, times->ns_per_tick, 32);
}
