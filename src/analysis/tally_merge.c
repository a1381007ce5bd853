/* SPDX-License-Identifier: MIT */
/* A tally depends only on the past: counts, distances between consecutive events of a row, the latest event. So the
 * only things that neither part knows lie across their border: for each row the distance from its last event to its
 * first event after the border, and one gap of all rows. */
#include "analysis/tally_merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/tally_internal.h"

static const struct origin *origin_of(const struct tally_counterparts *to,
                                      const struct origin *origin)
{
    return to && origin ? to->origin(to->arg, origin) : origin;
}

static const struct event_class *class_of(const struct tally_counterparts *to,
                                          const struct event_class *class)
{
    return to && class ? to->class(to->arg, class) : class;
}

/* Finds the row by the keys of LATER, of which two kinds are addresses. */
static int find_by_keys(struct tally *tally, const struct tally_row *later,
                        const struct tally_counterparts *to, unsigned *ret_row)
{
    const struct grouping *grouping = &tally->options.grouping;
    uint64_t numbers[GROUPING_KEYS] = {0};
    struct tally_row *row;
    uint64_t key;
    int r;

    memcpy(numbers, later->numbers, sizeof numbers);
    for (unsigned i = 0; i < grouping->n; i++) {
        const void *address = NULL;

        if (grouping->keys[i].kind == GROUP_BY_SOURCE)
            address = origin_of(to, (const struct origin *)(uintptr_t)numbers[i]);
        else if (grouping->keys[i].kind == GROUP_BY_EVENT)
            address = class_of(to, (const struct event_class *)(uintptr_t)numbers[i]);
        else
            continue;
        if (!address)
            return -ERANGE;
        numbers[i] = (uintptr_t)address;
    }
    key = tally_key_of_numbers(grouping, numbers);
    r = tally_find_row(tally, key, ret_row);
    if (r < 0)
        return r;
    if (tally->n_rows > TALLY_KEY_ROWS_MAX)
        return -ERANGE;
    row = &tally->rows[*ret_row];
    if (row->count > 0)
        return 0;
    memcpy(row->numbers, numbers, sizeof numbers);
    for (unsigned i = 0; i < grouping->n; i++) {
        row->keys[i] = arena_strdup(&tally->arena, later->keys[i]);
        if (!row->keys[i])
            return -ENOMEM;
    }
    return 0;
}

/* Finds the row for the events of LATER, whose origin and class are ORIGIN and CLASS here; makes it if necessary. */
static int find_row(struct tally *tally, const struct tally_row *later, const struct origin *origin,
                    const struct event_class *class, const struct tally_counterparts *to,
                    unsigned *ret_row)
{
    const struct item like = {
        .origin = origin, .cpu = later->cpu, .pid = later->pid, .vcpu = later->vcpu};
    unsigned row = 0;

    switch (tally->by) {
    case TALLY_BY_KEYS: return find_by_keys(tally, later, to, ret_row);
    case TALLY_BY_EVENT:
        while (row < tally->n_rows &&
               !tally_is_same_event(tally->rows[row].origin, tally->rows[row].class, origin, class))
            row++;
        break;
    case TALLY_BY_SOURCE_EVENT: row = class->stat_row; break;
    case TALLY_BY_CPU:
    case TALLY_BY_TASK:
    case TALLY_BY_LAYER:
    case TALLY_BY_VCPU: return tally_find_row(tally, tally_key_of(tally, &like), ret_row);
    }
    *ret_row = row;
    return row < tally->n_rows ? 0 : tally_make_rows(tally, row + 1);
}

static int add_distance(struct histogram **distances, uint64_t distance)
{
    if (!*distances)
        *distances = calloc(1, sizeof **distances);
    return *distances ? histogram_add(*distances, distance) : -ENOMEM;
}

static int add_distances(struct tally_row *row, const struct tally_row *later)
{
    if (row->last != TIME_UNKNOWN && later->first != TIME_UNKNOWN && row->last <= later->first) {
        uint64_t distance = (uint64_t)later->first - (uint64_t)row->last;

        /* Of several longest ones, the first counts. */
        if (!row->distances || distance > row->distances->max)
            row->max_at = row->last;
        if (add_distance(&row->distances, distance) < 0)
            return -ENOMEM;
    }
    if (later->distances) {
        if (!row->distances || later->distances->max > row->distances->max)
            row->max_at = later->max_at;
        if (!row->distances)
            row->distances = calloc(1, sizeof *row->distances);
        if (!row->distances || histogram_merge(row->distances, later->distances) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int add_periods(struct tally *tally, struct tally_row *row, const struct tally_row *later)
{
    bool spans = tally->options.period_distances && row->n_periods > 0 && later->n_periods > 0 &&
                 later->first >= row->counted_until;

    for (const struct tally_period *from = later->periods; from; from = from->next) {
        struct tally_period *period = tally_find_period(tally, row, from->number);
        struct histogram *distances;

        if (!period)
            return -ENOMEM;
        period->count += from->count;
        if (!from->distances)
            continue;
        distances = tally_period_distances(tally, period);
        if (!distances || histogram_merge(distances, from->distances) < 0)
            return -ENOMEM;
    }
    if (spans) {
        struct tally_period *period =
            tally_find_period(tally, row, tally_period_number(tally, later->first));
        struct histogram *distances = period ? tally_period_distances(tally, period) : NULL;

        if (!distances ||
            histogram_add(distances, (uint64_t)later->first - (uint64_t)row->counted_until) < 0)
            return -ENOMEM;
    }
    if (later->n_periods > 0)
        row->counted_until = later->counted_until;
    row->period = NULL;
    return 0;
}

static int add_row(struct tally *tally, const struct tally_row *later,
                   const struct tally_counterparts *to)
{
    const struct origin *origin = origin_of(to, later->origin);
    const struct event_class *class = class_of(to, later->class);
    struct tally_row *row;
    unsigned number;
    int r;

    if (!origin || !class)
        return -ERANGE;
    r = find_row(tally, later, origin, class, to, &number);
    if (r < 0)
        return r;
    row = &tally->rows[number];
    if (row->count == 0) {
        row->first = row->last = TIME_UNKNOWN;
        row->origin = origin;
        row->class = class;
        row->cpu = later->cpu;
        row->pid = later->pid;
        row->vcpu = later->vcpu;
    }
    r = add_distances(row, later);
    if (r == 0)
        r = add_periods(tally, row, later);
    row->count += later->count;
    if (row->first == TIME_UNKNOWN)
        row->first = later->first;
    if (later->last != TIME_UNKNOWN)
        row->last = later->last;
    return r;
}

/* Converts GAP to the origin and class here. -ERANGE. */
static int to_here(struct tally_gap *gap, const struct tally_counterparts *to)
{
    if (!gap->class)
        return 0;
    gap->origin = origin_of(to, gap->origin);
    gap->class = class_of(to, gap->class);
    return gap->origin && gap->class ? 0 : -ERANGE;
}

static int add_gaps(struct tally *tally, const struct tally *later,
                    const struct tally_counterparts *to)
{
    int r = 0;

    if (!later->has_ended_gap) {
        tally->gap.lost |= later->gap.lost;
        return 0;
    }
    tally->gap.end = later->before.end;
    tally->gap.lost |= later->before.lost;
    if (!tally->has_ended_gap) {
        tally->has_ended_gap = true;
        tally->before = tally->gap;
    }
    if (tally->gap.class && tally->gap.end > tally->gap.begin)
        tally_keep_gap(tally, &tally->gap);
    for (unsigned i = 0; i < later->n_gaps && r == 0; i++) {
        struct tally_gap gap = later->gaps[i];

        r = to_here(&gap, to);
        if (r == 0)
            tally_keep_gap(tally, &gap);
    }
    tally->gap = later->gap;
    return r < 0 ? r : to_here(&tally->gap, to);
}

int tally_merge(struct tally *tally, const struct tally *later,
                const struct tally_counterparts *counterparts)
{
    int r = 0;

    if (tally->options.separate ||
        (tally->last != TIME_UNKNOWN && later->first != TIME_UNKNOWN && later->first < tally->last))
        return -ERANGE;
    if (tally->by == TALLY_BY_KEYS && later->n_rows > TALLY_KEY_ROWS_MAX)
        return -ERANGE;
    if (tally->periods_begin == TIME_UNKNOWN)
        tally->periods_begin = later->periods_begin;
    for (unsigned i = 0; i < later->n_rows && r == 0; i++)
        if (later->rows[i].count > 0)
            r = add_row(tally, &later->rows[i], counterparts);
    if (r == 0)
        r = tally_cover_merge(&tally->cover, &later->cover,
                              counterparts ? counterparts->origin : NULL,
                              counterparts ? counterparts->arg : NULL);
    if (r == 0 && tally->options.gaps > 0)
        r = add_gaps(tally, later, counterparts);
    if (r < 0)
        return r;
    tally->last_row = UINT32_MAX;
    tally->count += later->count;
    tally->n_without_keys += later->n_without_keys;
    tally->has_late_periods |= later->has_late_periods;
    if (tally->first == TIME_UNKNOWN)
        tally->first = later->first;
    if (later->last != TIME_UNKNOWN)
        tally->last = later->last;
    losses_merge(&tally->losses, &later->losses);
    for (unsigned i = 0; i < LAYERS; i++)
        losses_merge(&tally->layers.losses[i], &later->layers.losses[i]);
    return 0;
}
