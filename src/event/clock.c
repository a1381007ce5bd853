/* SPDX-License-Identifier: MIT */
#include "event/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/number.h"
#include "base/text.h"
#include "base/wide.h"

bool clock_is_order(const struct clock *clock)
{
    return clock->hz == 0 &&
           (strcmp(clock->name, "line") == 0 || strcmp(clock->name, "counter") == 0);
}

int64_t clock_to_ns(const struct clock *clock, int64_t time)
{
    if (clock->hz == NANOSECONDS || clock->hz == 0)
        return time;
    return mul_div_i64(time, NANOSECONDS, clock->hz);
}

int64_t clock_from_ns(const struct clock *clock, uint64_t ns)
{
    wide ticks = wide_of_u64(ns);

    if (clock->hz != 0)
        ticks = wide_div(wide_mul(ticks, wide_of_u64(clock->hz)), wide_of(NANOSECONDS));
    return wide_clamp(ticks);
}

void clock_put_time(const struct clock *clock, int64_t time, struct text *text)
{
    char *p = text_room(text, 2 * NUMBER_MAX);

    if (clock->hz == 0)
        text->next = number_sdec(p, time);
    else
        text->next = number_seconds(p, clock_to_ns(clock, time));
}

const char *duration_text(char *buf, size_t size, const struct clock *clock, uint64_t ticks)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    int64_t ns = clock_to_ns(clock, (int64_t)MIN(ticks, (uint64_t)INT64_MAX));
    double v = (double)ns;
    unsigned unit = 0;

    if (clock->hz == 0) {
        snprintf(buf, size, "%" PRIu64, ticks);
        return buf;
    }
    if (ns < 1000) {
        snprintf(buf, size, "%" PRId64 "ns", ns);
        return buf;
    }
    for (; unit + 1 < ARRAY_SIZE(units) && v >= 999.5; unit++)
        v /= 1000;
    snprintf(buf, size, "%.*f%s", v < 9.995 ? 2 : (v < 99.95 ? 1 : 0), v, units[unit]);
    return buf;
}
