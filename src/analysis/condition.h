/* SPDX-License-Identifier: MIT */
#pragma once

/* Conditions on the fields of events, in the language of strata-filter(5). They are in the braces of a step in a rule
 * of spans. `thread.id` and `thread.name` are not allowed, because the reader's thread is not the event's. */

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "event/item.h"

/* A condition for the events of one class. The arena owns its memory. */
struct condition;

/* Checks TEXT without a class. -EINVAL with ERROR->what; -ENOMEM. */
int condition_check(const char *text, struct error *error);

/* -EINVAL with ERROR->what, also if CLASS does not have a field in TEXT; -ENOMEM. */
int condition_compile(const char *text, const struct event_class *class, struct arena *arena,
                      struct condition **ret_condition, struct error *error);

/* True if the condition holds for ITEM, which must be of its class. It does not hold if ITEM lacks a field. */
bool condition_holds(const struct condition *condition, const struct item *item);
