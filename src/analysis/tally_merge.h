/* SPDX-License-Identifier: MIT */
#pragma once

/* Adds up tallies of consecutive parts of one stream of items. */

#include "analysis/tally.h"

/* What origins and classes of another catalogue are called in this one: parts may be read from openings of a trace of
 * their own. Each returns NULL where there is no counterpart that is certain. */
struct tally_counterparts {
    const struct origin *(*origin)(void *arg, const struct origin *origin);
    const struct event_class *(*class)(void *arg, const struct event_class *class);
    void *arg;
};

/* Adds to TALLY what LATER has counted of the items that follow: TALLY then equals one that has counted all. Both have the
 * same options. With periods, those of LATER begin with TALLY's (its periods_begin is set first). COUNTERPARTS: NULL if both
 * are of one catalogue. 0; -ENOMEM; -ERANGE: the sum could differ, as an event of LATER is earlier than one of TALLY, a
 * counterpart is missing, there are more than TALLY_KEY_ROWS_MAX rows, or sources are separate. After a failure TALLY can
 * only be freed. */
int tally_merge(struct tally *tally, const struct tally *later,
                const struct tally_counterparts *counterparts);
