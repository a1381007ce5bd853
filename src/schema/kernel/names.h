/* SPDX-License-Identifier: MIT */
#pragma once

/* Names of values of a kernel event's fields: from its print format (`S` for a prev_state of 1), and from other sources
 * for values that the format shows as numbers. */

#include "event/item.h"

struct arena;
struct field;
struct kernel_text;

/* Finds the fields of CLASS that TEXT shows by a name, which are the fields that alone determine the text of a "%s".
 * Sets `put_name` of CLASS if there are any. Sets the names of kernel_event_value_names() in FIELDS, the fields of the
 * class. -ENOMEM. */
int kernel_names_find(struct arena *arena, struct kernel_text *text, struct event_class *class,
                      struct field *fields);
