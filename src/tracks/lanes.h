/* SPDX-License-Identifier: MIT */
#pragma once

/* The lanes of a pair: tracks for slices that overlap, with one open slice each. The first lane with
 * nothing open is found in the same time however many lanes there are. */

#include "base/arena.h"

#include <stdint.h>

struct track;

/* Zeroed: no lanes. */
struct lanes {
    struct track **tracks;
    uint64_t *free; /* a bit for each lane: nothing is open on it */
    unsigned n, room;
    unsigned first_free; /* no word of `free` before this one has a bit */
};

/* Returns the first lane with nothing open, and marks it as used. NULL: no lane is free. */
struct track *lanes_take(struct lanes *lanes);
/* The slice on lane NUMBER, from 0, ends: marks the lane as free. */
void lanes_release(struct lanes *lanes, unsigned number);

/* Adds TRACK as a lane with nothing open. 0, -ENOMEM. */
int lanes_add(struct lanes *lanes, struct arena *arena, struct track *track);
