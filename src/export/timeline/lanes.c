/* SPDX-License-Identifier: MIT */
#include "export/timeline/lanes.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/macro.h"

#define WORD_BITS 64

struct lane {
    struct track *track;
    uint64_t id[PAIR_IDS]; /* of what is open */
    uint32_t next;         /* in its bucket */
};

/* There are as many buckets as there is room for lanes, a power of two. */
static uint32_t *get_bucket(const struct lanes *lanes, const uint64_t *ids)
{
    return &lanes->buckets[hash_mix(hash_mix(0, ids[0]), ids[1]) & (lanes->room - 1)];
}

struct track *lanes_find(const struct lanes *lanes, const uint64_t ids[static PAIR_IDS])
{
    if (lanes->n == 0)
        return NULL;
    for (uint32_t i = *get_bucket(lanes, ids); i > 0; i = lanes->lanes[i - 1].next)
        if (memcmp(lanes->lanes[i - 1].id, ids, sizeof lanes->lanes[i - 1].id) == 0)
            return lanes->lanes[i - 1].track;
    return NULL;
}

struct track *lanes_take(struct lanes *lanes, const uint64_t ids[static PAIR_IDS])
{
    unsigned n_words = (lanes->n + WORD_BITS - 1) / WORD_BITS;
    struct lane *lane;
    uint32_t *bucket;
    uint32_t number;

    while (lanes->first_free < n_words && lanes->free[lanes->first_free] == 0)
        lanes->first_free++;
    if (lanes->first_free >= n_words)
        return NULL;
    number =
        lanes->first_free * WORD_BITS + (unsigned)__builtin_ctzll(lanes->free[lanes->first_free]);
    lanes->free[number / WORD_BITS] &= ~(UINT64_C(1) << number % WORD_BITS);
    lane = &lanes->lanes[number];
    memcpy(lane->id, ids, sizeof lane->id);
    bucket = get_bucket(lanes, ids);
    lane->next = *bucket;
    *bucket = number + 1;
    return lane->track;
}

void lanes_release(struct lanes *lanes, unsigned number)
{
    uint32_t *at = get_bucket(lanes, lanes->lanes[number].id);

    while (*at != number + 1)
        at = &lanes->lanes[*at - 1].next;
    *at = lanes->lanes[number].next;
    lanes->free[number / WORD_BITS] |= UINT64_C(1) << number % WORD_BITS;
    lanes->first_free = MIN(lanes->first_free, number / WORD_BITS);
}

/* Moves all that is open into the buckets of LANES, twice as many as OLD has: each bucket of OLD into two, in its order. */
static void move_into_buckets(struct lanes *lanes, const struct lanes *old)
{
    for (unsigned i = 0; i < old->room; i++) {
        uint32_t *ends[2] = {&lanes->buckets[i], &lanes->buckets[i + old->room]};
        uint32_t next;

        for (uint32_t number = old->buckets[i]; number > 0; number = next) {
            struct lane *lane = &lanes->lanes[number - 1];
            unsigned half = get_bucket(lanes, lane->id) != &lanes->buckets[i];

            next = lane->next;
            lane->next = 0;
            *ends[half] = number;
            ends[half] = &lane->next;
        }
    }
}

static int grow(struct lanes *lanes, struct arena *arena)
{
    const struct lanes old = *lanes;
    unsigned room = old.room ? 2 * old.room : WORD_BITS;
    struct lane *more = arena_alloc(arena, room * sizeof *more);
    uint64_t *free = arena_alloc(arena, room / WORD_BITS * sizeof *free);
    uint32_t *buckets = arena_alloc(arena, room * sizeof *buckets);

    if (!more || !free || !buckets)
        return -ENOMEM;
    if (old.n > 0) {
        memcpy(more, old.lanes, old.n * sizeof *more);
        memcpy(free, old.free, old.room / WORD_BITS * sizeof *free);
    }
    lanes->lanes = more;
    lanes->free = free;
    lanes->buckets = buckets;
    lanes->room = room;
    move_into_buckets(lanes, &old);
    return 0;
}

int lanes_add(struct lanes *lanes, struct arena *arena, struct track *track)
{
    int r = lanes->n == lanes->room ? grow(lanes, arena) : 0;

    if (r < 0)
        return r;
    lanes->lanes[lanes->n] = (struct lane){.track = track};
    lanes->free[lanes->n / WORD_BITS] |= UINT64_C(1) << lanes->n % WORD_BITS;
    lanes->first_free = MIN(lanes->first_free, lanes->n / WORD_BITS);
    lanes->n++;
    return 0;
}
