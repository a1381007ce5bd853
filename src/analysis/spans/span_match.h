/* SPDX-License-Identifier: MIT */
#pragma once

/* Which events are steps of which rules. */

#include "analysis/spans/span_rule.h"
#include "event/catalogue.h"

/* Whether CLASS is what STEP names; of a kernel, whichever tracer wrote it (event/kernel_event.h). *RET_STAR is what its '*' stands for: a part of the class's name, of *RET_LEN
 * bytes; empty where it has none. */
bool span_step_matches(const struct span_step *step, const struct event_class *class,
                       const char **ret_star, size_t *ret_len);

/* The place of KEY's field in CLASS; -1: CLASS has none of that name, or KEY masks or shifts one that is not a number. */
int span_key_field(const struct span_key *key, const struct event_class *class);

/* Which steps of RULE are events of other sources than its first one, bit 1 << step: no source has events of both. */
unsigned span_rule_crossings(const struct span_rule *rule, const struct catalogue *catalogue);

/* Whether RULE can have spans in a trace of these classes. -ENOENT with ERROR: it has no events of a step; ERROR names
 * it, and a similar one. -EINVAL with ERROR: events of a step have no such field, and ERROR names those
 * that they have; or the field is not a number that can be masked. */
int span_rule_check(const struct span_rule *rule, const struct catalogue *catalogue,
                    struct error *error);
