/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds which events are steps of which rules. */

#include "analysis/spans/span_rule.h"
#include "event/catalogue.h"

/* True if CLASS is an event of STEP; for a kernel, whichever tracer wrote it (event/kernel_event.h). *RET_STAR is the
 * part of the class's name that its '*' matches, *RET_LEN bytes; empty without a '*'. */
bool span_step_matches(const struct span_step *step, const struct event_class *class,
                       const char **ret_star, size_t *ret_len);

/* Returns the number of KEY's field in CLASS. -1 if there is no such field, or if KEY masks or shifts a field that is
 * not a number. */
int span_key_field(const struct span_key *key, const struct event_class *class);

/* Returns the steps of RULE whose events are in other sources than the first step's, as bits 1 << step: no source has
 * events of both. */
unsigned span_rule_crossings(const struct span_rule *rule, const struct catalogue *catalogue);

/* Checks that RULE can have spans in a trace with these classes. -ENOENT if a step has no events; ERROR names the step,
 * and a similar event. -EINVAL if the events of a step lack a field, and ERROR names their fields; or if a field to be
 * masked is not a number. */
int span_rule_check(const struct span_rule *rule, const struct catalogue *catalogue,
                    struct error *error);
