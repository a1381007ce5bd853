/* SPDX-License-Identifier: MIT */
#pragma once

/* Of which requests the begin is known. A request that a kernel issues began with its block_bio_queue; but some have none, as
 * a part of a larger one, and all on a device that the kernel calls otherwise where it queues. One without is known to begin when it
 * is issued, unless others of its device and kind have that event, and it may be among what is missing of the trace: before the
 * trace begins, or lost. It may have been as long before as others were queued, and a second at least. */

#include "event/item.h"

struct io_begins_source;
struct io_begins_device;

/* All 0: of nothing. */
struct io_begins {
    struct io_begins_source *sources;
    unsigned n_sources;
    struct io_begins_device *devices;
    unsigned n_devices;
};

/* Whether requests of a device and a kind have a block_bio_queue. */
enum io_begins_are {
    IO_BEGINS_UNSEEN, /* none has had one yet, of few */
    IO_BEGINS_SEEN,
    IO_BEGINS_NONE,
};

void io_begins_done(struct io_begins *begins);
/* Events of ORIGIN may be missing up to TIME; INT64_MAX: from now on. 0, -ENOMEM. */
int io_begins_lose(struct io_begins *begins, const struct origin *origin, int64_t time);
/* A block_bio_queue of ORIGIN at TIME is not remembered any more. 0, -ENOMEM. */
int io_begins_forget(struct io_begins *begins, const struct origin *origin, int64_t time);
/* What follows ITEM on its CPU is lost. 0, -ENOMEM. */
int io_begins_begin_loss(struct io_begins *begins, const struct item *item);
/* Whether a loss of ORIGIN has begun and not ended. */
bool io_begins_in_loss(const struct io_begins *begins, const struct origin *origin);
/* ISSUE is a request of DEVICE and KIND, queued at QUEUED; TIME_UNKNOWN: it has no such event, and *RET_MAY_LACK is whether that may
 * be missing, if others have it. SECOND: in ticks. 0, -ENOMEM. */
int io_begins_put(struct io_begins *begins, const struct item *issue, uint64_t device,
                  unsigned kind, int64_t queued, int64_t second, bool *ret_may_lack);
enum io_begins_are io_begins_are(const struct io_begins *begins, const struct origin *origin,
                                 uint64_t device, unsigned kind);
