/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints what a recording under way writes, until it ends or a signal comes.
 *
 * Each period the recorder is asked to bring all that is held to the files, and what is new is read as a window (live/window.h)
 * and printed in the order of time. So an event is printed a period after it happened, and the time that reading takes.
 * Where reading a window takes long, the next one comes later: not more than a quarter of a CPU is used. */

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
    /* Sleeps for NS; true: it is to end. */
    bool (*sleep)(void *arg, uint64_t ns);
    void *hook_arg;
};

/* 0: the recording has ended, or its recorder was killed, or it was to end. A negative errno with ERROR, also where the directory
 * was moved or deleted; with an empty ERROR: it was noted. */
int follow_run(const struct follow *follow, struct error *error);
