/* SPDX-License-Identifier: MIT */
#include "event/cpu_ends.h"

#include <inttypes.h>
#include <stdio.h>

#include "event/source.h"

/* So many times as long as the others take. */
#define OUTLIER_PART 10

/* Whether data that are AWAY from all others, which take ALL, are an outlier. */
static bool is_outlier(const struct clock *clock, int64_t away, int64_t all)
{
    return all >= 0 && away / OUTLIER_PART > all &&
           clock_to_ns(clock, away) > (int64_t)SOURCE_STRAY_NS;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a == TIME_UNKNOWN || (b != TIME_UNKNOWN && b < a) ? b : a;
}

bool cpu_ends_report_outlier(const struct cpu_ends *ends, const struct clock *clock, char *text,
                             size_t size)
{
    int64_t begin = earlier(ends->second_begin, ends->inner_begin);
    int64_t end = MAX(ends->last_but_one_end, ends->inner_end);
    int64_t before = ticks_between(ends->first_begin, begin);
    int64_t after = ticks_between(end, ends->last_end);
    bool is_last = true;

    if (clock->hz == 0)
        return false;
    if (clock_to_ns(clock, ends->backward) > (int64_t)SOURCE_STRAY_NS) {
        snprintf(text, size,
                 "the first event of CPU %" PRId32 " is %" PRId64
                 " seconds after its last one: the time of one of them is damaged",
                 ends->backward_cpu, clock_to_ns(clock, ends->backward) / NANOSECONDS);
        return true;
    }
    if (begin == TIME_UNKNOWN || end == TIME_UNKNOWN)
        return false;
    if (!is_outlier(clock, after, ticks_between(ends->first_begin, end))) {
        is_last = false;
        if (!is_outlier(clock, before, ticks_between(begin, ends->last_end)))
            return false;
    }
    snprintf(text, size,
             "the %s event of CPU %" PRId32 " is %" PRId64
             " seconds %s all others: its time may be damaged, and the trace shorter",
             is_last ? "last" : "first", is_last ? ends->last_cpu : ends->first_cpu,
             clock_to_ns(clock, is_last ? after : before) / NANOSECONDS,
             is_last ? "after" : "before");
    return true;
}
