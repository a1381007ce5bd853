/* SPDX-License-Identifier: MIT */
#pragma once

/* Fields of events that are drawn as counters. */

#include "event/class.h"

struct counter_rule {
    unsigned layers; /* bits: 1 << enum layer */
    const char *group;
    const char *event;
    const char *value;
    const char *id; /* a field of 32 bits: one counter for each of its values; NULL: one counter */
    const char *name; /* of the counter */
    const char *unit; /* NULL: a number */
};

/* NULL: none. */
const struct counter_rule *counter_find(const struct event_class *class);
/* The index of RULE among all rules. */
unsigned counter_number(const struct counter_rule *rule);
