/* SPDX-License-Identifier: MIT */
#pragma once

/* Which of what a guest asks for is what a VMM does for it: requests of both that tell the same numbers while
 * both are under way.
 *
 * A request of one layer and one of the other belong together where each is the only one that is open with
 * these numbers; where there are several, none is told, as it would be a guess. Which of the two is seen first
 * does not matter: clocks that are related to each other have an error. */

#include <stdint.h>

#include "event/class.h"

#define FLOW_WORDS 3
#define FLOWS_MAX 256

struct flow {
    uint64_t words[FLOW_WORDS]; /* sector, length, whether it writes */
    uint64_t id;                /* 0: this place is free */
    enum layer layer;
    bool joined;
};

/* Zeroed: empty. */
struct flows {
    struct flow flows[FLOWS_MAX];
    unsigned n; /* places used so far */
    uint64_t last_id;
};

/* A request of LAYER begins. Returns its place, for flows_end(); *RET_ID is what it has in common with the
 * other layer's, *RET_JOINS whether that one has been seen. -1: there are too many at a time. */
int flows_begin(struct flows *flows, enum layer layer, const uint64_t words[static FLOW_WORDS],
                uint64_t *ret_id, bool *ret_joins);
void flows_end(struct flows *flows, int place);
