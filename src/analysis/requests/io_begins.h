/* SPDX-License-Identifier: MIT */
#pragma once

/* Decides for which requests the begin is known. A request that a kernel issues normally began with its
 * block_bio_queue. Some have none, such as parts of larger requests, and all on a device whose name is different where
 * it queues. The begin of a request without this event is its issue. But if other requests of the same device and kind
 * have the event, it may be missing: lost, or before the trace began. It may have been as long before as the longest
 * other request was queued, at least a second. */

#include "event/item.h"

struct io_begins_source;
struct io_begins_device;

/* Zeros are an empty one. */
struct io_begins {
    struct io_begins_source *sources;
    unsigned n_sources;
    struct io_begins_device *devices;
    unsigned n_devices;
};

/* Whether requests of a device and a kind have a block_bio_queue. */
enum io_begins_are {
    IO_BEGINS_UNSEEN, /* none of the few requests so far */
    IO_BEGINS_SEEN,
    IO_BEGINS_NONE,
};

void io_begins_done(struct io_begins *begins);
/* Events of ORIGIN may be missing up to TIME; INT64_MAX: from now on. 0, -ENOMEM. */
int io_begins_lose(struct io_begins *begins, const struct origin *origin, int64_t time);
/* Forgets a block_bio_queue of ORIGIN at TIME. 0, -ENOMEM. */
int io_begins_forget(struct io_begins *begins, const struct origin *origin, int64_t time);
/* Events after ITEM on its CPU are lost. 0, -ENOMEM. */
int io_begins_begin_loss(struct io_begins *begins, const struct item *item);
/* True if a loss of ORIGIN has begun and not ended. */
bool io_begins_in_loss(const struct io_begins *begins, const struct origin *origin);
/* ISSUE is a request of DEVICE and KIND, queued at QUEUED. If QUEUED is TIME_UNKNOWN, it has no such event; then
 * *RET_MAY_LACK says that this event may be missing, if other requests have it. SECOND: a second in ticks. 0,
 * -ENOMEM. */
int io_begins_put(struct io_begins *begins, const struct item *issue, uint64_t device,
                  unsigned kind, int64_t queued, int64_t second, bool *ret_may_lack);
enum io_begins_are io_begins_are(const struct io_begins *begins, const struct origin *origin,
                                 uint64_t device, unsigned kind);
