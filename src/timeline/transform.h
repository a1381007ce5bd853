/* SPDX-License-Identifier: MIT */
#pragma once

/* A stage that changes items as they pass. */

#include "event/source.h"

/* What to do to items; embedded in whatever it needs for that. */
struct transform {
    /* Changes N items in place: neither how many there are nor their payloads. */
    void (*change)(struct transform *each, struct item *items, unsigned n);
    void (*free)(struct transform *each);
};

/* Takes SOURCE and TRANSFORM over, also when it fails (-ENOMEM). The order of items stays, and what the source tells of
 * itself. */
int transform_open(struct source *source, struct transform *each, struct source **ret_source);
