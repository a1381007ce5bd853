/* SPDX-License-Identifier: MIT */
#pragma once

/* When which window of a trace is read for `strata top`. */

#include <sys/types.h>

#include "base/clock_ns.h"
#include "top/layout.h"
#include "top/read.h"
#include "tracedir/ask.h"

#define TOP_SPAN_NS (10 * NSEC_PER_SEC) /* what most numbers are of */

struct top_driver {
    const char *path;
    const struct trace_options *trace_options;
    struct top_model model;
    uint64_t period_ns;
    unsigned span; /* windows */
    bool is_live;
    pid_t recorder;
    enum { TOP_IDLE, TOP_FLUSHING, TOP_ENDED } state;
    struct tracedir_flushing flush;
    uint64_t due_ns;   /* CLOCK_MONOTONIC: when step() has something to do; UINT64_MAX: never */
    int64_t began;     /* the recording, as far as is known */
    char warning[300]; /* "": none */
};

/* PATH and OPTIONS, what the user's environment says of opening, are borrowed. RECORDER: the process that records; 0: not known. */
void top_driver_init(struct top_driver *driver, const char *path, pid_t recorder,
                     const struct trace_options *options, uint64_t period_ns);
void top_driver_done(struct top_driver *driver);
/* Readable: step() has something to do. -1: none. */
static inline int top_driver_fd(const struct top_driver *driver)
{
    return driver->flush.fd;
}
/* 1: there are new windows, or what is shown has changed; 0: not yet; -errno with ERROR: it cannot be read at all. */
int top_driver_step(struct top_driver *driver, uint64_t now, struct error *error);
/* Goes on after a pause. */
void top_driver_resume(struct top_driver *driver, uint64_t now);
/* What a view shows of it. */
void top_driver_view(const struct top_driver *driver, struct top_view *view);
