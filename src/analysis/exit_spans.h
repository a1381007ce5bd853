/* SPDX-License-Identifier: MIT */
#pragma once

/* Exits as spans: what is known of each event class, looked up once, and the items that are steps of a rule (exit_rules). Not
 * thread-safe. */

#include "analysis/exit_events.h"
#include "analysis/spans/spans.h"
#include "event/class.h"

/* Zeros are none. */
struct exit_classes {
    struct exit_class **of; /* by class->index; NULL: not looked at yet */
    unsigned n;
};

void exit_classes_done(struct exit_classes *classes);

/* exit_classes_get() of a class that is new. */
_cold_ struct exit_class *exit_classes_add(struct exit_classes *classes,
                                           const struct event_class *class);

/* NULL: memory is out. */
static inline struct exit_class *exit_classes_get(struct exit_classes *classes,
                                                  const struct event_class *class)
{
    if (likely(class->index < classes->n && classes->of[class->index]))
        return classes->of[class->index];
    return exit_classes_add(classes, class);
}

/* Gives SPANS those of N items that are no steps of an exit, or are used as such. Sets *RET_ENDS if one ends an exit; RET_ENDS may be
 * NULL. 0, or what spans_put() returns. */
int exit_spans_put(struct spans *spans, struct exit_classes *classes, const struct item *items,
                   unsigned n, bool *ret_ends);
