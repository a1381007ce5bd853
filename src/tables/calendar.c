/* SPDX-License-Identifier: MIT */
#include "tables/calendar.h"

#include <time.h>

#include "base/macro.h"
#include "base/wide.h"

int64_t calendar_unix_ns(const struct calendar *calendar, int64_t ns)
{
    const struct calendar_moment *first = &calendar->moments[0], *second = &calendar->moments[1];
    wide t;

    if (calendar->n_moments == 0)
        return ns;
    t = wide_difference(ns, first->ns);
    if (calendar->n_moments > 1 && second->ns > first->ns)
        t = wide_div(wide_mul(t, wide_difference(second->unix_ns, first->unix_ns)),
                     wide_difference(second->ns, first->ns));
    return wide_clamp(wide_add(t, wide_of(first->unix_ns)));
}

int64_t calendar_cell(struct calendar *calendar, const struct value *time)
{
    int64_t ns = time->present ? time->i : calendar->last_ns;

    if (unlikely(!calendar->has_first) && time->present) {
        calendar->first_ns = ns;
        calendar->has_first = true;
    }
    if (unlikely(calendar->n_moments == 0)) {
        calendar->moments[0] = (struct calendar_moment){ns, calendar->file_unix_ns};
        calendar->n_moments = 1;
    }
    return calendar_unix_ns(calendar, ns);
}

int64_t calendar_event(struct calendar *calendar, const struct value *time)
{
    if (time->present)
        calendar->last_ns = time->i;
    return calendar_cell(calendar, time);
}

const char *calendar_day_text(uint16_t day, char buf[CALENDAR_DAY_SIZE])
{
    time_t seconds = (time_t)day * 86400;
    struct tm tm;

    if (!gmtime_r(&seconds, &tm) || strftime(buf, CALENDAR_DAY_SIZE, "%Y-%m-%d", &tm) == 0)
        buf[0] = '\0';
    return buf;
}
