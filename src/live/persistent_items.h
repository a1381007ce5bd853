/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes one stream of the items of a running recording, although its directory is opened again and again. Each opening
 * (trace/trace.h) has its own origins and classes, which are freed with it. This module binds its items to lasting
 * origins and classes. So the engines of analysis/ keep open spans and states from one opening to the next, and no
 * event is read twice.
 *
 * An origin is recognised by the name of its source and its number in the source, a class by its origin, group, name,
 * number and fields. Lasting classes have what engines use, but cannot print events. Facts about a source, such as
 * names of its threads, are known only while an opening is bound. Not thread-safe. */

#include "event/catalogue.h"
#include "event/sink.h"
#include "trace/trace.h"

/* A lasting origin. */
struct bound_origin {
    struct origin origin;      /* first */
    const struct origin *live; /* the origin in the present opening, or NULL */
    const char *key;
    void *user;         /* initially NULL */
    struct map classes; /* by their name: struct bound_class */
};

static inline struct bound_origin *bound_origin_of(const struct origin *origin)
{
    return container_of(origin, struct bound_origin, origin);
}

struct persistent_items;

/* -ENOMEM. */
int persistent_items_new(struct persistent_items **ret);
void persistent_items_free(struct persistent_items *persistent);

/* Makes TRACE the present opening, until persistent_items_close(). -ENOMEM. */
int persistent_items_open(struct persistent_items *persistent, const struct trace *trace);
void persistent_items_close(struct persistent_items *persistent);
/* Puts N items of the present opening to SINK, bound. 0, -ENOMEM, or the result of SINK. */
int persistent_items_put(struct persistent_items *persistent, const struct item *items, unsigned n,
                         struct sink *sink);

/* The lasting classes: all classes of each group that had an event. */
struct catalogue *persistent_items_catalogue(struct persistent_items *persistent);
/* Returns the lasting origin for ORIGIN of the present opening. */
struct bound_origin *persistent_items_origin(struct persistent_items *persistent,
                                             const struct origin *origin);
/* True if so many sources have gone that everything should begin again. This bounds the memory. */
bool persistent_items_is_worn(const struct persistent_items *persistent);
