/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints what a running recording writes, until it ends or a signal arrives. Prints the windows of a reader
 * (live/reader.h) in the order of time. An event is printed one period and the reading time after it happened. */

#include "analysis/coverage/losses.h"
#include "base/text.h"
#include "trace/tail_selection.h"

#define FOLLOW_PERIOD_MS 500

struct follow {
    const struct trace_options *open; /* how the windows open it, in the host's time */
    const struct select_options *select;
    const char *dir;
    bool has_last; /* begin with the last `n_last` events instead of now */
    uint64_t n_last;
    struct text *out;
    /* Makes a sink that prints the items of TRACE into OUT. -ENOMEM. */
    int (*open_view)(void *arg, struct trace *trace, struct text *out, struct sink **ret_view);
    void *arg;
    struct losses_sink *losses; /* counts losses in what is printed */
    /* TEXT is for standard error. */
    void (*note)(void *arg, const char *text);
    /* Waits until FD is readable (unless it is -1) or until UNTIL (CLOCK_MONOTONIC, ns). Returns true to end. */
    bool (*wait)(void *arg, int fd, uint64_t until);
    void *hook_arg;
};

/* Returns 0 if the recording has ended, its recorder was killed, or wait() returned true. Returns a negative errno with
 * ERROR, also if the directory was moved or deleted. An empty ERROR means that note() got the error. */
int follow_run(const struct follow *follow, struct error *error);
