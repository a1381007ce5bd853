/* SPDX-License-Identifier: MIT */
#pragma once

/* The items of a recording under way as one stream, although its directory is opened again and again: each opening
 * (trace/trace.h) has origins and classes of its own, which end with it. Here they are bound to origins and classes that
 * last. So the engines of analysis/ keep what is open, and what everything was doing, from one opening to the next one,
 * and no event is read twice.
 *
 * An origin is known again by the name of its source and its number in it; a class by its origin, group, name, number and
 * fields. They have what engines ask for, but print no events. What they ask of a source, such as the names of its
 * threads, is only known while an opening is bound. Not thread-safe. */

#include "event/catalogue.h"
#include "event/sink.h"
#include "trace/trace.h"

/* The head of an origin that lasts. */
struct bound_origin {
    struct origin origin;      /* first */
    const struct origin *live; /* NULL: it is not in the present opening */
    const char *key;
    void *user;         /* NULL at first */
    struct map classes; /* by their name: struct bound_class */
};

static inline struct bound_origin *bound_origin_of(const struct origin *origin)
{
    return container_of(origin, struct bound_origin, origin);
}

struct rebind;

/* -ENOMEM. */
int rebind_new(struct rebind **ret);
void rebind_free(struct rebind *rebind);

/* TRACE is the present opening, until rebind_close(). -ENOMEM. */
int rebind_open(struct rebind *rebind, const struct trace *trace);
void rebind_close(struct rebind *rebind);
/* Gives N items of the present opening to SINK, bound. 0, -ENOMEM, what SINK returns. */
int rebind_put(struct rebind *rebind, const struct item *items, unsigned n, struct sink *sink);

/* The classes that last: those of a group of which there was an event. */
struct catalogue *rebind_catalogue(struct rebind *rebind);
/* The origin that lasts of ORIGIN, of the present opening. */
struct bound_origin *rebind_origin(struct rebind *rebind, const struct origin *origin);
/* Whether so many sources have gone that all should begin again: memory is bounded by that. */
bool rebind_is_worn(const struct rebind *rebind);
