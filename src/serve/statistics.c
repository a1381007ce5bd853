/* SPDX-License-Identifier: MIT */
#include "serve/statistics.h"

#include "serve/scan.h"

static struct statistics_row *get_row(struct statistics *statistics, uint32_t track, uint32_t name)
{
    uintptr_t number = (uintptr_t)map_get(&statistics->by_name, name);

    if (number)
        return &statistics->rows[number - 1];
    if (statistics->n == statistics->room) {
        unsigned room = statistics->room ? statistics->room * 2 : 64;
        struct statistics_row *rows = realloc(statistics->rows, room * sizeof *rows);

        if (!rows)
            return NULL;
        statistics->rows = rows;
        statistics->room = room;
    }
    if (map_put(&statistics->by_name, name, (void *)(uintptr_t)(statistics->n + 1)) < 0)
        return NULL;
    statistics->rows[statistics->n] =
        (struct statistics_row){.track = track, .name = name, .min = INT64_MAX};
    return &statistics->rows[statistics->n++];
}

static int add_slices(struct statistics *statistics, uint32_t track, const struct api_span *span,
                      const struct index_slice *slices, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const struct index_slice *slice = &slices[i];
        struct statistics_row *row = get_row(statistics, track, slice->name);
        int64_t duration = slice->end - slice->begin;
        int64_t within = MIN(slice->end, span->to) - MAX(slice->begin, span->from);

        if (!row)
            return -ENOMEM;
        row->n++;
        row->total += MAX(within, 0);
        row->sum += duration;
        row->min = MIN(row->min, duration);
        row->max = MAX(row->max, duration);
        if (statistics->n > STATISTICS_ROWS_MAX)
            return -E2BIG;
    }
    return 0;
}

int statistics_add(struct statistics *statistics, const struct exchange *x, uint32_t number,
                   const struct api_span *span)
{
    const struct index *index = x->generation->index;
    const struct index_track *track = index_track(index, number);
    int r = 0;

    for (unsigned depth = 0; depth < track->n_depths && r >= 0; depth++) {
        const struct index_slice *slices;
        struct scan scan;
        unsigned n;

        scan_init(&scan, index, number, depth, span->from, span->to,
                  STATISTICS_SLICES_MAX - statistics->n_slices);
        while (r >= 0 && (r = scan_next(&scan, &slices, &n)) > 0) {
            r = add_slices(statistics, number, span, slices, n);
            if (atomic_load(&x->server->stops))
                r = -ECANCELED;
        }
        statistics->n_slices += scan.n;
        scan_done(&scan);
    }
    map_done(&statistics->by_name);
    return MIN(r, 0);
}

static int by_total(const void *a, const void *b)
{
    const struct statistics_row *x = a, *y = b;

    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    return x->n != y->n ? (x->n < y->n ? 1 : -1) : 0;
}

void statistics_sort(struct statistics *statistics)
{
    if (statistics->n > 1)
        qsort(statistics->rows, statistics->n, sizeof *statistics->rows, by_total);
}

void statistics_done(struct statistics *statistics)
{
    map_done(&statistics->by_name);
    free(statistics->rows);
    *statistics = (struct statistics){0};
}
