/* SPDX-License-Identifier: MIT */
#pragma once

/* A consumer of items: a view that prints them, an export, a tally. The counterpart of a source
 * (event/source.h).
 *
 * Call begin(), put() for all items in order, finish(), free(). A sink may not keep items or payloads
 * after put() returns. It may allocate memory by event class, thread and CPU, but not by event. Not
 * thread-safe. */

#include "base/error.h"
#include "event/item.h"

struct sink;

struct sink_ops {
    /* Writes the part before the first item; may be NULL. */
    void (*begin)(struct sink *sink);
    /* Consumes N items, in the order of time. 0, or a negative errno with `error`; -ENOMEM may come
     * without. */
    int (*put)(struct sink *sink, const struct item *items, unsigned n);
    /* A selected loss follows ITEM, which has `before_loss`. ITEM itself is not selected and not put. May be NULL. 0, -ENOMEM. */
    int (*begin_loss)(struct sink *sink, const struct item *item);
    /* N events in the order of time that are not selected, though their time and layer are: their sources were recorded then.
     * They are not put. May be NULL. 0, -ENOMEM. */
    int (*pass)(struct sink *sink, const struct item *items, unsigned n);
    /* Writes items that are held back. NULL: nothing is held back. Returns 0, or a negative errno as put(). */
    int (*flush)(struct sink *sink);
    /* Writes the part after the last item; may be NULL. Returns 0, or a negative errno with `error`. Afterwards, only
     * free() may be called. */
    int (*finish)(struct sink *sink);
    /* NULL: the owner frees the sink. */
    void (*free)(struct sink *sink);
};

struct sink {
    const struct sink_ops *ops;
    struct error error;
};

static inline void sink_begin(struct sink *sink)
{
    if (sink->ops->begin)
        sink->ops->begin(sink);
}

static inline int sink_put(struct sink *sink, const struct item *items, unsigned n)
{
    return sink->ops->put(sink, items, n);
}

static inline int sink_begin_loss(struct sink *sink, const struct item *item)
{
    return sink->ops->begin_loss ? sink->ops->begin_loss(sink, item) : 0;
}

static inline int sink_flush(struct sink *sink)
{
    return sink->ops->flush ? sink->ops->flush(sink) : 0;
}

static inline int sink_finish(struct sink *sink)
{
    return sink->ops->finish ? sink->ops->finish(sink) : 0;
}

static inline void sink_free(struct sink *sink)
{
    if (sink && sink->ops->free)
        sink->ops->free(sink);
}

/* Copies the error of NEXT, to which SINK forwards items, to SINK. Returns ERROR. */
int sink_fail(struct sink *sink, const struct sink *next, int error);

/* A sink that forwards items to each of SINKS in turn. It does not own them. */
struct tee_sink {
    struct sink sink;
    struct sink *const *sinks;
    unsigned n;
};

void tee_sink_init(struct tee_sink *tee, struct sink *const *sinks, unsigned n);
