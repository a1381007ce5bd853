/* SPDX-License-Identifier: MIT */
#pragma once

/* Unique identifiers for event classes, for formats that require them: the letters, digits and '_' of the class's name;
 * a second class of that name gets the suffix "_2", and so on. */

#include "base/arena.h"
#include "base/map.h"
#include "event/class.h"

struct class_names {
    /* Whether classes of the same name and the same fields have one name in common. */
    bool share;
    bool fold; /* names that differ by upper and lower case alone are one */
    struct arena arena;
    struct map taken;   /* name: the first class that has it */
    const char **names; /* by class->index */
    unsigned n;
};

/* Reserves NAME, which outlives NAMES, so that no class gets it; in lower case where they
 * are folded. -ENOMEM. */
int class_names_reserve(struct class_names *names, const char *name);

/* The name of CLASS, and whether it was made just now, for no other class (*ret_new, may be NULL).
 * NULL when memory is out. */
const char *class_names_get(struct class_names *names, const struct event_class *class,
                            bool *ret_new);

/* WANTED, or what is made of it, as a name that no class has or gets. NULL when memory is out. */
const char *class_names_fresh(struct class_names *names, const char *wanted);

void class_names_done(struct class_names *names);
