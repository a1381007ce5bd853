/* SPDX-License-Identifier: MIT */
#pragma once

/* What items are given to: views that print them, exports, tallies. The counterpart of a source (event/source.h).
 *
 * A sink is begun, given all items one run after the other, finished, and freed. It may keep neither items nor
 * payloads once put() returns. It may hold memory by event class, by thread and by CPU, never by event.
 * Not thread-safe. */

#include "base/error.h"
#include "event/item.h"

struct sink;

struct sink_ops {
    /* Writes what stands before the first item; may be NULL. */
    void (*begin)(struct sink *sink);
    /* N items, in the order of time. 0, or a negative errno with `error`; -ENOMEM may come without. */
    int (*put)(struct sink *sink, const struct item *items, unsigned n);
    /* Writes what stands after the last item; may be NULL. 0, or a negative errno with `error`. Only free() may follow. */
    int (*finish)(struct sink *sink);
    /* NULL: whatever holds the sink frees it. */
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

static inline int sink_finish(struct sink *sink)
{
    return sink->ops->finish ? sink->ops->finish(sink) : 0;
}

static inline void sink_free(struct sink *sink)
{
    if (sink && sink->ops->free)
        sink->ops->free(sink);
}

/* The error of NEXT, a sink that SINK hands its items to, is SINK's too. Returns ERROR. */
int sink_fail(struct sink *sink, const struct sink *next, int error);

/* A sink that gives what it is given to SINKS, one after the other. It owns none of them. */
struct tee_sink {
    struct sink sink;
    struct sink *const *sinks;
    unsigned n;
};

void tee_sink_init(struct tee_sink *tee, struct sink *const *sinks, unsigned n);
