/* SPDX-License-Identifier: MIT */
#pragma once

/* The lanes of a pair: tracks for what may be open several times at once, one slice on each. Finding an open slice by
 * its ids, and the first lane with nothing open, take the same time however many lanes there are. */

#include "base/arena.h"
#include "export/timeline/pairs.h"

struct track;
struct lane;

/* Zeroed: none. */
struct lanes {
    struct lane *lanes;
    uint64_t *free; /* a bit for each lane: nothing is open on it */
    unsigned n, room;
    unsigned first_free; /* no word of `free` before this one has a bit */
    uint32_t *buckets;   /* lane numbers from 1, newest first; 0: none */
};

/* The track of the slice with IDS that began last of those that are open. NULL: none is. */
struct track *lanes_find(const struct lanes *lanes, const uint64_t ids[static PAIR_IDS]);

/* A slice with IDS begins on the first lane with nothing open. Returns the lane's track. NULL: no lane is free. */
struct track *lanes_take(struct lanes *lanes, const uint64_t ids[static PAIR_IDS]);
/* It ends, on lane NUMBER, from 0. */
void lanes_release(struct lanes *lanes, unsigned number);

/* TRACK is one more lane, with nothing open. 0, -ENOMEM. */
int lanes_add(struct lanes *lanes, struct arena *arena, struct track *track);
