/* SPDX-License-Identifier: MIT */
#pragma once

/* Where items come from: a reader of a wire format, or a stage over other sources (merge, reorder, filter).
 *
 * A source lends items in runs, so that an indirect call, which costs as much as walking a record, is needed once per few
 * hundred events.
 *
 * The contract:
 *  S1  next() returns n > 0 and lends n items, 0 at the end, or a negative errno with `error`
 *      filled.
 *  S2  Lent items and payloads are valid until the next call of next() on the same source.
 *  S3  Before next() returns an error, everything readable before the error has been lent. Each further call returns the
 *      same error. Each call after the end returns 0.
 *  S4  Items of one CPU are in the order in which they were written. If `ordered` is set, the times of all items do not
 *      step backwards.
 *  S5  Classes, origins and their strings live until the catalogue is freed, and outlive the source. Exception:
 *      origin->task_name needs the source.
 *  S6  The array of items is the borrower's until the next call. The stage above may change the order and the content of
 *      items, but not their payloads. It casts the const away, which is there for sinks.
 *  S7  If `one_buffer` is set, the payloads of each run are in one piece of memory, and all bytes between them may be
 *      read.
 * Not thread-safe. */

#include "base/error.h"
#include "event/item.h"

struct reopen_cache;
struct source;
struct text;

/* An item that is late by more items than this is not put in order (timeline/reorder.h). */
#define SOURCE_DISORDER_MAX 512
/* A time that is further from those around it, in ns, may be damaged (timeline/stray.h). */
#define SOURCE_STRAY_NS UINT64_C(10000000000)

struct source_ops {
    int (*next)(struct source *source, const struct item **ret_items);
    void (*free)(struct source *source);
    /* Calls PUT for each fact about the input ("version", "4"); may be NULL. */
    void (*facts)(const struct source *source,
                  void (*put)(void *arg, const char *key, const char *value), void *arg);
    /* Progress in bytes, and the total (0: unknown); may be NULL. */
    void (*progress)(const struct source *source, uint64_t *ret_done, uint64_t *ret_total);
    /* Declares that items before TIME are not needed. The source may then leave out items that were not lent yet, if it
     * need not read them. It lends nothing, and lent items stay valid (S2). It always lends the last piece of the input, so
     * that INT64_MAX shows where the input ends. NULL: the source lends all items. */
    void (*seek)(struct source *source, int64_t time);
    /* A hint for the user how to see more of the trace, or NULL. May be NULL. */
    const char *(*hint)(const struct source *source);
};

struct source {
    const struct source_ops *ops;
    bool ordered;    /* see S4 */
    bool one_buffer; /* see S7 */
    /* The tracer stamped events in their order, so a time that steps back is from a clock that started again. */
    bool may_restart;
    /* A loss may be known only from the item after it, however late this item is. Then no item has `before_loss`. */
    bool tells_losses_late;
    bool skips; /* seek() leaves out most items before its time without reading them */
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
    /* Passes over anything in the place of a file that is not a file, such as a link. The caller knows which files should
     * exist. */
    bool passes_over;
    /* True if PATH, a file of one of several streams, has less than its recorder wrote. NULL: no such file is known. */
    bool (*is_cut)(const void *arg, const char *path);
    const void *is_cut_arg;
};
