/* SPDX-License-Identifier: MIT */
#pragma once

/* Which of what a guest asks for is what a VMM does for it: requests of both that have the same numbers while both are
 * under way.
 *
 * A request of one layer and one of the other belong together where each is the only one with these numbers that is
 * open; where there are several, none is joined, as it would be a guess. Clocks that are related to each other have
 * errors: a request may be open still within the error of the time at which it ended, and either of the two may be seen
 * first.
 *
 * Memory is for requests that are open, or may be, never for others; JOINS_MAX at most. Not thread-safe. */

#include <stdbool.h>
#include <stdint.h>

#include "event/class.h"

#define JOIN_WORDS 3
#define JOINS_MAX (1u << 20)

struct join_entry;

/* Zeroed: empty. */
struct joins {
    struct join_entry *entries; /* number 0 is none */
    uint32_t n, room, free;
    uint32_t *buckets; /* of those without a partner */
    uint32_t n_buckets;
    uint32_t oldest_ended, newest_ended; /* those without a partner that ended */
    uint64_t last_id;
};

/* A request of LAYER begins, not before EARLIEST: WORDS are its sector, its length and whether it writes. *RET_NUMBER is
 * for joins_end(), 0: there are too many at a time, and nothing is known of it. *RET_ID is what it has in common with the
 * other layer's, *RET_JOINS whether that one has been seen. 0, -ENOMEM. */
int joins_begin(struct joins *joins, enum layer layer, const uint64_t words[static JOIN_WORDS],
                int64_t earliest, uint32_t *ret_number, uint64_t *ret_id, bool *ret_joins);
/* It ended, not after LATEST; INT64_MIN: it is not known whether it did, and it gets no partner. NUMBER may be 0. */
void joins_end(struct joins *joins, uint32_t number, int64_t latest);
void joins_done(struct joins *joins);
