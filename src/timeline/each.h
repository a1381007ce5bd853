/* SPDX-License-Identifier: MIT */
#pragma once

/* A stage that changes items as they pass. */

#include "event/source.h"

/* What to do to items; embedded in whatever it needs for that. */
struct each {
    /* Changes N items in place: neither how many there are nor their payloads. */
    void (*change)(struct each *each, struct item *items, unsigned n);
    void (*free)(struct each *each);
};

/* Takes SOURCE and EACH over, also when it fails (-ENOMEM). The order of items stays, and what the source tells of
 * itself. */
int each_open(struct source *source, struct each *each, struct source **ret_source);
