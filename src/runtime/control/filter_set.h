/* SPDX-License-Identifier: MIT */
#pragma once

/* Gives events their conditions (filter/filter.h). Under registry_lock(). */

#include "filter/filter.h"
#include "runtime/events.h"

/* Compiles CONDITION for the class and stores it; the class's state decides whether it is used. -EINVAL
 * with ERROR, and *WARNING as filter_compile(); -ENOMEM. */
int filter_set(struct trace_class *class, const struct filter_condition *condition,
               struct filter_error *error, struct filter_error *warning);
