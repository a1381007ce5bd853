/* SPDX-License-Identifier: MIT */
/* The longest times without an event, and whether events were lost in them. A loss comes at its end, after gaps that lie within
 * it: so losses are kept, and the gaps are marked at the end. */

#include <errno.h>
#include <stdlib.h>

#include "analysis/tally_internal.h"
#include "base/hash.h"
#include "base/macro.h"

/* Losses whose times are kept; beyond, neighbours become one. */
#define LOST_MAX 65536

static uint64_t gap_length(const struct tally_gap *gap)
{
    return (uint64_t)gap->end - (uint64_t)gap->begin;
}

void tally_keep_gap(struct tally *tally, const struct tally_gap *gap)
{
    struct tally_gap *gaps = tally->gaps;
    unsigned at;

    if (tally->n_gaps == tally->options.gaps &&
        gap_length(gap) <= gap_length(&gaps[tally->n_gaps - 1]))
        return;
    at = tally->n_gaps < tally->options.gaps ? tally->n_gaps++ : tally->n_gaps - 1;
    for (; at > 0 && gap_length(&gaps[at - 1]) < gap_length(gap); at--)
        gaps[at] = gaps[at - 1];
    gaps[at] = *gap;
}

int64_t *tally_cpu_last(struct tally *tally, const struct origin *origin, int32_t cpu)
{
    uint64_t key = hash_mix((uintptr_t)origin, (uint32_t)cpu);
    struct tally_cpu *found = tally->recent_cpu;

    if (likely(found && found->origin == origin && found->cpu == cpu))
        return &found->last;
    found = map_get(&tally->cpus, key);
    if (unlikely(!found)) {
        found = arena_alloc(&tally->arena, sizeof *found);
        if (!found || map_put(&tally->cpus, key, found) < 0)
            return NULL;
        *found = (struct tally_cpu){tally->first_cpu, origin, cpu, TIME_UNKNOWN};
        tally->first_cpu = found;
    }
    tally->recent_cpu = found;
    return &found->last;
}

int tally_count_gap(struct tally *tally, const struct item *item)
{
    int64_t *last = tally_cpu_last(tally, item->origin, item->cpu);

    if (!last)
        return -ENOMEM;
    *last = MAX(*last, item->time);
    if (tally->options.separate && tally->gap.origin != item->origin)
        tally->gap.class = NULL;
    tally->gap.end = item->time;
    if (unlikely(!tally->has_ended_gap)) {
        tally->has_ended_gap = true;
        tally->before = tally->gap;
    }
    if (tally->gap.class && item->time > tally->gap.begin)
        tally_keep_gap(tally, &tally->gap);
    if (!tally->gap.class || item->time >= tally->gap.begin)
        tally->gap =
            (struct tally_gap){.begin = item->time, .origin = item->origin, .class = item->class};
    return 0;
}

int tally_keep_lost(struct tally *tally, const struct tally_lost *lost)
{
    struct tally_lost *all = tally->lost;
    struct tally_lost *last = all && tally->n_lost > 0 ? &all[tally->n_lost - 1] : NULL;

    if (last && last->origin == lost->origin && last->cpu == lost->cpu &&
        lost->since >= last->since && lost->since <= last->until) {
        last->until = MAX(last->until, lost->until);
        return 0;
    }
    if (all && tally->n_lost == LOST_MAX) {
        for (unsigned i = 0; i < LOST_MAX / 2; i++) {
            const struct tally_lost *a = &all[2 * i], *b = a + 1;

            all[i] = (struct tally_lost){MIN(a->since, b->since), MAX(a->until, b->until),
                                         a->origin, a->cpu};
        }
        tally->n_lost = LOST_MAX / 2;
    }
    if (!all || tally->n_lost == tally->lost_room) {
        unsigned room = MAX(tally->lost_room * 2, 16u);
        struct tally_lost *more = realloc(tally->lost, room * sizeof *more);

        if (!more)
            return -ENOMEM;
        tally->lost = more;
        tally->lost_room = room;
    }
    tally->lost[tally->n_lost++] = *lost;
    return 0;
}

int tally_put_lost(struct tally *tally, const struct item *loss)
{
    struct tally_lost lost = {
        .since = loss->since,
        .until = loss->is_open ? INT64_MAX : loss->time,
        .origin = loss->origin,
        .cpu = loss->cpu,
    };

    tally->gap.lost = true;
    if (lost.until == TIME_UNKNOWN)
        return 0;
    if (lost.since == TIME_UNKNOWN) {
        const int64_t *last = tally_cpu_last(tally, lost.origin, lost.cpu);

        if (!last)
            return -ENOMEM;
        lost.since = *last;
    }
    return tally_keep_lost(tally, &lost);
}

/* By source, if gaps are of one source; then by begin. */
static int compare_lost(const void *a, const void *b, void *arg)
{
    const struct tally_lost *x = a, *y = b;
    const struct tally *tally = arg;

    if (tally->options.separate && x->origin != y->origin)
        return x->origin->number < y->origin->number ? -1 : 1;
    return (x->since > y->since) - (x->since < y->since);
}

void tally_mark_gaps(struct tally *tally)
{
    struct tally_lost *lost = tally->lost;

    if (tally->n_lost == 0)
        return;
    qsort_r(lost, tally->n_lost, sizeof *lost, compare_lost, tally);
    /* `until` of each becomes the latest of it and those before. */
    for (unsigned i = 1; i < tally->n_lost; i++)
        if (!tally->options.separate || lost[i - 1].origin == lost[i].origin)
            lost[i].until = MAX(lost[i].until, lost[i - 1].until);
    for (unsigned i = 0; i < tally->n_gaps; i++) {
        struct tally_gap *gap = &tally->gaps[i];
        const struct tally_lost end = {.since = gap->end, .origin = gap->origin};
        unsigned low = 0, high = tally->n_lost;

        /* The last one that begins before the gap ends. */
        while (low < high) {
            unsigned middle = (low + high) / 2;

            if (compare_lost(&lost[middle], &end, tally) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        if (low > 0 && (!tally->options.separate || lost[low - 1].origin == gap->origin) &&
            lost[low - 1].until > gap->begin)
            gap->lost = true;
    }
}
