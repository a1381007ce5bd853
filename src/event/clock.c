/* SPDX-License-Identifier: MIT */
#include "event/clock.h"

#include "base/macro.h"
#include "base/number.h"
#include "base/text.h"

int64_t clock_to_ns(const struct clock *clock, int64_t time)
{
    __int128 ns;

    if (clock->hz == NANOSECONDS || clock->hz == 0)
        return time;
    ns = (__int128)time * NANOSECONDS / (__int128)clock->hz;
    return (int64_t)MIN(MAX(ns, INT64_MIN), INT64_MAX);
}

int64_t clock_from_ns(const struct clock *clock, uint64_t ns)
{
    __int128 ticks = clock->hz == 0 ? (__int128)ns : (__int128)ns * clock->hz / NANOSECONDS;

    return (int64_t)MIN(ticks, (__int128)INT64_MAX);
}

void clock_put_time(const struct clock *clock, int64_t time, struct text *text)
{
    char *p = text_room(text, 2 * NUMBER_MAX);

    if (clock->hz == 0)
        text->next = number_sdec(p, time);
    else
        text->next = number_seconds(p, clock_to_ns(clock, time));
}
