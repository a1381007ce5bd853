/* SPDX-License-Identifier: MIT */
#pragma once

/* Names of the values that exported fields have: of enums, of bits, of a kernel's functions. The metadata declares a type
 * for each field whose values may have names (tsdl_has_names()), which lists the values that occurred. */

#include "base/arena.h"
#include "base/text.h"
#include "event/item.h"
#include "event/value.h"

struct ctf_class_names;

struct ctf_names {
    struct ctf_class_names *classes; /* by class->index */
    unsigned n_classes;
    struct arena arena;
};

/* Keeps the names of ITEM's VALUES. -ENOMEM. */
int ctf_names_note(struct ctf_names *names, const struct item *item, const struct value *values);
/* Declares the types of all classes that were noted. */
void ctf_names_put(const struct ctf_names *names, struct text *text);
void ctf_names_done(struct ctf_names *names);
