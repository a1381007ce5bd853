/* SPDX-License-Identifier: MIT */
#pragma once

/* Keeps the open slices of tracks, and turns the spans that analysis/spans/spans.h finds into slices.
 *
 * A span is drawn from its begin on. Its slice ends with the span, or earlier: if events were lost, its thread ended,
 * or a slice around it ended, the slice is cut at once, and the further span does not matter. An event is the begin of
 * a slice, otherwise the end of a slice, which gets the event's fields. */

#include "tracks/slice_class.h"

struct drawn_span {
    struct track *track; /* NULL if its slice was cut */
    const struct origin *origin;
    int32_t cpu;
    unsigned rule;
    struct drawn_span *next_free;
};

/* Adds the rules of slices->options.rules and of all styles. 0, -ENOMEM. */
int slice_spans_init(struct slices *slices);
/* Handles ITEM. slices->group and slices->class are ITEM's. True if ITEM is the begin or end of a slice; or a negative
 * errno. */
int slice_spans_put(struct slices *slices, const struct item *item);
/* Handles LOSS, of events of GROUP since NS, which may include the ends of slices. 0, -ENOMEM. */
int slice_spans_put_loss(struct slices *slices, struct group *group, const struct item *loss,
                         int64_t ns);

/* The time of a begin or end on TRACK: NS, but not before the last one. */
static inline int64_t slice_step(struct track *track, int64_t ns)
{
    track->last = MAX(track->last, ns);
    return track->last;
}

/* Why a slice is cut at the end of the data. */
extern const char slice_not_in_trace[];

/* Cuts the open slices of TRACK until N are left. */
void slice_cut(struct slices *slices, struct track *track, unsigned n, int64_t ns, const char *why);
/* Cuts the slices likewise, and begins a slice `unknown` instead. */
void slice_begin_unknown(struct slices *slices, struct track *track, unsigned n, int64_t ns,
                         const char *why);
/* At the end: open slices may have ended where the data do not show it, and are unknown from there on. */
void slice_spans_finish(struct slices *slices);
