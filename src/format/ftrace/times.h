/* SPDX-License-Identifier: MIT */
#pragma once

/* Converts the time stamps of a trace.dat in three steps, in this order: corrections against the host's clock, which
 * were measured while a guest was recorded; ticks to nanoseconds; a constant. */

#include <stdbool.h>
#include <stdint.h>

/* The guest's clock relative to the host's clock at one time. */
struct ftrace_time_sample {
    int64_t time;
    int64_t offset;
    int64_t scaling;
    int64_t fraction; /* bits of `scaling` after the point */
};

struct ftrace_times {
    struct ftrace_time_cpu {
        struct ftrace_time_sample *samples; /* ascending by time */
        uint32_t n_samples;
    } * cpus;
    uint32_t n_cpus;
    bool interpolate;

    /* nanoseconds = ticks * mult >> shift; mult 0: times are nanoseconds */
    uint32_t mult, shift;
    int64_t offset;
};

/* Parses the data of the option TIME_SHIFT of a trace.dat (see there). -EBADMSG, -ENOMEM. */
int ftrace_times_read_shift(struct ftrace_times *times, const uint8_t *p, uint32_t size, bool swap);
void ftrace_times_done(struct ftrace_times *times);

/* True if times are changed at all. */
static inline bool ftrace_times_change(const struct ftrace_times *times)
{
    return times->n_cpus || times->mult || times->offset;
}

uint64_t ftrace_times_apply(const struct ftrace_times *times, int cpu, uint64_t time);
