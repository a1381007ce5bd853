/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints what a recording under way writes, until it ends or a signal comes: the windows of a reader (live/reader.h), in the order
 * of time. An event is printed a period after it happened, and the time that reading takes. */

#include "analysis/coverage/losses.h"
#include "base/text.h"
#include "trace/tail_selection.h"

#define FOLLOW_PERIOD_MS 500

struct follow {
    const struct trace_options *open; /* as the windows read it, in the host's time */
    const struct select_options *select;
    const char *dir;
    bool has_last; /* begins with the last N events, rather than now */
    uint64_t n_last;
    struct text *out;
    /* Makes a sink that prints the items of TRACE into OUT. -ENOMEM. */
    int (*open_view)(void *arg, struct trace *trace, struct text *out, struct sink **ret_view);
    void *arg;
    struct losses_sink *losses; /* counts what is printed */
    /* TEXT is for standard error. */
    void (*note)(void *arg, const char *text);
    /* Waits until FD, if it is not -1, is readable, or until UNTIL (CLOCK_MONOTONIC, ns). True: it is to end. */
    bool (*wait)(void *arg, int fd, uint64_t until);
    void *hook_arg;
};

/* 0: the recording has ended, or its recorder was killed, or it was to end. A negative errno with ERROR, also where the directory
 * was moved or deleted; with an empty ERROR: it was noted. */
int follow_run(const struct follow *follow, struct error *error);
