/* SPDX-License-Identifier: MIT */
/* Keeps the longest times without an event, and whether events were lost in them. A loss comes at its end, after gaps
 * within it. So losses are kept, and the gaps are marked at the end. */

#include <errno.h>
#include <stdlib.h>

#include "analysis/tally_internal.h"
#include "base/macro.h"

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

void tally_count_gap(struct tally *tally, const struct item *item)
{
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
}

/* A time in which events were lost. */
struct lost_time {
    int64_t since, until;
    const struct origin *origin;
};

/* Compares sources, if gaps are per source, then begins. */
static int compare_lost(const void *a, const void *b, void *arg)
{
    const struct lost_time *x = a, *y = b;
    const struct tally *tally = arg;

    if (tally->options.separate && x->origin != y->origin)
        return x->origin->number < y->origin->number ? -1 : 1;
    return (x->since > y->since) - (x->since < y->since);
}

/* Sorts all losses. `until` of each is the latest end of it and earlier ones. */
static unsigned sort_losses(const struct tally *tally, struct lost_time *ret)
{
    unsigned n = 0;

    for (unsigned i = 0; i < tally->cover.n_losses; i++) {
        const struct tally_loss *loss = &tally->cover.losses[i];

        if (loss->item.time != TIME_UNKNOWN || loss->item.is_open)
            ret[n++] = (struct lost_time){.since = tally_loss_since(loss),
                                          .until = loss->item.is_open ? INT64_MAX : loss->item.time,
                                          .origin = loss->item.origin};
    }
    qsort_r(ret, n, sizeof *ret, compare_lost, (void *)tally);
    for (unsigned i = 1; i < n; i++)
        if (!tally->options.separate || ret[i - 1].origin == ret[i].origin)
            ret[i].until = MAX(ret[i].until, ret[i - 1].until);
    return n;
}

static void mark_gap(const struct tally *tally, struct tally_gap *gap, const struct lost_time *lost,
                     unsigned n)
{
    const struct lost_time end = {.since = gap->end, .origin = gap->origin};
    unsigned low = 0, high = n;

    /* The last one that begins before the gap ends. */
    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (compare_lost(&lost[middle], &end, (void *)tally) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    gap->lost |= low > 0 && (!tally->options.separate || lost[low - 1].origin == gap->origin) &&
                 lost[low - 1].until > gap->begin;
}

int tally_mark_gaps(struct tally *tally)
{
    struct lost_time *lost;
    unsigned n;

    if (tally->cover.n_losses == 0 || tally->n_gaps == 0)
        return 0;
    lost = malloc(tally->cover.n_losses * sizeof *lost);
    if (!lost)
        return -ENOMEM;
    n = sort_losses(tally, lost);
    for (unsigned i = 0; i < tally->n_gaps; i++)
        mark_gap(tally, &tally->gaps[i], lost, n);
    free(lost);
    return 0;
}
