/* SPDX-License-Identifier: MIT */
#pragma once

/* Evaluates conditions (watch/condition.h) on windows (live/window.h) that follow each other.
 *
 *     watch_evaluator_new()
 *     per window:  watch_evaluator_begin(), the sink gets all items, watch_evaluator_end(); or _idle()
 *
 * A condition is reported at most once per window, with the number of what matched:
 *
 *     event      each window with such events
 *     latency    each window in which spans exceed the limit: at the moment at which they do, whether they have ended or not
 *     lost       each window with more losses than that
 *     others     where the condition begins to hold, and again after it did not; what is compared is: a percentile of a window
 *                with as many spans as it takes (100 for p99); a window's rate of exits, with the mean of up to
 *                WATCH_BASELINE_NS before it, at least WATCH_BASELINE_MIN_NS of it, and with WATCH_EXITS_IDLE a second at least,
 *                of windows without losses;
 *                the share of each stretch of the given time that ends in the window, of each vCPU or thread
 *
 * Time is stolen from a vCPU while its thread of the host waits for a CPU; where its guest is recorded, too, while the guest's
 * CPU is not idle.
 *
 * Not thread-safe. */

#include "live/window.h"
#include "watch/condition.h"

#define WATCH_BASELINE_NS (INT64_C(60) * 1000000000)
#define WATCH_BASELINE_MIN_NS (INT64_C(10) * 1000000000)
#define WATCH_EXITS_IDLE 100

struct watch_report {
    /* Condition INDEX matched, at NS first; TEXT says what. */
    void (*fired)(void *arg, unsigned index, int64_t ns, const char *text);
    /* Once for each condition and reason. */
    void (*problem)(void *arg, unsigned index, const char *text);
    void *arg;
};

struct watch_evaluator;

/* Of those of N CONDITIONS that need events; all outlive it. -ENOMEM. */
int watch_evaluator_new(const struct watch_condition *conditions, unsigned n,
                        const struct watch_report *report, struct watch_evaluator **ret);
void watch_evaluator_free(struct watch_evaluator *evaluator);

/* How far before a window of which the sources LATE (struct live_window) have more still items are needed, ns. */
int64_t watch_evaluator_look_back(const struct watch_evaluator *evaluator, const char *late);

/* WINDOW is open. *RET_SINK: where its items go; it is the evaluator's. -ENOMEM. */
int watch_evaluator_begin(struct watch_evaluator *evaluator, const struct live_window *window,
                          struct sink **ret_sink);
/* R: what live_window_put() returned; reports. The window is still open. After a begin() that did not fail. -ENOMEM. */
int watch_evaluator_end(struct watch_evaluator *evaluator, int r);
/* A window without anything new. */
void watch_evaluator_idle(struct watch_evaluator *evaluator, int64_t from, int64_t to);
