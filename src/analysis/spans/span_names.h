/* SPDX-License-Identifier: MIT */
#pragma once

/* Rules of spans that the names of events tell: job_begin and job_end. For events that no other rule is about. */

#include "analysis/spans/span_rule.h"
#include "event/catalogue.h"

struct span_by_name {
    const struct event_class *begin;
    bool is_begin;        /* the class that was asked for is it; else it is an end */
    bool partner_missing; /* there would be a rule, if the catalogue had the other class */
    struct span_rule rule;
};

/* The rule by which CLASS begins or ends a span; its begin, X_start, is ended by all of X_end, X_done, X_finish and
 * X_complete that CATALOGUE has. Begin and end are on the same thread. Outside of kernels, whose functions end in the
 * thread in which they began, the addresses that both have first are what they are about, and any thread may end it. Of a
 * kernel's X_start, none of X_done, X_finish and X_complete is the end: these tell of what it waited for. Strings are in ARENA. 1; 0: there is none; -ENOMEM. */
int span_names_find(const struct catalogue *catalogue, const struct event_class *class,
                    struct arena *arena, struct span_by_name *ret);
