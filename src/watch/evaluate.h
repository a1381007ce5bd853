/* SPDX-License-Identifier: MIT */
#pragma once

/* Evaluates conditions (watch/condition.h) on contiguous windows (live/window.h).
 *
 *     watch_evaluator_new()
 *     per window:  watch_evaluator_begin(), the sink gets all items, watch_evaluator_end(); or watch_evaluator_idle()
 *
 * A condition is reported at most once per window, with the number of matches:
 *
 *     event      each window with such events
 *     latency    each window in which spans exceed the limit, ended or not; a span counts at the moment when it exceeds it
 *     lost       each window with more lost events than the limit
 *     others     the window in which the condition begins to hold, and again after it did not hold
 *
 * The last kind compares:
 *
 * - a percentile: over a window with enough spans for it (100 for p99)
 * - the rate of exits: of a window, with the mean rate of up to WATCH_BASELINE_NS before it. Only windows without
 *   losses count in the mean. It needs at least WATCH_BASELINE_MIN_NS, and is at least WATCH_EXITS_IDLE per second.
 * - a share: of each vCPU or thread, in each stretch of the given length that ends in the window
 *
 * Time is stolen from a vCPU while its host thread waits for a CPU. If its guest is recorded, time in which the guest's
 * CPU is idle does not count.
 *
 * Not thread-safe. */

#include "live/window.h"
#include "watch/condition.h"

#define WATCH_BASELINE_NS (INT64_C(60) * 1000000000)
#define WATCH_BASELINE_MIN_NS (INT64_C(10) * 1000000000)
#define WATCH_EXITS_IDLE 100

struct watch_report {
    /* Condition INDEX matched, first at NS. TEXT says what matched. */
    void (*fired)(void *arg, unsigned index, int64_t ns, const char *text);
    /* Called once for each condition and reason. */
    void (*problem)(void *arg, unsigned index, const char *text);
    void *arg;
};

struct watch_evaluator;

/* Evaluates those of N CONDITIONS that need events. CONDITIONS and REPORT must outlive the evaluator. -ENOMEM. */
int watch_evaluator_new(const struct watch_condition *conditions, unsigned n,
                        const struct watch_report *report, struct watch_evaluator **ret);
void watch_evaluator_free(struct watch_evaluator *evaluator);

/* How many ns before a window items are needed, if the sources LATE (struct live_window) may still have more items. */
int64_t watch_evaluator_look_back(const struct watch_evaluator *evaluator, const char *late);

/* Begins WINDOW, which is open. *RET_SINK, which the evaluator owns, gets its items. -ENOMEM. */
int watch_evaluator_begin(struct watch_evaluator *evaluator, const struct live_window *window,
                          struct sink **ret_sink);
/* Ends the window and reports. Call after a successful begin(), while the window is still open. R is the result of
 * live_window_put(). -ENOMEM. */
int watch_evaluator_end(struct watch_evaluator *evaluator, int r);
/* Passes a window without new items. */
void watch_evaluator_idle(struct watch_evaluator *evaluator, int64_t from, int64_t to);
