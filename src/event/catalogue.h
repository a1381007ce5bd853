/* SPDX-License-Identifier: MIT */
#pragma once

/* The event classes of one session, with dense indices, and the memory that they live in. Several
 * sources share a catalogue, so that a sink can index plain arrays by class. Not thread-safe. */

#include "base/arena.h"
#include "base/map.h"
#include "event/class.h"

struct catalogue {
    struct arena arena; /* classes, fields, names, programs */
    struct event_class **classes;
    unsigned n_classes;
    unsigned capacity;
    struct origin **origins; /* in the order of addition */
    unsigned n_origins;
};

/* Adds a copy of CLASS, assigns its index, and compiles its format. The copy shares CLASS's pointers,
 * which must point into the arena or be static. -ENOMEM; -E2BIG: more than FIELDS_MAX fields. A format
 * that does not compile against the fields leaves `program` NULL. */
int catalogue_add(struct catalogue *catalogue, const struct event_class *class,
                  struct event_class **ret_class);

/* Adds a copy of ORIGIN. NULL: out of memory. */
struct origin *catalogue_add_origin(struct catalogue *catalogue, const struct origin *origin);
/* Adds an origin that a reader has allocated in the arena as part of a larger structure. Each reader
 * adds its origin when it is opened. 0, -ENOMEM. */
int catalogue_list_origin(struct catalogue *catalogue, struct origin *origin);

/* True if the stated errors of times and durations hold. False if the error of any clock is refuted (struct origin),
 * because any duration may end on that clock. */
bool catalogue_errors_are_known(const struct catalogue *catalogue);

void catalogue_done(struct catalogue *catalogue);
