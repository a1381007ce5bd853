/* SPDX-License-Identifier: MIT */
#pragma once

/* A stage that changes items as they pass, and may add one at their end. */

#include "event/source.h"

/* A change of items; embedded in a structure with the data that it needs. */
struct transform {
    /* Changes N items in place, but neither their number nor their payloads. */
    void (*change)(struct transform *each, struct item *items, unsigned n);
    void (*free)(struct transform *each);
    /* The time before which no item becomes one of TIME or later. NULL: times stay as they are. */
    int64_t (*input_time)(struct transform *each, int64_t time);
    /* The item that comes after the last one, of the transform's memory; called once. NULL: none does. */
    const struct item *(*end)(struct transform *each);
};

/* Takes ownership of SOURCE and TRANSFORM, also on failure (-ENOMEM). Keeps the order of items and the
 * source's facts. */
int transform_open(struct source *source, struct transform *each, struct source **ret_source);
