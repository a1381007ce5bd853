/* SPDX-License-Identifier: MIT */
#pragma once

/* A ring as it stood at one moment, taken while its owner and its consumer go on and notice nothing. */

#include "runtime/ring.h"

struct ring_copy {
    void *memory; /* laid out as a ring, for ring_reader_init(); nobody else writes there */
    size_t length;
};

/* Copies the newest events of a ring, without a gap, up to at least those that were committed before
 * the call: of a flight recorder all that it holds, but for what is written over meanwhile; of a
 * discard ring what was not consumed yet, from the begin of its packet on. Takes no lock and consumes
 * nothing. Returns 1; 0: nothing is in the ring; -EINVAL: not a ring; -ENOMEM; -EAGAIN: what is newest
 * was written over each time before it was copied. */
int ring_copy_take(struct ring_copy *ret, struct ring_map *map, size_t length);
void ring_copy_done(struct ring_copy *copy);
