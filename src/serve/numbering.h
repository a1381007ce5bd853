/* SPDX-License-Identifier: MIT */
#pragma once

/* Numbers events from 0 on in the order of time. Reads the trace once, as far as requests need it, and stores the place
 * of each NUMBERING_STEP-th event. */

#include <pthread.h>

#include "serve/events.h"

#define NUMBERING_STEP 8192u

/* Where the events from a number on begin: at `time`, after `skip` events with that time. */
struct numbering_place {
    int64_t time;
    uint32_t skip;
};

struct numbering {
    pthread_mutex_t lock;
    struct numbering_place *places; /* of events 0, NUMBERING_STEP and so on */
    unsigned n, room;
    struct events events; /* not read yet */
    bool open, complete;
    uint64_t n_events; /* number of read events */
    int64_t time;      /* of the last event, and how many events have this time */
    uint32_t same;
};

/* NULL if out of memory. */
struct numbering *numbering_new(void);
struct numbering *numbering_free(struct numbering *numbering);

/* Finds the last place at or before event NUMBER. Returns 1 with *RET_PLACE, and the number of the event there in
 * *RET_FIRST; 0 if there is no such event; -EAGAIN if the trace was not read so far yet, so ask again; another negative
 * errno with ERROR. */
int numbering_find(struct numbering *numbering, struct exchange *x, uint64_t number,
                   struct numbering_place *ret_place, uint64_t *ret_first, struct error *error);
/* Finds a place at or before the first event at or after TIME; for a TIME after the last event, the last place. Returns
 * the same. */
int numbering_find_time(struct numbering *numbering, struct exchange *x, int64_t time,
                        struct numbering_place *ret_place, uint64_t *ret_first,
                        struct error *error);
