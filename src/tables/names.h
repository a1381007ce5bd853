/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes unique identifiers of event classes, for formats that need them: the letters, digits and '_' of the class's
 * name. A second class with that name gets the suffix "_2", and so on. */

#include "base/arena.h"
#include "base/map.h"
#include "event/class.h"

struct class_names {
    /* Classes with the same name and the same fields share one name. */
    bool share;
    bool fold; /* names that differ only in case are equal */
    struct arena arena;
    struct map taken;   /* by name: the first class that has it */
    const char **names; /* by class->index */
    unsigned n;
};

/* Reserves NAME, which outlives NAMES, so that no class gets it. With `fold`, NAME is lower case. -ENOMEM. */
int class_names_reserve(struct class_names *names, const char *name);

/* Returns the name of CLASS. *RET_NEW (may be NULL): the name was made in this call, and no other class has it. NULL if
 * out of memory. */
const char *class_names_get(struct class_names *names, const struct event_class *class,
                            bool *ret_new);

/* Returns WANTED, or a name made of it, which no class has or will get. NULL if out of memory. */
const char *class_names_fresh(struct class_names *names, const char *wanted);

void class_names_done(struct class_names *names);
