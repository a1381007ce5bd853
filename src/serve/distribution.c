/* SPDX-License-Identifier: MIT */
#include "serve/distribution.h"

#include "base/wide.h"
#include "serve/scan.h"

int distribution_init(struct distribution *distribution, const struct distribution_query *query)
{
    *distribution = (struct distribution){.query = *query, .min = UINT64_MAX};
    distribution->cells = calloc((size_t)query->columns * DISTRIBUTION_ROWS, sizeof(uint32_t));
    distribution->names = calloc(DISTRIBUTION_NAMES_MAX, sizeof *distribution->names);
    distribution->slowest = calloc((size_t)query->n_slowest + 1, sizeof *distribution->slowest);
    return distribution->cells && distribution->names && distribution->slowest ? 0 : -ENOMEM;
}

void distribution_done(struct distribution *distribution)
{
    for (unsigned i = 0; i < distribution->n_names; i++)
        histogram_done(&distribution->names[i].durations);
    histogram_done(&distribution->durations);
    map_done(&distribution->by_name);
    free(distribution->cells);
    free(distribution->names);
    free(distribution->slowest);
    *distribution = (struct distribution){0};
}

/* Orders the list: the longest first, then the earliest. */
static int compare_slowest(const void *a, const void *b)
{
    const struct distribution_slice *x = a, *y = b;
    int64_t p = x->slice.end - x->slice.begin;
    int64_t q = y->slice.end - y->slice.begin;

    if (p != q)
        return p > q ? -1 : 1;
    if (x->slice.begin != y->slice.begin)
        return x->slice.begin < y->slice.begin ? -1 : 1;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    return (int)x->depth - (int)y->depth;
}

/* True if A is nearer to the top of the heap, from which slices are dropped. */
static bool drops_before(const struct distribution_slice *a, const struct distribution_slice *b)
{
    return compare_slowest(a, b) > 0;
}

static void swap(struct distribution_slice *heap, unsigned i, unsigned j)
{
    struct distribution_slice slice = heap[i];

    heap[i] = heap[j];
    heap[j] = slice;
}

static void sift_down(struct distribution_slice *heap, unsigned n)
{
    for (unsigned i = 0, child = 1; child < n; i = child, child = 2 * i + 1) {
        if (child + 1 < n && drops_before(&heap[child + 1], &heap[child]))
            child++;
        if (!drops_before(&heap[child], &heap[i]))
            break;
        swap(heap, i, child);
    }
}

static void keep_slowest(struct distribution *distribution, const struct distribution_slice *slice)
{
    struct distribution_slice *heap = distribution->slowest;

    if (distribution->query.n_slowest == 0)
        return;
    if (distribution->n_slowest < distribution->query.n_slowest) {
        unsigned i = distribution->n_slowest++;

        heap[i] = *slice;
        for (; i > 0 && drops_before(&heap[i], &heap[(i - 1) / 2]); i = (i - 1) / 2)
            swap(heap, i, (i - 1) / 2);
    } else if (drops_before(&heap[0], slice)) {
        heap[0] = *slice;
        sift_down(heap, distribution->n_slowest);
    }
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static int add_to_name(struct distribution *distribution, uint32_t name, uint64_t duration)
{
    uintptr_t number = (uintptr_t)map_get(&distribution->by_name, name);
    struct distribution_name *of;

    if (!number) {
        if (distribution->n_names == DISTRIBUTION_NAMES_MAX) {
            distribution->n_unnamed++;
            return 0;
        }
        number = distribution->n_names + 1;
        if (map_put(&distribution->by_name, name, (void *)number) < 0)
            return -ENOMEM;
        distribution->names[distribution->n_names++].name = name;
    }
    of = &distribution->names[number - 1];
    of->sum = add_saturated(of->sum, duration);
    return histogram_add(&of->durations, duration);
}

static unsigned column_of(const struct distribution_query *query, int64_t time)
{
    uint64_t since = (uint64_t)time - (uint64_t)query->span.from;
    uint64_t length = (uint64_t)query->span.to - (uint64_t)query->span.from;

    return (unsigned)wide_low(wide_div(wide_mul(wide_of_u64(since), wide_of(query->columns)),
                                       wide_add(wide_of_u64(length), wide_of(1))));
}

static bool has_name(const struct distribution_query *query, uint32_t name, uint32_t n_names)
{
    return !query->names || (name < n_names && query->names[name / 8] >> name % 8 & 1);
}

static int add_slice(struct distribution *distribution, const struct distribution_slice *one)
{
    const struct distribution_query *query = &distribution->query;
    const struct index_slice *slice = &one->slice;
    uint64_t duration = (uint64_t)slice->end - (uint64_t)slice->begin;
    size_t cell;
    int r;

    if (slice->flags & (INDEX_CUT | INDEX_OPEN | INDEX_NO_BEGIN)) {
        distribution->n_cut++;
        return 0;
    }
    if (slice->begin < query->span.from || slice->begin > query->span.to) {
        distribution->n_partly++;
        return 0;
    }
    if (slice->begin < query->begins.from || slice->begin > query->begins.to ||
        duration < (uint64_t)query->shortest || duration > (uint64_t)query->longest)
        return 0;
    r = histogram_add(&distribution->durations, duration);
    if (r == 0)
        r = add_to_name(distribution, slice->name, duration);
    distribution->sum = add_saturated(distribution->sum, duration);
    distribution->min = MIN(distribution->min, duration);
    cell = (size_t)column_of(query, slice->begin) * DISTRIBUTION_ROWS +
           histogram_bucket(duration) / DISTRIBUTION_ROW_BUCKETS;
    distribution->cells[cell]++;
    keep_slowest(distribution, one);
    return r;
}

static int add_depth(struct distribution *distribution, const struct exchange *x, uint32_t track,
                     unsigned depth)
{
    const struct distribution_query *query = &distribution->query;
    uint32_t n_names = index_summary(x->generation->index)->n_names;
    const struct index_slice *slices;
    struct scan scan;
    unsigned n;
    int r;

    scan_init(&scan, x->generation->index, track, depth, query->span.from, query->span.to,
              DISTRIBUTION_SLICES_MAX - distribution->n_slices);
    while ((r = scan_next(&scan, &slices, &n)) > 0) {
        for (unsigned i = 0; i < n && r >= 0; i++)
            if (has_name(query, slices[i].name, n_names))
                r = add_slice(distribution, &(struct distribution_slice){track, depth, slices[i]});
        if (r >= 0 && atomic_load(&x->server->stops))
            r = -ECANCELED;
        if (r < 0)
            break;
    }
    distribution->n_slices += scan.n;
    scan_done(&scan);
    return r;
}

int distribution_add(struct distribution *distribution, const struct exchange *x, uint32_t track)
{
    unsigned n_depths = index_track(x->generation->index, track)->n_depths;
    int r = 0;

    for (unsigned depth = 0; depth < n_depths && r >= 0; depth++)
        r = add_depth(distribution, x, track, depth);
    return r;
}

static int compare_names(const void *a, const void *b)
{
    const struct distribution_name *x = a, *y = b;

    if (x->sum != y->sum)
        return x->sum > y->sum ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

void distribution_sort(struct distribution *distribution)
{
    if (distribution->n_slowest > 1)
        qsort(distribution->slowest, distribution->n_slowest, sizeof *distribution->slowest,
              compare_slowest);
    if (distribution->n_names > 1)
        qsort(distribution->names, distribution->n_names, sizeof *distribution->names,
              compare_names);
    map_done(&distribution->by_name);
}
