/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds which request of a guest is which request of its VMM: both have the same sector, number of sectors and direction
 * while both are open. `strata io`, the arrows of the timeline and the flows of exports ask here.
 *
 * Two requests are joined if each is the only one with its words that is open, of a machine that may be the same. If there are
 * several, they are ambiguous: a guess could be wrong, so none of them is ever joined, nor is a later one that meets one of them
 * while that may still be open. Clocks have errors: a request may still be open within the error of the time at which it
 * ended, and either of the two may be seen first. What follows is not waited for: of requests with the same words that begin within the error of
 * the clocks, the first may be joined with the second's partner.
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

struct join_request {
    enum layer layer;
    const void *vm; /* its virtual machine, as in struct origin; NULL: not known, it may be any */
    uint64_t words[JOIN_WORDS]; /* the sector, the number of sectors, the direction */
    uint32_t tag;               /* the caller's, not 0 */
};

struct join {
    uint32_t number; /* for joins_end(); 0: too many are open, and nothing is known of this one */
    uint64_t id;     /* what it has in common with its partner; unique otherwise */
    bool is_joined;  /* with a request that has begun before, whose tag is … */
    uint32_t partner;
    bool is_ambiguous;
};

/* REQUEST begins, not before EARLIEST. Times are of any unit, the same in all calls. 0, -ENOMEM. */
int joins_begin(struct joins *joins, const struct join_request *request, int64_t earliest,
                struct join *ret_join);
/* The request NUMBER, which may be 0, ended, not after LATEST. NUMBER may be given to another request from then on. */
void joins_end(struct joins *joins, uint32_t number, int64_t latest);
/* The request NUMBER, which may be 0, of this TAG gets no partner: it is not known whether it ended. After joins_end() nothing happens
 * if NUMBER has been given to a request with another tag. */
void joins_forget(struct joins *joins, uint32_t number, uint32_t tag);
void joins_done(struct joins *joins);
