/* SPDX-License-Identifier: MIT */
#pragma once

/* Generations of what is served. A generation is an index and what belongs to it. A running recording has a new
 * generation each time it is indexed again. A request is answered from one generation, however many others come
 * meanwhile. */

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "index/index.h"
#include "serve/serve.h"

struct numbering;

struct generation {
    atomic_uint references;
    uint64_t number;  /* from 1 on */
    atomic_bool live; /* the recording continues */
    struct index *index;
    struct numbering *numbering; /* of events, for tables of the Trace Server Protocol */
    bool is_ticks;
    char clock[64];
    char **notes;
    unsigned n_notes;
    /* Tracks have different numbers in each index, but the same id in all generations: the number in the first one. */
    uint32_t *ids;     /* by number */
    uint32_t *numbers; /* by id; INDEX_NO_TRACK if this generation lacks the track */
    uint32_t n_ids;
};

/* The newest generation, and the previous one, for which clients may still ask. Initialise zeros by
 * generations_init(). */
struct generations {
    pthread_mutex_t lock;
    struct generation *current, *previous;
    struct map ids; /* of tracks, by what identifies them: id plus one */
    uint32_t n_ids;
};

void generations_init(struct generations *generations);
void generations_done(struct generations *generations);

/* Makes DATA the current generation, which then owns its index. One thread at a time. On -ENOMEM nothing has changed,
 * and the caller keeps the index. */
int generations_add(struct generations *generations, const struct server_data *data);
/* The current generation is not live any more. */
void generations_end(struct generations *generations);

/* Returns a reference to generation NUMBER; 0: the current one. NULL if it does not exist any more or yet. */
struct generation *generations_get(struct generations *generations, uint64_t number);
/* Drops a reference. Returns NULL. */
struct generation *generation_put(struct generation *generation);

/* Returns the number of track ID, or INDEX_NO_TRACK. */
static inline uint32_t generation_track(const struct generation *generation, int64_t id)
{
    return id >= 0 && id < (int64_t)generation->n_ids ? generation->numbers[id] : INDEX_NO_TRACK;
}
