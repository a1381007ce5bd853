/* SPDX-License-Identifier: MIT */
#pragma once

/* Names of event classes where a format wants identifiers, and each only once: letters, digits and '_'
 * of the class's name; of a second class of that name with "_2" behind it, and so on. */

#include "base/arena.h"
#include "base/map.h"
#include "event/class.h"

struct export_names {
    /* Whether classes of the same name and the same fields have one name in common. */
    bool share;
    struct arena arena;
    struct map taken;   /* name: the first class that has it */
    const char **names; /* by class->index */
    unsigned n;
};

/* Reserves NAME, which outlives NAMES, so that no class gets it. -ENOMEM. */
int export_names_reserve(struct export_names *names, const char *name);

/* The name of CLASS, and whether it was made just now, for no other class (*ret_new, may be NULL).
 * NULL when memory is out. */
const char *export_names_get(struct export_names *names, const struct event_class *class,
                             bool *ret_new);

void export_names_done(struct export_names *names);
