/* SPDX-License-Identifier: MIT */
#pragma once

/* What is served at one time: an index, and what belongs to it. A recording under way has a new generation each time that
 * it is indexed again. A request is answered from one generation, however many others come meanwhile. */

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "index/index.h"
#include "serve/serve.h"

struct numbering;

struct generation {
    atomic_uint references;
    uint64_t number;  /* from 1 on */
    atomic_bool live; /* the recording goes on */
    struct index *index;
    struct numbering *numbering; /* of events, for tables of the Trace Server Protocol */
    bool is_ticks;
    char clock[64];
    char **notes;
    unsigned n_notes;
    /* Tracks have other numbers in each index, and the same id in all generations: that of the first one's number. */
    uint32_t *ids;     /* by number */
    uint32_t *numbers; /* by id; INDEX_NO_TRACK: not a track of this generation */
    uint32_t n_ids;
};

/* The newest generation, and the one before it, which a client may still ask for. Zeroed, and generations_init(): none. */
struct generations {
    pthread_mutex_t lock;
    struct generation *current, *previous;
    struct map ids; /* of tracks, by what identifies them: id + 1 */
    uint32_t n_ids;
};

void generations_init(struct generations *generations);
void generations_done(struct generations *generations);

/* Makes DATA the current generation, which owns its index. One thread at a time. -ENOMEM: nothing has changed, and the index stays the
 * caller's. */
int generations_add(struct generations *generations, const struct server_data *data);
/* The current generation is not live any more. */
void generations_end(struct generations *generations);

/* A reference to generation NUMBER; 0: the current one. NULL: it is gone, or there is none. */
struct generation *generations_get(struct generations *generations, uint64_t number);
/* Drops it. Returns NULL. */
struct generation *generation_put(struct generation *generation);

/* The number of track ID, or INDEX_NO_TRACK. */
static inline uint32_t generation_track(const struct generation *generation, int64_t id)
{
    return id >= 0 && id < (int64_t)generation->n_ids ? generation->numbers[id] : INDEX_NO_TRACK;
}
