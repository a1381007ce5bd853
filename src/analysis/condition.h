/* SPDX-License-Identifier: MIT */
#pragma once

/* Conditions on the fields of events, in the language of strata-filter(5): what stands between braces in a step of a
 * rule of spans. `thread.id` and `thread.name` are not allowed: an event's thread is not the reader's. */

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "event/item.h"

/* A condition for the events of one class. Its memory is the arena's. */
struct condition;

/* Checks TEXT without a class. -EINVAL with ERROR->what; -ENOMEM. */
int condition_check(const char *text, struct error *error);

/* -EINVAL with ERROR->what, as where CLASS has no field that TEXT names; -ENOMEM. */
int condition_compile(const char *text, const struct event_class *class, struct arena *arena,
                      struct condition **ret_condition, struct error *error);

/* True if it holds for ITEM, which is of its class. A field that ITEM does not have: it does not hold. */
bool condition_holds(const struct condition *condition, const struct item *item);
