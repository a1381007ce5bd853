/* SPDX-License-Identifier: MIT */
#include "tables/calendar.h"

#include <time.h>

#include "base/macro.h"

int64_t calendar_unix_ns(const struct calendar *calendar, int64_t ns)
{
    const struct calendar_moment *first = &calendar->moments[0], *second = &calendar->moments[1];
    __int128 t;

    if (calendar->n_moments == 0)
        return ns;
    t = (__int128)ns - first->ns;
    if (calendar->n_moments > 1 && second->ns > first->ns)
        t = t * ((__int128)second->unix_ns - first->unix_ns) / ((__int128)second->ns - first->ns);
    t += first->unix_ns;
    return t > INT64_MAX ? INT64_MAX : t < INT64_MIN ? INT64_MIN : (int64_t)t;
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
