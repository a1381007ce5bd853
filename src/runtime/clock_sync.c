/* SPDX-License-Identifier: MIT */
#include "runtime/clock_sync.h"

#include <stddef.h>

#include "base/wide.h"

#define SECOND UINT64_C(1000000000)

static uint64_t fraction(uint64_t hz)
{
    return (SECOND << 32) / hz;
}

void clock_sync_init(struct clock_sync *times)
{
    uint64_t hz = trace_clock_hz();

    if (hz == 0) /* not known: as good a start as any, steered from the first second on */
        hz = SECOND;
    times->start = trace_clock_pair(NULL);
    times->base_ticks = times->start.ticks;
    times->base_ns = (uint64_t)times->start.monotonic;
    times->hz = hz;
    times->ns_per_tick = fraction(hz);
    times->next = times->start.ticks + hz;
    times->hz_next = (uint64_t)times->start.monotonic + SECOND;
    times->realtime_offset = times->start.realtime - times->start.monotonic;
}

void clock_sync_steer(struct clock_sync *times)
{
    struct clock_pair now;
    uint64_t hz;
    uint64_t is;
    uint64_t rate;
    int64_t off;

    if (trace_clock_ticks() < times->next)
        return;
    now = trace_clock_pair(NULL);
    times->realtime_offset = now.realtime - now.monotonic;
    hz = clock_rate(&times->start, &now);
    if (hz == 0)
        return;
    times->next = now.ticks + hz;
    if (trace_clock_kind() == CLOCK_KIND_MONOTONIC)
        return;

    /* Where we are stays where it is; within the next second we come to where we should be. By no more
     * than a quarter, which is enough for a rate that was not known at all, and keeps the order. */
    is = clock_sync_ns(times, now.ticks);
    off = now.monotonic - (int64_t)is;
    if (off > (int64_t)SECOND / 4)
        off = (int64_t)SECOND / 4;
    if (off < -(int64_t)SECOND / 4)
        off = -(int64_t)SECOND / 4;
    rate = fraction(hz);
    times->ns_per_tick = mul_div_u64(rate, SECOND + (uint64_t)off, SECOND);
    times->base_ticks = now.ticks;
    times->base_ns = is;

    if ((uint64_t)now.monotonic >= times->hz_next) {
        times->hz = hz;
        times->hz_next =
            (uint64_t)now.monotonic + 4 * (uint64_t)(now.monotonic - times->start.monotonic);
    }
}

void clock_sync_finish(struct clock_sync *times)
{
    struct clock_pair now = trace_clock_pair(NULL);
    uint64_t hz = clock_rate(&times->start, &now);

    /* A short trace says less about the rate than was known before. */
    if (hz && now.monotonic - times->start.monotonic >= (int64_t)SECOND)
        times->hz = hz;
}
