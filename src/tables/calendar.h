/* SPDX-License-Identifier: MIT */
#pragma once

/* The time of day of a trace's times, for tables that hold traces of many hosts and days.
 *
 * A recording knows the time of day when it began and when it ended; between and around these it goes on as the trace's
 * clock does, so that a step of the time of day in between is spread. Of other traces the time of day is not known: then
 * the first event is put at the time at which the file was last written. */

#include <stdbool.h>
#include <stdint.h>

#include "event/value.h"

struct calendar_moment {
    int64_t ns; /* of the trace's timeline */
    int64_t unix_ns;
};
#define CALENDAR_MOMENTS 2

/* Given: the moments, or the time of the file where there are none. */
struct calendar {
    struct calendar_moment moments[CALENDAR_MOMENTS]; /* ascending */
    unsigned n_moments;
    bool is_known; /* false: it is that of the file */
    int64_t file_unix_ns;
    int64_t first_ns, last_ns; /* the first time that was asked for; the last event's */
    bool has_first;
};

#define DAY_NS INT64_C(86400000000000)

/* Nanoseconds since 1970-01-01, UTC. */
int64_t calendar_unix_ns(const struct calendar *calendar, int64_t ns);

/* The same of the cell TIME, where NULL is at the last event. _event: of an event; they come in order. */
int64_t calendar_cell(struct calendar *calendar, const struct value *time);
int64_t calendar_event(struct calendar *calendar, const struct value *time);

/* Days since 1970-01-01, from 0 to 65535. */
static inline uint16_t calendar_day(int64_t unix_ns)
{
    int64_t day = unix_ns / DAY_NS;

    return unix_ns < 0 ? 0 : day > UINT16_MAX ? UINT16_MAX : (uint16_t)day;
}

/* "2026-11-23" of a day into BUF, which is returned. */
#define CALENDAR_DAY_SIZE 16
const char *calendar_day_text(uint16_t day, char buf[CALENDAR_DAY_SIZE]);
