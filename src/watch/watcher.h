/* SPDX-License-Identifier: MIT */
#pragma once

/* Evaluates conditions on a running recording and makes metrics of its events, in a process of its own, until the
 * recording ends.
 *
 * It evaluates the windows of a reader (live/reader.h), and writes lines:
 *
 *     fired INDEX NS TEXT     condition INDEX has become true at NS (CLOCK_MONOTONIC, ns); TEXT says what was seen
 *     problem INDEX TEXT      condition INDEX cannot be evaluated, in part or yet ("-": all conditions); once for each problem
 *
 * There is at most one `fired` line per condition and window. TEXT has the number of matches. A condition about a state
 * (exits, stolen, runnable) fires when the state begins, and again when it begins anew. TEXT has no control characters,
 * and a line has at most WATCH_LINE_MAX bytes including its newline. Each line is one write(), so a pipe has whole
 * lines.
 *
 * It uses at most a tenth of a CPU, because it rests nine times as long as it computes.
 *
 * The data come from guests, so call it in a child process, which may be killed and started again at any time. The new
 * process continues with the moment of its start. */

#include "live/reader.h"
#include "watch/condition.h"

#define WATCH_LINE_MAX 1024
#define WATCH_PERIOD_NS (UINT64_C(2) * 1000000000)

struct families_feed;

/* All pointers are borrowed. */
struct watch_settings {
    const char *dir;    /* of the recording */
    uint64_t since;     /* begin of the first window (CLOCK_MONOTONIC, ns) */
    uint64_t period_ns; /* 0: WATCH_PERIOD_NS */
    /* Conditions without events are skipped. INDEX in lines is the index in this array. */
    const struct watch_condition *conditions;
    unsigned n_conditions;
    const struct trace_options *options; /* may be NULL */
    struct families_feed *feed;          /* makes metrics of the same windows; may be NULL */
    int out;                             /* gets the lines; -1: none */
    /* When it becomes readable or hangs up, the rest is read and watch_run() ends; -1: never. */
    int stop;
};

/* Runs until `stop`, until nobody reads `out`, or until the recording has ended: 0. A negative errno if it cannot
 * continue. The caller ignores SIGPIPE. */
int watch_run(const struct watch_settings *settings);
