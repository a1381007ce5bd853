/* SPDX-License-Identifier: MIT */
#pragma once

/* The lanes of a pair: tracks for what may be open several times at once, one slice on each. The first lane with
 * nothing open is found in the same time however many lanes there are. */

#include "base/arena.h"

#include <stdint.h>

struct track;

/* Zeroed: none. */
struct lanes {
    struct track **tracks;
    uint64_t *free; /* a bit for each lane: nothing is open on it */
    unsigned n, room;
    unsigned first_free; /* no word of `free` before this one has a bit */
};

/* The first lane with nothing open, which has something open from now on. NULL: no lane is free. */
struct track *lanes_take(struct lanes *lanes);
/* It ends, on lane NUMBER, from 0. */
void lanes_release(struct lanes *lanes, unsigned number);

/* TRACK is one more lane, with nothing open. 0, -ENOMEM. */
int lanes_add(struct lanes *lanes, struct arena *arena, struct track *track);
