/* SPDX-License-Identifier: MIT */
#pragma once

/* Gives events their conditions (runtime/filter.h). Under registry_lock(). */

#include "runtime/events.h"
#include "runtime/filter.h"

/* Makes the program of CONDITION for the class, which has it from now on; whether it goes by it is a
 * matter of its state. -EINVAL with ERROR filled, and *WARNING too, as filter_compile() says; -ENOMEM. */
int filter_set(struct trace_class *class, const struct filter_condition *condition,
               struct filter_error *error, struct filter_error *warning);
