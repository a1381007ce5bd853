/* SPDX-License-Identifier: MIT */
#include "tracks/lanes.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"

#define WORD_BITS 64

struct track *lanes_take(struct lanes *lanes)
{
    unsigned n_words = (lanes->n + WORD_BITS - 1) / WORD_BITS;
    unsigned number;

    while (lanes->first_free < n_words && lanes->free[lanes->first_free] == 0)
        lanes->first_free++;
    if (lanes->first_free >= n_words)
        return NULL;
    number =
        lanes->first_free * WORD_BITS + (unsigned)__builtin_ctzll(lanes->free[lanes->first_free]);
    lanes->free[number / WORD_BITS] &= ~(UINT64_C(1) << number % WORD_BITS);
    return lanes->tracks[number];
}

void lanes_release(struct lanes *lanes, unsigned number)
{
    lanes->free[number / WORD_BITS] |= UINT64_C(1) << number % WORD_BITS;
    lanes->first_free = MIN(lanes->first_free, number / WORD_BITS);
}

static int grow(struct lanes *lanes, struct arena *arena)
{
    unsigned room = lanes->room ? 2 * lanes->room : WORD_BITS;
    struct track **tracks = arena_alloc(arena, room * sizeof(struct track *));
    uint64_t *free = arena_alloc(arena, room / WORD_BITS * sizeof *free);

    if (!tracks || !free)
        return -ENOMEM;
    if (lanes->n > 0) {
        memcpy(tracks, lanes->tracks, lanes->n * sizeof(struct track *));
        memcpy(free, lanes->free, lanes->room / WORD_BITS * sizeof *free);
    }
    lanes->tracks = tracks;
    lanes->free = free;
    lanes->room = room;
    return 0;
}

int lanes_add(struct lanes *lanes, struct arena *arena, struct track *track)
{
    int r = lanes->n == lanes->room ? grow(lanes, arena) : 0;

    if (r < 0)
        return r;
    lanes->tracks[lanes->n] = track;
    lanes->free[lanes->n / WORD_BITS] |= UINT64_C(1) << lanes->n % WORD_BITS;
    lanes->first_free = MIN(lanes->first_free, lanes->n / WORD_BITS);
    lanes->n++;
    return 0;
}
