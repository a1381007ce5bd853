/* SPDX-License-Identifier: MIT */
#pragma once

/* Adds up tallies of consecutive parts of one stream of items. */

#include "analysis/tally.h"

/* Maps origins and classes of another catalogue to this one, because parts may be read from different openings of a
 * trace. Each function returns NULL if no counterpart is certain. */
struct tally_counterparts {
    const struct origin *(*origin)(void *arg, const struct origin *origin);
    const struct event_class *(*class)(void *arg, const struct event_class *class);
    void *arg;
};

/* Adds to TALLY what LATER has counted of the following items. Then TALLY equals a tally that has counted all. Both
 * must have the same options. With periods, LATER's begin with TALLY's (set its periods_begin first). COUNTERPARTS:
 * NULL if both have the same catalogue. 0; -ENOMEM; -ERANGE if the sum could differ: an event of LATER is earlier than
 * an event of TALLY, a counterpart is missing, there are more than TALLY_KEY_ROWS_MAX rows, or sources are separate.
 * After a failure TALLY can only be freed. */
int tally_merge(struct tally *tally, const struct tally *later,
                const struct tally_counterparts *counterparts);
