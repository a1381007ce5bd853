/* SPDX-License-Identifier: MIT */
#pragma once

/* Which of what a guest asks for is what a VMM does for it: requests of both that tell the same numbers while
 * both are under way.
 *
 * A request of one layer and one of the other belong together where each is the only one with these numbers that
 * is open; where there are several, none is told, as it would be a guess. Clocks that are related to each other
 * have errors: so a request may be open still within the error of the time at which it ended, and which of the two
 * is seen first does not matter. */

#include <stdint.h>

#include "event/class.h"

#define FLOW_WORDS 3
#define FLOWS_MAX 1024

struct flow {
    uint64_t words[FLOW_WORDS]; /* sector, length, whether it writes */
    uint64_t id;                /* 0: this place is free */
    int64_t until;              /* when it is over for certain, ns; INT64_MAX: it is open */
    enum layer layer;
    bool joined;
};

/* Zeroed: empty. */
struct flows {
    struct flow flows[FLOWS_MAX];
    unsigned n; /* places used so far */
    uint64_t last_id;
};

/* A request of LAYER begins, not before EARLIEST. Returns its place, for flows_end(); *RET_ID is what it has in common
 * with the other layer's, *RET_JOINS whether that one has been seen. -1: there are too many at a time. */
int flows_begin(struct flows *flows, enum layer layer, const uint64_t words[static FLOW_WORDS],
                int64_t earliest, uint64_t *ret_id, bool *ret_joins);
/* It ended, not behind LATEST; INT64_MIN: it is not known whether it did, and it is nobody's partner any more. */
void flows_end(struct flows *flows, int place, int64_t latest);
