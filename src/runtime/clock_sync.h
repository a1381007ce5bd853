/* SPDX-License-Identifier: MIT */
#pragma once

/* Converts ticks to nanoseconds while tracing: corrected by readings of both clocks a second apart, so
 * that it neither steps nor drifts, however long the trace. */

#include "runtime/clock.h"

struct clock_sync {
    struct clock_pair start; /* the first reading */
    uint64_t base_ticks;     /* at these … */
    uint64_t base_ns;        /* … it was that */
    uint64_t ns_per_tick;    /* in 2^-32 */
    uint64_t next;           /* ticks: when to read again */
    uint64_t hz;             /* as known by now */
    uint64_t hz_next;        /* ns: when to measure it more precisely */
    int64_t realtime_offset; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
};

void clock_sync_init(struct clock_sync *times);
/* Call it now and then; reads the clocks when it is time. */
void clock_sync_steer(struct clock_sync *times);
/* As well as the rate can be known now. */
void clock_sync_finish(struct clock_sync *times);

static inline uint64_t clock_sync_ns(const struct clock_sync *times, uint64_t ticks)
{
    __int128 since = (int64_t)(ticks - times->base_ticks);

    return times->base_ns + (uint64_t)(int64_t)((since * times->ns_per_tick) >> 32);
}
