/* SPDX-License-Identifier: MIT */
#pragma once

/* Fields of events that are drawn as counters. */

#include "event/class.h"

struct counter_rule {
    unsigned layers; /* bits: 1 << enum layer */
    const char *group;
    const char *event;
    const char *value;
    /* A field of 32 bits: each of its values has its own counter; NULL: one counter. */
    const char *id;
    const char *name; /* of the counter */
    const char *unit; /* NULL: a plain number */
};

/* Returns the rule for CLASS, or NULL. */
const struct counter_rule *counter_find(const struct event_class *class);
/* The index of RULE among all rules. */
unsigned counter_number(const struct counter_rule *rule);
