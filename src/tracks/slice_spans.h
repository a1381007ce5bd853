/* SPDX-License-Identifier: MIT */
#pragma once

/* Slices that are open on tracks, and how the spans that analysis/spans/spans.h finds become them.
 *
 * A span is drawn from its begin on. Its slice ends with it, or before it: where events were lost, its thread ended, or
 * something around it ended, the slice is cut at once, and what the span becomes later is of no matter. An event is the
 * begin of a slice, or else the end of one, whose fields then go along with it. */

#include "tracks/slice_class.h"

struct drawn_span {
    struct track *track; /* NULL: its slice was cut */
    const struct origin *origin;
    int32_t cpu;
    unsigned rule;
    struct drawn_span *next_free;
};

/* The spans of slices->options.rules and of all styles. 0, -ENOMEM. */
int slice_spans_init(struct slices *slices);
/* slices->group and slices->class are ITEM's. True: a slice that begins or ends has ITEM; negative errno. */
int slice_spans_put(struct slices *slices, const struct item *item);
/* LOSS, of events of GROUP since NS, may have taken the ends of slices. 0, -ENOMEM. */
int slice_spans_put_loss(struct slices *slices, struct group *group, const struct item *loss,
                         int64_t ns);

/* The time of a begin or an end on TRACK: NS, but not before the last one. */
static inline int64_t slice_step(struct track *track, int64_t ns)
{
    track->last = MAX(track->last, ns);
    return track->last;
}

/* Why a slice is cut where the data end. */
extern const char slice_not_in_trace[];

/* Cuts the open slices of TRACK until N are left. */
void slice_cut(struct slices *slices, struct track *track, unsigned n, int64_t ns, const char *why);
/* Cuts them, and begins a slice `unknown` in their place. */
void slice_begin_unknown(struct slices *slices, struct track *track, unsigned n, int64_t ns,
                         const char *why);
/* At the end: what is open may have ended after the end of the data that would show it, and is unknown from then on. */
void slice_spans_finish(struct slices *slices);
