/* SPDX-License-Identifier: MIT */
#pragma once

/* Times that cannot be: damage turns the time of an event, or of a page of events, into one that is far from what is around it.
 *
 *  X1  A stretch of events is stray if its first one is more than SOURCE_STRAY_NS from the event before, in the order of the file, and within
 *      STRAY_ITEMS items an event follows that is as far from the one before it, and not far from the event before the stretch, and the CPU
 *      of the stretch goes on there, too. A clock that was set or starts again does not come back, nor does a machine that was idle.
 *  X2  Stray events are not lent. They are losses of their CPUs (LOSS_UNREADABLE) that end at the event that comes back. A loss that no
 *      event follows has no end.
 *  X3  Not looked at are clocks that can be set at any time ("realtime"), stray events that nothing follows, and what comes by a
 *      pipe or is live (trace/trace.c), which would have to wait.
 *  X4  Where it is known when the source was recorded, an event that is far from the event before it, or the first one, is stray if it cannot
 *      have been then, whatever follows; and so are those after it that cannot have been. If the source begins with such events, and no
 *      other one comes within a block of items, the source is believed and not what is known of the recording.
 *
 * Up to ITEM_BLOCK_ITEMS items and their payloads are copied where a step is at the end of a run; otherwise, nothing is. */

#include "event/source.h"

#define STRAY_ITEMS 1024u

/* The times that events of a source can have, both included. */
struct stray_bounds {
    int64_t least, most;
};

#define STRAY_UNBOUNDED ((struct stray_bounds){INT64_MIN, INT64_MAX})

/* Takes ownership of INPUT, also on failure. -ENOMEM. Its hint tells how many stray events were met. */
int stray_open(struct source *input, const struct stray_bounds *bounds, struct source **ret_source);
