/* SPDX-License-Identifier: MIT */
#pragma once

/* A source that reads another source ahead in its own thread while the borrower processes the previous items.
 *
 * The thread copies items and payloads into blocks of a bounded queue (event/item_block.h). Origins and classes are the
 * inner source's. The source returns the same runs as the inner source would, and its end and its error come after the
 * same run. A run that no block can hold is returned without a copy, while the thread waits.
 *
 * The thread begins after the first items, so that a small trace is read without it. Unless `always` is set, it begins
 * only if the borrower takes long enough that reading ahead gains more than the copies cost. If it cannot be created,
 * the inner source is read as before. Memory: about 2.4 MB, whatever the input.
 *
 * While the thread runs, it owns the inner source and the catalogue. The borrower may use the classes of
 * read_ahead_classes(), and everything in classes and origins that does not change while the source is read; but not
 * the names of threads that the source learns, and not the formats of a kernel. */

#include "event/catalogue.h"
#include "event/select.h"
#include "event/source.h"

struct read_ahead_options {
    /* The catalogue to which the inner source adds classes. */
    const struct catalogue *catalogue;
    /* Progress in bytes, as in struct source_ops; called by the thread while it runs. NULL: unknown. */
    void (*progress)(const void *arg, uint64_t *ret_done, uint64_t *ret_total);
    const void *progress_arg;
    bool always; /* always create the thread */
};

/* Takes ownership of INNER. -ENOMEM: the caller still owns it. */
int read_ahead_open(struct source *inner, const struct read_ahead_options *options,
                    struct source **ret_source);

/* Sets the borrower's selection, which must live until read_ahead_stop(). The thread reads only to the end of the
 * selection, and is not created for a selection with a limit. */
void read_ahead_select(struct source *source, const struct selection *selection);

/* Classes and origins as they were when the last run was returned. */
const struct catalogue *read_ahead_classes(const struct source *source);

/* Ends the thread. The borrower then owns the inner source and the catalogue again. Data that was read ahead is
 * dropped, and what follows it is read without a thread, so call this at the end of reading. */
void read_ahead_stop(struct source *source);

/* True if there is a thread. */
bool read_ahead_is_running(const struct source *source);

/* Items that are returned before a thread is created. */
#define READ_AHEAD_ITEMS_BEFORE 8192u
