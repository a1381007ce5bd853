/* SPDX-License-Identifier: MIT */
#pragma once

/* Exits as spans: looks up each event class once, and passes the items that are steps of a rule (exit_rules). Not
 * thread-safe. */

#include "analysis/exit_events.h"
#include "analysis/spans/spans.h"
#include "event/class.h"

/* Zeros are an empty one. */
struct exit_classes {
    struct exit_class **of; /* by class->index; NULL before the lookup */
    unsigned n;
};

void exit_classes_done(struct exit_classes *classes);

/* exit_classes_get() for a new class. */
_cold_ struct exit_class *exit_classes_add(struct exit_classes *classes,
                                           const struct event_class *class);

/* NULL if out of memory. */
static inline struct exit_class *exit_classes_get(struct exit_classes *classes,
                                                  const struct event_class *class)
{
    if (likely(class->index < classes->n && classes->of[class->index]))
        return classes->of[class->index];
    return exit_classes_add(classes, class);
}

/* Passes N items to SPANS, except events that match a rule but are not steps of an exit. Sets *RET_ENDS (may be NULL)
 * if one ends an exit. 0, or the result of spans_put(). */
int exit_spans_put(struct spans *spans, struct exit_classes *classes, const struct item *items,
                   unsigned n, bool *ret_ends);
