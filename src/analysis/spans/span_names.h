/* SPDX-License-Identifier: MIT */
#pragma once

/* Rules of spans by names of events: job_begin and job_end. For events that have no other rule. */

#include "analysis/spans/span_rule.h"
#include "event/catalogue.h"

struct span_by_name {
    const struct event_class *begin;
    bool is_begin;        /* the class in question is the begin; otherwise it is an end */
    bool partner_missing; /* there would be a rule if the catalogue had the other class */
    struct span_rule rule;
};

/* Finds the rule by which CLASS begins or ends a span. All of X_end, X_done, X_finish and X_complete in CATALOGUE end
 * the begin X_start. Begin and end are on the same thread. Outside of kernels, if both begin with fields that are
 * addresses with the same names, these identify the object, and any thread may end the span; functions of a kernel end
 * in the thread where they began. X_done, X_finish and X_complete do not end a kernel's X_start, because they are about
 * what it waited for. Strings are in ARENA. Returns 1; 0 if there is no rule; -ENOMEM. */
int span_names_find(const struct catalogue *catalogue, const struct event_class *class,
                    struct arena *arena, struct span_by_name *ret);
