/* SPDX-License-Identifier: MIT */
#pragma once

/* A source that reads another one ahead, in a thread of its own, while its borrower works on what was lent.
 *
 * The thread copies items and payloads into blocks of a bounded queue (event/item_block.h); origins and classes are
 * those of the inner source. What is lent is, run for run, what the inner source would lend, and its end and its error
 * come after the same run. A run that no block holds is lent as it is, while the thread waits.
 *
 * The thread begins after the first items, so that a small trace is read without it, and, unless it is asked for
 * always, only if the borrower takes long enough that reading ahead gains more than the copies cost. Where it cannot be
 * made, the inner source is read as before. Memory: some 2.4 MB, whatever the input.
 *
 * While the thread runs, the inner source and the catalogue are the thread's. The borrower may use the classes of
 * read_ahead_classes(), and of classes and origins all that does not change while the source is read: not the names of
 * threads that the source learns, and not the formats of a kernel. */

#include "event/catalogue.h"
#include "event/select.h"
#include "event/source.h"

struct read_ahead_options {
    /* To which the inner source adds classes. */
    const struct catalogue *catalogue;
    /* Progress in bytes, as of struct source_ops; called by the thread while it runs. NULL: not known. */
    void (*progress)(const void *arg, uint64_t *ret_done, uint64_t *ret_total);
    const void *progress_arg;
    bool always; /* the thread is made whatever it gains */
};

/* Owns INNER then. -ENOMEM: the caller still does. */
int read_ahead_open(struct source *inner, const struct read_ahead_options *options,
                    struct source **ret_source);

/* The items that the borrower selects; SELECTION lives until read_ahead_stop(). The thread reads no further than where the
 * selection is over, and is not made for one with a limit. */
void read_ahead_select(struct source *source, const struct selection *selection);

/* Classes and origins as they were when the last run was lent. */
const struct catalogue *read_ahead_classes(const struct source *source);

/* Ends the thread: the inner source and the catalogue are the borrower's from then on. What was read ahead is dropped, and
 * what follows it is read without a thread, so this is for the end of reading. */
void read_ahead_stop(struct source *source);

/* Whether there is a thread. */
bool read_ahead_is_running(const struct source *source);

/* Items that are lent before a thread is made. */
#define READ_AHEAD_ITEMS_BEFORE 8192u
