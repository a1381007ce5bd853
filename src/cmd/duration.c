/* SPDX-License-Identifier: MIT */
#include "cmd/duration.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/macro.h"

int64_t duration_ns(const struct clock *clock, uint64_t ticks)
{
    return clock_to_ns(clock, (int64_t)MIN(ticks, (uint64_t)INT64_MAX));
}

const char *duration_text(char *buf, size_t size, const struct clock *clock, uint64_t ticks)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    int64_t ns = duration_ns(clock, ticks);
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

const char *date_text(char *buf, size_t size, int64_t ns)
{
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm tm;

    if (!localtime_r(&seconds, &tm) || strftime(buf, size, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        buf[0] = '\0';
    return buf;
}
