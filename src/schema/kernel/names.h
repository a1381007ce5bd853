/* SPDX-License-Identifier: MIT */
#pragma once

/* What the print format of a kernel event calls the values of its fields: `S` for a prev_state of 1. */

#include "event/item.h"

struct arena;
struct kernel_text;

/* Finds in TEXT which of the fields of CLASS it shows by a name: those that alone decide what a "%s" of it shows. Sets
 * `put_name` of CLASS where there is one. -ENOMEM. */
int kernel_names_find(struct arena *arena, struct kernel_text *text, struct event_class *class);
