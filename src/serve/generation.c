/* SPDX-License-Identifier: MIT */
#include "serve/generation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "serve/numbering.h"

void generations_init(struct generations *generations)
{
    pthread_mutex_init(&generations->lock, NULL);
}

void generations_done(struct generations *generations)
{
    generations->current = generation_put(generations->current);
    generations->previous = generation_put(generations->previous);
    map_done(&generations->ids);
    pthread_mutex_destroy(&generations->lock);
}

static int keep_notes(struct generation *generation, const struct server_data *data)
{
    generation->notes = calloc(data->n_notes + 1, sizeof *generation->notes);
    if (!generation->notes)
        return -ENOMEM;
    for (unsigned i = 0; i < data->n_notes; i++) {
        generation->notes[i] = strdup(data->notes[i]);
        if (!generation->notes[i])
            return -ENOMEM;
        generation->n_notes++;
    }
    return 0;
}

/* A key that identifies a track in all indexes of one trace. PARENT: its parent's key. A source's own track gets
 * another name when a second source of the layer appears. */
static uint64_t track_key(const struct index_track *track, uint64_t parent)
{
    uint64_t key = hash_mix(parent, (uint64_t)track->kind << 8 | track->layer);

    if (track->parent != INDEX_NO_TRACK)
        key = hash_mix(key, hash_bytes(track->name, strlen(track->name)));
    key = hash_mix(key, (uint32_t)track->cpu);
    key = hash_mix(key, (uint32_t)track->pid);
    return hash_mix(key, (uint32_t)track->vcpu);
}

/* Gives each track the id that its key in KEYS has in earlier generations, or a new one. */
static int give_ids(struct generations *generations, struct generation *generation,
                    const uint64_t *keys, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uintptr_t id = (uintptr_t)map_get(&generations->ids, keys[i]);

        if (id == 0) {
            id = (uintptr_t)generations->n_ids + 1;
            if (map_put(&generations->ids, keys[i], (void *)id) < 0)
                return -ENOMEM;
            generations->n_ids++;
        }
        generation->ids[i] = (uint32_t)(id - 1);
    }
    generation->n_ids = generations->n_ids;
    generation->numbers = malloc((generation->n_ids + (size_t)1) * sizeof *generation->numbers);
    if (!generation->numbers)
        return -ENOMEM;
    for (uint32_t i = 0; i < generation->n_ids; i++)
        generation->numbers[i] = INDEX_NO_TRACK;
    for (uint32_t i = 0; i < n; i++)
        generation->numbers[generation->ids[i]] = i;
    return 0;
}

static int identify_tracks(struct generations *generations, struct generation *generation,
                           const struct index *index)
{
    uint32_t n = index_summary(index)->n_tracks;
    uint64_t *keys = malloc((n + (size_t)1) * sizeof *keys);
    struct map seen = {0};
    int r = 0;

    generation->ids = malloc((n + (size_t)1) * sizeof *generation->ids);
    if (!keys || !generation->ids)
        r = -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        const struct index_track *track = index_track(index, i);

        keys[i] = track_key(track, track->parent == INDEX_NO_TRACK ? 0 : keys[track->parent]);
        /* Tracks that are alike are told apart by their order. */
        while (map_get(&seen, keys[i]))
            keys[i] = hash_mix(keys[i], 1);
        r = map_put(&seen, keys[i], generation);
    }
    if (r == 0)
        r = give_ids(generations, generation, keys, n);
    map_done(&seen);
    free(keys);
    return r;
}

int generations_add(struct generations *generations, const struct server_data *data)
{
    struct generation *made = calloc(1, sizeof *made);
    struct generation *dropped;

    if (!made)
        return -ENOMEM;
    atomic_init(&made->references, 1);
    atomic_init(&made->live, data->live);
    made->is_ticks = data->is_ticks;
    snprintf(made->clock, sizeof made->clock, "%s", data->clock);
    made->numbering = numbering_new();
    if (!made->numbering || keep_notes(made, data) < 0 ||
        identify_tracks(generations, made, data->index) < 0) {
        generation_put(made);
        return -ENOMEM;
    }
    made->index = data->index;
    pthread_mutex_lock(&generations->lock);
    made->number = generations->current ? generations->current->number + 1 : 1;
    dropped = generations->previous;
    generations->previous = generations->current;
    generations->current = made;
    pthread_mutex_unlock(&generations->lock);
    generation_put(dropped);
    return 0;
}

void generations_end(struct generations *generations)
{
    pthread_mutex_lock(&generations->lock);
    if (generations->current)
        atomic_store(&generations->current->live, false);
    pthread_mutex_unlock(&generations->lock);
}

struct generation *generations_get(struct generations *generations, uint64_t number)
{
    struct generation *found;

    pthread_mutex_lock(&generations->lock);
    found = generations->current;
    if (found && number != 0 && number != found->number)
        found = generations->previous;
    if (found && number != 0 && number != found->number)
        found = NULL;
    if (found)
        atomic_fetch_add(&found->references, 1);
    pthread_mutex_unlock(&generations->lock);
    return found;
}

struct generation *generation_put(struct generation *generation)
{
    if (!generation || atomic_fetch_sub(&generation->references, 1) > 1)
        return NULL;
    index_free(generation->index);
    numbering_free(generation->numbering);
    for (unsigned i = 0; i < generation->n_notes; i++)
        free(generation->notes[i]);
    free(generation->notes);
    free(generation->ids);
    free(generation->numbers);
    free(generation);
    return NULL;
}
