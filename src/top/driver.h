/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads a trace for `strata top`: a running recording by the windows of a reader (live/reader.h), a complete trace by
 * its last windows. */

#include <sys/types.h>

#include "base/clock_ns.h"
#include "live/reader.h"
#include "top/layout.h"
#include "top/read.h"

#define TOP_SPAN_NS (10 * NSEC_PER_SEC) /* most numbers cover so much time */

struct top_driver {
    const char *path;
    const struct trace_options *trace_options;
    struct top_model model;
    uint64_t period_ns;
    unsigned span; /* in windows */
    bool is_live, has_ended;
    pid_t recorder;
    struct live_consumer consumer;
    struct live_reader *reader; /* NULL if the recording has ended */
    char warning[300];          /* may be "" */
};

/* Borrows PATH and OPTIONS (how the user opens traces). RECORDER: the recording process, or 0 if unknown. DRIVER must
 * not move until top_driver_done(). -ENOMEM. */
int top_driver_init(struct top_driver *driver, const char *path, pid_t recorder,
                    const struct trace_options *options, uint64_t period_ns);
void top_driver_done(struct top_driver *driver);
/* When it is readable, top_driver_step() has something to do. -1 if there is none. */
int top_driver_fd(const struct top_driver *driver);
/* When top_driver_step() has something to do (CLOCK_MONOTONIC, ns); UINT64_MAX: never. */
uint64_t top_driver_due(const struct top_driver *driver);
/* Returns 1 if there are new windows or what is shown has changed, 0 if not yet, or a negative errno with ERROR if the
 * trace cannot be read at all. */
int top_driver_step(struct top_driver *driver, struct error *error);
/* True between a step that asks the recorder to flush and the step that reads. */
bool top_driver_is_flushing(const struct top_driver *driver);
/* Continues after a pause. */
void top_driver_resume(struct top_driver *driver);
/* Fills in what VIEW shows of the driver. */
void top_driver_view(const struct top_driver *driver, struct top_view *view);
