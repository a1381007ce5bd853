/* SPDX-License-Identifier: MIT */
#pragma once

/* What a trace covers: how many events it has, from when to when, and how much of that time is unknown because events
 * were lost. The covered time is the denominator of rates and shares.
 *
 * A loss on one CPU of a source with N CPUs takes 1/N of its time from the source's covered time: events of the other
 * CPUs are there. A loss whose CPU is unknown takes all of its time. A loss whose start is unknown starts at the last
 * item of its CPU; if the CPU is unknown, too, at the earliest of all CPUs' last items. A loss
 * without an end (item->is_open) goes on to the last event of the trace. Not thread-safe. */

#include "analysis/losses.h"

struct source_coverage;

struct coverage {
    uint64_t n_events;
    /* Events that are earlier than one before them on their CPU: what is damaged, or a clock that ran backwards. All
     * that is measured around them may be wrong. */
    uint64_t n_backward;
    int64_t first,
        last; /* of events, in ticks of the trace's clock; TIME_UNKNOWN: there were none */
    struct losses losses;
    struct layer_losses layers;
    struct source_coverage **sources;
    unsigned n_sources;
    const struct origin *recent_origin;
    struct source_coverage *recent;
};

void coverage_init(struct coverage *coverage);
void coverage_done(struct coverage *coverage);
/* Items in the order of time. 0, -ENOMEM. */
int coverage_put(struct coverage *coverage, const struct item *items, unsigned n);

/* From the first event to the last, in ticks. */
int64_t coverage_duration(const struct coverage *coverage);
/* The part of it that is covered by the events of ORIGIN; NULL: by the source that covers least. In ticks. */
int64_t coverage_covered(const struct coverage *coverage, const struct origin *origin);
/* What a result says of events that are earlier than one before them. N: of them, 1 or more. BUF. */
const char *coverage_backward_text(char *buf, size_t size, uint64_t n);
/* True if a source lost events between FROM and UNTIL, maybe. */
bool coverage_has_loss(const struct coverage *coverage, int64_t from, int64_t until);
