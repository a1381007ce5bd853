/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds impossible times. Damage changes the time of an event, or of a page of events, to a time that is far from its
 * neighbours.
 *
 *  X1  A sequence of events is stray if its first event is more than SOURCE_STRAY_NS from the previous event in the
 *      order of the file, and if within STRAY_ITEMS items an event follows that is as far from the event before it and
 *      not far from the event before the sequence, and the CPU of the sequence continues there too. A clock that was
 *      set or starts again does not come back, nor does a machine that was idle.
 *  X2  Stray events are not returned. They become losses of their CPUs (LOSS_UNREADABLE) that end at the event that
 *      comes back. A loss that no event follows has no end.
 *  X3  Not checked are clocks that can be set at any time ("realtime"), stray events that nothing follows, and input
 *      from a pipe or live input (trace/trace.c), which would have to wait.
 *  X4  If it is known when the source was recorded, an event that is far from the previous event, or the first event,
 *      is stray if it is outside of that time, whatever follows. So are later events outside of that time. If the
 *      source begins with such events, and no other event comes within a block of items, the source is believed, not
 *      the known time of the recording.
 *
 * Up to ITEM_BLOCK_ITEMS items and their payloads are copied if a step is at the end of a run; otherwise, nothing is
 * copied. */

#include "event/source.h"

#define STRAY_ITEMS 1024u

/* The possible times of a source's events, inclusive. */
struct stray_bounds {
    int64_t least, most;
};

#define STRAY_UNBOUNDED ((struct stray_bounds){INT64_MIN, INT64_MAX})

/* Takes ownership of INPUT, even on failure. -ENOMEM. The source's hint states the number of stray events. */
int stray_open(struct source *input, const struct stray_bounds *bounds, struct source **ret_source);
