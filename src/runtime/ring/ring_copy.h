/* SPDX-License-Identifier: MIT */
#pragma once

/* A copy of a ring at one moment, made while its owner and its consumer continue undisturbed. */

#include "runtime/ring/ring.h"

struct ring_copy {
    void *memory; /* laid out as a ring, for ring_reader_init(); private */
    size_t length;
};

/* Copies the newest events of a ring, without a gap, at least up to those that were committed before
 * the call: from an overwrite ring everything except what is overwritten meanwhile; from a discard ring
 * what was not consumed yet, from the start of its packet. Takes no lock and consumes nothing. Returns
 * 1; 0: the ring is empty; -EINVAL: not a ring; -ENOMEM; -EAGAIN: the newest events were overwritten
 * each time before they were copied. */
int ring_copy_take(struct ring_copy *ret, struct ring_map *map, size_t length);
void ring_copy_done(struct ring_copy *copy);
