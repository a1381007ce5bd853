/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads a trace for `strata top`: one that is being recorded by the windows of a reader (live/reader.h), one that is complete by its last
 * windows. */

#include <sys/types.h>

#include "base/clock_ns.h"
#include "live/reader.h"
#include "top/layout.h"
#include "top/read.h"

#define TOP_SPAN_NS (10 * NSEC_PER_SEC) /* what most numbers are of */

struct top_driver {
    const char *path;
    const struct trace_options *trace_options;
    struct top_model model;
    uint64_t period_ns;
    unsigned span; /* windows */
    bool is_live, has_ended;
    pid_t recorder;
    struct live_consumer consumer;
    struct live_reader *reader; /* NULL: the recording has ended */
    char warning[300];          /* "": none */
};

/* PATH and OPTIONS, what the user's environment says of opening, are borrowed. RECORDER: the process that records; 0: not known. DRIVER
 * stays where it is until top_driver_done(). -ENOMEM. */
int top_driver_init(struct top_driver *driver, const char *path, pid_t recorder,
                    const struct trace_options *options, uint64_t period_ns);
void top_driver_done(struct top_driver *driver);
/* Readable: step() has something to do. -1: none. */
int top_driver_fd(const struct top_driver *driver);
/* When step() has something to do (CLOCK_MONOTONIC); UINT64_MAX: never. */
uint64_t top_driver_due(const struct top_driver *driver);
/* 1: there are new windows, or what is shown has changed; 0: not yet; a negative errno with ERROR: it cannot be read at all. */
int top_driver_step(struct top_driver *driver, struct error *error);
/* True between a step that asks the recorder to flush and the step that reads. */
bool top_driver_is_flushing(const struct top_driver *driver);
/* Goes on after a pause. */
void top_driver_resume(struct top_driver *driver);
/* What a view shows of it. */
void top_driver_view(const struct top_driver *driver, struct top_view *view);
