/* SPDX-License-Identifier: MIT */
#pragma once

/* A stage that changes items, and may add an item at their end. */

#include "event/source.h"

/* A change of items, embedded in a structure with its data. */
struct transform {
    /* Changes N items in place, but not their number or their payloads. */
    void (*change)(struct transform *each, struct item *items, unsigned n);
    void (*free)(struct transform *each);
    /* The time before which no item gets a time of TIME or later. NULL: times are not changed. */
    int64_t (*input_time)(struct transform *each, int64_t time);
    /* Returns an item that follows the last one, in the transform's memory; called once. NULL: none. */
    const struct item *(*end)(struct transform *each);
};

/* Takes ownership of SOURCE and EACH, even on failure (-ENOMEM). Keeps the order of items and the source's facts. */
int transform_open(struct source *source, struct transform *each, struct source **ret_source);
