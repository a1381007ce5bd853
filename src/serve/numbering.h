/* SPDX-License-Identifier: MIT */
#pragma once

/* Which number each event has, from 0 on in order of time. The trace is read once for it, as far as requests ask, and the
 * places of one event in NUMBERING_STEP are kept. */

#include <pthread.h>

#include "serve/events.h"

#define NUMBERING_STEP 8192u

/* Where the events from a number on begin: at a time, after `skip` events at that time. */
struct numbering_place {
    int64_t time;
    uint32_t skip;
};

struct numbering {
    pthread_mutex_t lock;
    struct numbering_place *places; /* of events 0, NUMBERING_STEP, … */
    unsigned n, room;
    struct events events; /* what is read next */
    bool open, complete;
    uint64_t n_events; /* that were read */
    int64_t time;      /* of the last one, and how many there were at it */
    uint32_t same;
};

/* NULL: out of memory. */
struct numbering *numbering_new(void);
struct numbering *numbering_free(struct numbering *numbering);

/* The last place at or before event NUMBER. 1: *RET_PLACE, and in *RET_FIRST the number of the event there; 0: there is
 * no such event; -EAGAIN: the trace was not read up to there, ask again; another negative errno with ERROR. */
int numbering_find(struct numbering *numbering, struct exchange *x, uint64_t number,
                   struct numbering_place *ret_place, uint64_t *ret_first, struct error *error);
/* The same of the first event at or after TIME: it is at or after the place. Of a time after the last event, the last
 * place. */
int numbering_find_time(struct numbering *numbering, struct exchange *x, int64_t time,
                        struct numbering_place *ret_place, uint64_t *ret_first,
                        struct error *error);
