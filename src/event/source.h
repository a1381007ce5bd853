/* SPDX-License-Identifier: MIT */
#pragma once

/* Where items come from: a reader of a wire format, or a stage that takes other sources (merge,
 * reorder, filter).
 *
 * A source lends items in runs. One item at a time would cost an indirect call per event, which is
 * as much as walking the record; a run costs it once per few hundred.
 *
 * The contract:
 *  S1  next() returns n > 0 and lends n items, 0 at the end, or a negative errno with `error`
 *      filled.
 *  S2  What was lent (items, payloads) is valid until the next call of next() on the same source.
 *  S3  After an error everything readable before it has been lent. Each further call returns the
 *      same error, each call after the end returns 0.
 *  S4  Items of one cpu are in the order in which they were written; a source with `ordered` set
 *      lends all items with times that do not step backwards.
 *  S5  Classes, origins and the strings they hold live until the catalogue is freed, and outlive the
 *      source, but for origin->task_name, which needs the source.
 *  S6  The array of items is the borrower's until the next call: the stage above may change their
 *      order and contents (casting the const away, which is there for sinks), not their payloads.
 *  S7  A source with `one_buffer` set keeps the payloads of each run in one piece of memory, with
 *      nothing between them that may not be read.
 * Not thread-safe. */

#include "base/error.h"
#include "event/item.h"

struct reopen_cache;
struct source;
struct text;

/* The most items by which an item may be late and still be put in order (timeline/reorder.h). */
#define SOURCE_DISORDER_MAX 512

struct source_ops {
    int (*next)(struct source *source, const struct item **ret_items);
    void (*free)(struct source *source);
    /* Calls PUT for each fact about the input ("version", "4"); may be NULL. */
    void (*facts)(const struct source *source,
                  void (*put)(void *arg, const char *key, const char *value), void *arg);
    /* Progress in bytes, and the total (0: unknown); may be NULL. */
    void (*progress)(const struct source *source, uint64_t *ret_done, uint64_t *ret_total);
    /* Declares that items before TIME are not needed: those that were not lent yet may be left out, as far as the
     * source can without reading them. Lends nothing, and what was lent stays valid (S2). The last piece of the input is lent
     * in any case, so that with INT64_MAX items show where it ends. May be NULL: the source lends them all. */
    void (*seek)(struct source *source, int64_t time);
    /* What the user could do to see more of what was read so far; NULL: nothing. May be NULL. */
    const char *(*hint)(const struct source *source);
};

struct source {
    const struct source_ops *ops;
    bool ordered;    /* see S4 */
    bool one_buffer; /* see S7 */
    /* What wrote it stamped events in their order, so that times which step back are those of a clock that started again. */
    bool may_restart;
    /* That events of a CPU were lost may be known only from the item after them, however late that is: nothing before it has
     * `before_loss`. */
    bool tells_losses_late;
    bool skips; /* seek() leaves out what is before its time without reading it, by and large */
    struct error error;
};

static inline int source_next(struct source *source, const struct item **ret_items)
{
    return source->ops->next(source, ret_items);
}

static inline void source_seek(struct source *source, int64_t time)
{
    if (source->ops->seek)
        source->ops->seek(source, time);
}

static inline void source_free(struct source *source)
{
    if (source)
        source->ops->free(source);
}

/* For _cleanup_. */
static inline void source_freep(struct source **source)
{
    source_free(*source);
}

/* Options for all readers. */
struct reader_options {
    bool keep_going; /* skip damaged input, reported as LOSS_UNREADABLE */
    /* for input from a pipe that is read twice (base/spool.h); NULL: the default */
    const char *temporary_dir;
    /* fixes the ends of files (base/reopen_cache.h); NULL: none */
    struct reopen_cache *cache;
    /* What stands in the place of a file and is none, such as a link, is passed over: the caller knows which files there
     * should be. */
    bool passes_over;
    /* Whether the file PATH, of several that are streams, has less than its recorder wrote. NULL: none is known to. */
    bool (*is_cut)(const void *arg, const char *path);
    const void *is_cut_arg;
};
