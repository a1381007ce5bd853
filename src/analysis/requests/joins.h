/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds which request of a guest is which request of its VMM: both have the same sector, number of sectors and
 * direction while both are open. `strata io`, the arrows of the timeline and the flows of exports use it.
 *
 * Two requests are joined if each is the only open one with its words, and their machines may be the same. If there are
 * several, they are ambiguous. A guess could be wrong, so none of them is ever joined, nor a later request that meets
 * one of them while it may still be open. Because of clock errors, a request may still be open for the error after its
 * end, and either of the two may be seen first. Later events are not awaited: if requests with the same words begin
 * within the error of the clocks, the first one may be joined with the second one's partner.
 *
 * Memory is needed only for requests that are or may be open, at most JOINS_MAX. Not thread-safe. */

#include <stdbool.h>
#include <stdint.h>

#include "event/class.h"

#define JOIN_WORDS 3
#define JOINS_MAX (1u << 20)

struct join_entry;

/* Zeros are an empty one. */
struct joins {
    struct join_entry *entries; /* number 0 is not used */
    uint32_t n, room, free;
    uint32_t *buckets; /* of requests without a partner */
    uint32_t n_buckets;
    uint32_t oldest_ended, newest_ended; /* requests without a partner that ended */
    uint64_t last_id;
};

struct join_request {
    enum layer layer;
    /* Its virtual machine, as in struct origin; NULL if unknown, so it may be any. */
    const void *vm;
    uint64_t words[JOIN_WORDS]; /* sector, number of sectors, direction */
    uint32_t tag;               /* chosen by the caller, not 0 */
};

struct join {
    uint32_t number; /* for joins_end(); 0: too many are open, and nothing is known of this one */
    uint64_t id;     /* equal for both partners; otherwise unique */
    bool is_joined;  /* joined with a request that began before, whose tag is … */
    uint32_t partner;
    bool is_ambiguous;
};

/* REQUEST begins, not before EARLIEST. All calls use the same unit of time. 0, -ENOMEM. */
int joins_begin(struct joins *joins, const struct join_request *request, int64_t earliest,
                struct join *ret_join);
/* The request NUMBER (may be 0) ended, not after LATEST. From then on, another request may get NUMBER. */
void joins_end(struct joins *joins, uint32_t number, int64_t latest);
/* The request NUMBER (may be 0) with this TAG gets no partner, because it is unknown whether it ended. After
 * joins_end(), does nothing if a request with another tag has got NUMBER. */
void joins_forget(struct joins *joins, uint32_t number, uint32_t tag);
void joins_done(struct joins *joins);
