/* SPDX-License-Identifier: MIT */
#pragma once

/* strata top: what its files have in common. */

#include <sys/types.h>

#include "base/clock_ns.h"
#include "cmd/find_recording.h"
#include "cmd/top/read.h"
#include "top/layout.h"

#define TOP_SPAN_NS (10 * NSEC_PER_SEC) /* what most numbers are of */

struct top_options {
    bool batch;
    uint64_t iterations; /* 0: no end */
    uint64_t period_ns;
    unsigned sort; /* enum top_sort */
};

/* ---- Reading, window by window (top_driver.c) ---- */

struct top_driver {
    const char *path;
    struct top_model model;
    uint64_t period_ns;
    unsigned span; /* windows */
    bool is_live;
    pid_t recorder;
    enum { TOP_IDLE, TOP_FLUSHING, TOP_ENDED } state;
    struct top_flush flush;
    uint64_t due_ns;   /* CLOCK_MONOTONIC: when step() has something to do; UINT64_MAX: never */
    int64_t began;     /* the recording, as far as is known */
    char warning[300]; /* "": none */
};

/* PATH is borrowed. */
void top_driver_init(struct top_driver *driver, const struct found_recording *target,
                     uint64_t period_ns);
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

/* ---- Commands of `strata ctl` (top_ctl.c) ---- */

struct top_ctl; /* one that runs */

/* Runs `strata ctl DIR WORDS...`, WORDS ended by NULL; AS_CSV: its output is CSV. MASK: the blocked signals of the process.
 * -errno with ERROR. */
int top_ctl_start(const char *dir, const char *const *words, bool as_csv, const sigset_t *mask,
                  struct top_ctl **ret, struct error *error);
int top_ctl_fd(const struct top_ctl *ctl);
/* FD is readable: 1 when it has ended, with what it wrote; 0: not yet. */
int top_ctl_step(struct top_ctl *ctl, bool *ret_ok, const char **ret_text);
struct top_ctl *top_ctl_free(struct top_ctl *ctl);
/* The events of the CSV that `list` wrote. -ENOMEM. */
int top_switches_parse(const char *text, struct top_switches *ret);
void top_switches_done(struct top_switches *switches);

/* ---- Front ends: an exit status; errors are printed ---- */

int top_batch(struct top_driver *driver, const struct top_options *options);
int top_terminal(struct top_driver *driver, const struct top_options *options);
