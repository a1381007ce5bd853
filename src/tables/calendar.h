/* SPDX-License-Identifier: MIT */
#pragma once

/* Converts a trace's times to the time of day, for tables that contain traces of many hosts and days.
 *
 * A recording knows the time of day of its begin and its end. Between, before and after these, the time of day advances
 * with the trace's clock, so a step of the host's time of day in between is spread over the recording. For other
 * traces, the time of day is unknown; their first event is put at the time at which the file was last written. */

#include <stdbool.h>
#include <stdint.h>

#include "event/value.h"

struct calendar_moment {
    int64_t ns; /* on the trace's timeline */
    int64_t unix_ns;
};
#define CALENDAR_MOMENTS 2

/* Given: the moments, or, without moments, the time of the file. */
struct calendar {
    struct calendar_moment moments[CALENDAR_MOMENTS]; /* ascending */
    unsigned n_moments;
    bool is_known; /* false: the file's time is used */
    int64_t file_unix_ns;
    int64_t first_ns, last_ns; /* the first requested time, and the last event's time */
    bool has_first;
};

#define DAY_NS INT64_C(86400000000000)

/* Nanoseconds since 1970-01-01, UTC. */
int64_t calendar_unix_ns(const struct calendar *calendar, int64_t ns);

/* Converts the cell TIME; NULL means the last event's time. calendar_event() is for events, in their order. */
int64_t calendar_cell(struct calendar *calendar, const struct value *time);
int64_t calendar_event(struct calendar *calendar, const struct value *time);

/* Days since 1970-01-01, limited to 0 to 65535. */
static inline uint16_t calendar_day(int64_t unix_ns)
{
    int64_t day = unix_ns / DAY_NS;

    return unix_ns < 0 ? 0 : day > UINT16_MAX ? UINT16_MAX : (uint16_t)day;
}

/* Writes a day as "2026-11-23" to BUF, and returns BUF. */
#define CALENDAR_DAY_SIZE 16
const char *calendar_day_text(uint16_t day, char buf[CALENDAR_DAY_SIZE]);
