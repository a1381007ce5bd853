/* SPDX-License-Identifier: MIT */
#pragma once

/* Fields of events that are worth a curve. */

#include "event/class.h"

struct counter_rule {
    unsigned layers; /* bits: 1 << enum layer */
    const char *group;
    const char *event;
    const char *value;
    const char *id;   /* a field of 32 bits: a curve for each value; NULL: one curve */
    const char *name; /* of the curve */
    const char *unit; /* NULL: a number */
};

/* NULL: none. */
const struct counter_rule *counter_find(const struct event_class *class);
/* From 0, of all rules. */
unsigned counter_number(const struct counter_rule *rule);
