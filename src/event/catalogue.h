/* SPDX-License-Identifier: MIT */
#pragma once

/* The event classes of one session, with dense indices, and the memory they live in. Several
 * sources share one catalogue, so that a sink can keep a plain array beside it. Not thread-safe. */

#include "base/arena.h"
#include "base/map.h"
#include "event/class.h"

struct catalogue {
    struct arena arena; /* classes, fields, names, programs */
    struct event_class **classes;
    unsigned n_classes;
    unsigned capacity;
    struct origin **origins; /* in the order in which they were added */
    unsigned n_origins;
};

/* Adds a copy of CLASS (its pointers are taken as they are, so they must live in the arena or be
 * static), gives it its index, and compiles its format. -ENOMEM;
 * -E2BIG: more than FIELDS_MAX fields. A format that does not compile
 * against the fields leaves `program` NULL. */
int catalogue_add(struct catalogue *catalogue, const struct event_class *class,
                  struct event_class **ret_class);

/* Adds a copy of ORIGIN. NULL when memory is out. */
struct origin *catalogue_add_origin(struct catalogue *catalogue, const struct origin *origin);
/* Adds one that a reader made itself, as part of something larger; it must live in the arena. Each
 * reader adds its origin when it is opened. 0, -ENOMEM. */
int catalogue_list_origin(struct catalogue *catalogue, struct origin *origin);

void catalogue_done(struct catalogue *catalogue);
