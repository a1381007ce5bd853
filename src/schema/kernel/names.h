/* SPDX-License-Identifier: MIT */
#pragma once

/* What the print format of a kernel event calls the values of its fields: `S` for a prev_state of 1; and what others call
 * values that the format shows as numbers. */

#include "event/item.h"

struct arena;
struct field;
struct kernel_text;

/* Finds the fields of CLASS that TEXT shows by a name: those that alone decide what a "%s" shows. Sets
 * `put_name` of CLASS if there are any. FIELDS, which are the class's, get the names of kernel_event_value_names(). -ENOMEM. */
int kernel_names_find(struct arena *arena, struct kernel_text *text, struct event_class *class,
                      struct field *fields);
