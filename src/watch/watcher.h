/* SPDX-License-Identifier: MIT */
#pragma once

/* Evaluates conditions on a recording under way, from a process of its own, until the recording ends, and makes metrics of its
 * events.
 *
 * It evaluates the windows of a reader (live/reader.h), and writes lines:
 *
 *     fired INDEX NS TEXT     condition INDEX has become true at NS (CLOCK_MONOTONIC, ns); TEXT says what was seen
 *     problem INDEX TEXT      reported once each: condition INDEX cannot be evaluated, in full or yet; "-": all of them
 *
 * At most one `fired` line per condition and window, however often it matches; TEXT has the number. What is a state (exits,
 * stolen, runnable) fires when it begins, and again after it was over. TEXT has no control characters, and a line has at most
 * WATCH_LINE_MAX bytes with its newline. One write() per line, so that a pipe has whole lines.
 *
 * It takes a tenth of a CPU at most, as it rests nine times as long as it computes.
 *
 * What is read comes from guests: call it in a child process, which may be killed and started again at any time. It then
 * goes on from the moment at which it was started. */

#include "live/reader.h"
#include "watch/condition.h"

#define WATCH_LINE_MAX 1024
#define WATCH_PERIOD_NS (UINT64_C(2) * 1000000000)

struct families_feed;

/* All borrowed. */
struct watch_settings {
    const char *dir;    /* of the recording */
    uint64_t since;     /* CLOCK_MONOTONIC, ns: where the first window begins */
    uint64_t period_ns; /* 0: WATCH_PERIOD_NS */
    /* Those that need events; others are left out. INDEX is that of this array. */
    const struct watch_condition *conditions;
    unsigned n_conditions;
    const struct trace_options *options; /* NULL: none */
    struct families_feed *feed;          /* metrics that are made of the same windows; NULL: none */
    int out;                             /* where lines go; -1: nowhere */
    int stop; /* becomes readable, or hangs up: to read what there still is, and end; -1: never */
};

/* Until `stop`, until nobody reads `out`, or until the recording has ended: 0. -ENOMEM, or another negative errno that it
 * cannot go on with. SIGPIPE is to be ignored. */
int watch_run(const struct watch_settings *settings);
