/* SPDX-License-Identifier: MIT */
#pragma once

/* The lanes of a pair: tracks for slices that overlap, with one open slice on each. Finding the first lane without an
 * open slice takes the same time for any number of lanes. */

#include "base/arena.h"

#include <stdint.h>

struct track;

/* Zeros are no lanes. */
struct lanes {
    struct track **tracks;
    uint64_t *free; /* a bit for each lane without an open slice */
    unsigned n, room;
    unsigned first_free; /* earlier words of `free` have no bits */
};

/* Returns the first lane without an open slice, and marks it as used. NULL if no lane is free. */
struct track *lanes_take(struct lanes *lanes);
/* The slice on lane NUMBER (from 0) ends: marks the lane as free. */
void lanes_release(struct lanes *lanes, unsigned number);

/* Adds TRACK as a lane without an open slice. 0, -ENOMEM. */
int lanes_add(struct lanes *lanes, struct arena *arena, struct track *track);
