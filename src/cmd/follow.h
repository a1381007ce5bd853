/* SPDX-License-Identifier: MIT */
#pragma once

/* --follow: prints what a recording under way writes, until it ends or a signal comes.
 *
 * Each period the recorder is asked to bring all that is held to the files, and what is new is read as a window (live/window.h)
 * and printed in the order of time. So an event is printed a period after it happened, and the time that reading takes.
 * Where reading a window takes long, the next one comes later: not more than a quarter of a CPU is used. */

#include "cmd/walk.h"
#include "trace/tail_selection.h"

#define FOLLOW_PERIOD_MS 500

/* --last N. */
struct last_options {
    uint64_t n;
    bool is_given;
};

struct follow {
    const struct open_options *open;
    const struct select_options *select;
    const char *dir;
    const struct last_options *last;
    struct text *out;
    /* Makes a sink that prints the items of TRACE into OUT. -ENOMEM. */
    int (*open_view)(void *arg, struct trace *trace, struct text *out, struct sink **ret_view);
    void *arg;
    struct losses_sink *losses; /* counts what is printed */
};

/* Prints errors. EXIT_SUCCESS: the recording has ended, or its recorder was killed, or a signal came; EXIT_FAILURE,
 * also where the directory was moved or deleted. */
int follow_run(const struct follow *follow);
