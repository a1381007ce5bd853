/* SPDX-License-Identifier: MIT */
/* index_counts() and index_values(). */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/wide.h"
#include "index/columns.h"
#include "index/internal.h"

/* How many nodes ahead of the current node blocks are prefetched, and how many bytes of them. */
#define NODES_AHEAD 32u
#define VALUE_BYTES_USUAL 384u
#define EVENT_BYTES_USUAL 256u

struct counting {
    const struct index *index;
    struct grid grid;
    struct period period;
    struct period ahead; /* of the node ahead */
    uint64_t *counts;
};

static void count(struct counting *counting, int64_t ns, uint64_t n)
{
    if (biased(ns) < counting->grid.begin)
        return;
    grid_seek(&counting->grid, biased(ns), &counting->period);
    if (counting->period.number < counting->grid.parts)
        counting->counts[counting->period.number] += n;
}

/* True if everything from BEGIN to END is in one period, or outside of all periods. */
static bool is_in_one(const struct grid *grid, struct period *period, int64_t begin, int64_t end)
{
    if (biased(begin) < grid->begin)
        return biased(end) < grid->begin;
    grid_seek(grid, biased(begin), period);
    return biased(end) <= period->end;
}

static int count_slices(void *arg, const struct walked_slice *slices, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        count(arg, slices[i].begin, 1);
    return 0;
}

static int count_node(void *arg, const struct slice_node *node, uint64_t n)
{
    count(arg, node->begin, n);
    return 0;
}

/* Reads the block at OFFSET, with two columns of N numbers. */
static int read_columns(const struct index *index, uint64_t offset, unsigned n, uint64_t *ret_first,
                        uint64_t *ret_second)
{
    const uint8_t *end = index->map + index->size;
    const uint8_t *head;
    const uint8_t *p;

    if (offset > index->size || index->size - offset < 2)
        return -EINVAL;
    head = index->map + offset;
    p = head + 2;
    return column_get(&p, end, head[0], n, ret_first) && column_get(&p, end, head[1], n, ret_second)
               ? 0
               : -EINVAL;
}

/* Returns the end of node I, biased(). Nodes of all kinds begin with their span. */
static uint64_t node_end(const void *nodes, size_t size, uint64_t i)
{
    return biased(((const struct node_span *)(const void *)((const char *)nodes + i * size))->end);
}

/* Returns the number of the first of N nodes of SIZE bytes, from FIRST on, that ends at or after NS, biased(); or N. A
 * near node is found in few steps. */
static uint64_t find_node(const void *nodes, size_t size, uint64_t first, uint64_t n, uint64_t ns)
{
    uint64_t low = first;
    uint64_t step = 1;

    while (step < n - low && node_end(nodes, size, low + step - 1) < ns) {
        low += step;
        step *= 2;
    }
    n = MIN(n, low + step);
    while (low < n) {
        uint64_t mid = low + (n - low) / 2;

        if (node_end(nodes, size, mid) < ns)
            low = mid + 1;
        else
            n = mid;
    }
    return low;
}

/* ---- events ---- */

/* A block whose events may be in several periods. It is read some nodes later, when it is in the CPU's cache. */
struct event_visit {
    const struct event_node *node;
    unsigned n; /* number of events */
};

/* Returns the first of N ascending numbers, from FIRST on, that is not less than LIMIT. */
static unsigned find_number(const uint64_t *numbers, unsigned first, unsigned n, uint64_t limit)
{
    while (first < n) {
        unsigned mid = first + (n - first) / 2;

        if (numbers[mid] < limit)
            first = mid + 1;
        else
            n = mid;
    }
    return first;
}

static int count_block(struct counting *counting, const struct event_visit *visit)
{
    const struct index *index = counting->index;
    const struct node_span *span = &visit->node->span;
    const uint8_t *p = index->map + MIN(visit->node->offset, (uint64_t)index->size);
    uint64_t first = biased(span->begin);
    uint64_t since[BLOCK_EVENTS];
    unsigned i = 0;

    if (span->end < span->begin ||
        !ascending_get(&p, index->map + index->size, ns_between(span->begin, span->end), visit->n,
                       since))
        return -EINVAL;
    if (first < counting->grid.begin)
        i = find_number(since, 0, visit->n, counting->grid.begin - first);
    while (i < visit->n) {
        unsigned next;

        grid_seek(&counting->grid, first + since[i], &counting->period);
        if (counting->period.number >= counting->grid.parts)
            break;
        next = find_number(since, i + 1, visit->n, counting->period.end + 1 - first);
        counting->counts[counting->period.number] += next - i;
        i = next;
    }
    return 0;
}

static int count_events(struct counting *counting, uint32_t track, unsigned number)
{
    const struct grid *grid = &counting->grid;
    const void *table;
    uint64_t n_nodes;
    const struct file_row *row = index_row(counting->index, track, number, SECTION_EVENTS,
                                           sizeof(struct event_node), &table, &n_nodes);
    const struct event_node *nodes = table;
    uint64_t n = n_parts(row->n, BLOCK_EVENTS);
    struct event_visit visits[NODES_AHEAD]; /* a ring */
    unsigned n_visits = 0;
    unsigned n_visited = 0;
    uint64_t next;
    int r = 0;

    if (n > n_nodes)
        return -EINVAL;
    for (uint64_t i = find_node(nodes, sizeof *nodes, 0, n, grid->begin); i < n && r == 0;
         i = next) {
        const struct event_node *node = &nodes[i];

        next = i + 1;
        if (biased(node->span.begin) >= grid->begin) {
            grid_seek(grid, biased(node->span.begin), &counting->ahead);
            if (counting->ahead.number >= grid->parts)
                break;
            if (biased(node->span.end) <= counting->ahead.end) {
                next = find_node(nodes, sizeof *nodes, next, n, counting->ahead.end + 1);
                counting->counts[counting->ahead.number] +=
                    MIN(row->n, next * BLOCK_EVENTS) - i * BLOCK_EVENTS;
                continue;
            }
        }
        if (n_visits - n_visited == NODES_AHEAD)
            r = count_block(counting, &visits[n_visited++ % NODES_AHEAD]);
        visits[n_visits++ % NODES_AHEAD] = (struct event_visit){
            node, (unsigned)MIN(row->n - i * BLOCK_EVENTS, (uint64_t)BLOCK_EVENTS)};
        index_prefetch(counting->index, node->offset, EVENT_BYTES_USUAL);
    }
    while (r == 0 && n_visited != n_visits)
        r = count_block(counting, &visits[n_visited++ % NODES_AHEAD]);
    return r;
}

/* ---- values ---- */

struct values {
    const struct index *index;
    struct grid grid;
    int64_t from, to;
    int (*put)(struct values *values, const struct index_value *value);
    struct counting *counting;
    struct index_value *list;
    unsigned n, room;
    struct period period;      /* of the last entry in the list */
    struct period node_period; /* of the last node */
    struct period ahead;       /* of the node ahead */
    bool has_period;
    bool has_before;
    struct index_value before; /* the last value before FROM */
};

static int walk_value_block(struct values *values, const struct value_node *node, uint64_t n)
{
    uint64_t gaps[BLOCK_VALUES];
    uint64_t changes[BLOCK_VALUES];
    int64_t time = node->span.begin;
    int64_t v = node->min;
    int r = read_columns(values->index, node->offset, (unsigned)n, gaps, changes);

    for (unsigned i = 0; i < n && r == 0; i++) {
        struct index_value value = {.time = (int64_t)((uint64_t)time + gaps[i])};

        if (value.time < time)
            return -EINVAL;
        time = value.time;
        v = (int64_t)((uint64_t)v + unzigzag(changes[i]));
        value.min = value.max = value.last = v;
        r = values->put(values, &value);
    }
    return r;
}

static int walk_values(struct values *values, uint32_t track)
{
    const void *table;
    uint64_t n_nodes;
    const struct file_row *row = index_row(values->index, track, 0, SECTION_VALUES,
                                           sizeof(struct value_node), &table, &n_nodes);
    const struct value_node *nodes = table;
    uint64_t n = n_parts(row->n, BLOCK_VALUES);
    uint64_t i;
    int r = 0;

    if (n > n_nodes)
        return -EINVAL;
    i = find_node(nodes, sizeof *nodes, 0, n, biased(values->from));
    for (i -= i > 0; i < n && r == 0 && nodes[i].span.begin <= values->to; i++) {
        const struct value_node *node = &nodes[i];

        if (values->grid.width && n - i > NODES_AHEAD &&
            !is_in_one(&values->grid, &values->ahead, node[NODES_AHEAD].span.begin,
                       node[NODES_AHEAD].span.end))
            index_prefetch(values->index, node[NODES_AHEAD].offset, VALUE_BYTES_USUAL);
        if (values->list && values->grid.width && node->span.begin >= values->from &&
            node->span.end <= values->to &&
            is_in_one(&values->grid, &values->node_period, node->span.begin, node->span.end))
            r = values->put(
                values, &(struct index_value){node->span.begin, node->min, node->max, node->last});
        else
            r = walk_value_block(values, node,
                                 MIN(row->n - i * BLOCK_VALUES, (uint64_t)BLOCK_VALUES));
    }
    return r;
}

static int count_value(struct values *values, const struct index_value *value)
{
    count(values->counting, value->time, 1);
    return 0;
}

static int append_value(struct values *values, const struct index_value *value)
{
    if (values->n == values->room) {
        unsigned room = values->room ? values->room * 2 : 64;
        struct index_value *bigger =
            room > values->room ? realloc(values->list, room * sizeof *bigger) : NULL;

        if (!bigger)
            return -ENOMEM;
        values->list = bigger;
        values->room = room;
    }
    values->list[values->n++] = *value;
    return 0;
}

static int put_value(struct values *values, const struct index_value *value)
{
    struct index_value *last;

    if (value->time < values->from) {
        values->has_before = true;
        values->before = *value;
        return 0;
    }
    if (value->time > values->to)
        return 0;
    if (values->has_before) {
        int r = append_value(values, &values->before);

        values->has_before = false;
        if (r < 0)
            return r;
    }
    last = values->n > 0 ? &values->list[values->n - 1] : NULL;
    if (last && values->has_period && period_has(&values->period, biased(value->time))) {
        last->min = MIN(last->min, value->min);
        last->max = MAX(last->max, value->max);
        last->last = value->last;
        return 0;
    }
    if (values->grid.width) {
        values->has_period = true;
        grid_seek(&values->grid, biased(value->time), &values->period);
    }
    return append_value(values, value);
}

int index_values(const struct index *index, uint32_t track, int64_t from, int64_t to,
                 int64_t resolution, struct index_value **ret_values, unsigned *ret_n)
{
    const struct index_track *found = index_track(index, track);
    struct values values = {.index = index,
                            .grid = {.width = resolution > 0 ? (uint64_t)resolution : 0},
                            .from = from,
                            .to = to,
                            .put = put_value,
                            .room = 64};
    int r = 0;

    values.list = malloc(values.room * sizeof *values.list);
    if (!values.list)
        return -ENOMEM;
    if (found && found->kind == INDEX_COUNTER && index->file_tracks[track].n_rows > 0 && to >= from)
        r = walk_values(&values, track);
    if (r >= 0 && values.has_before)
        r = append_value(&values, &values.before);
    if (r < 0) {
        free(values.list);
        return r;
    }
    *ret_values = values.list;
    *ret_n = values.n;
    return 0;
}

/* ---- counts of any track ---- */

int index_counts(const struct index *index, uint32_t track, int64_t from, int64_t to, unsigned n,
                 uint64_t *ret_counts)
{
    const struct index_track *found = index_track(index, track);
    struct counting counting = {
        .index = index,
        .grid = {.begin = biased(from), .width = ns_between(from, to), .parts = n},
        .counts = ret_counts,
    };
    int r = 0;

    if (n > 0)
        memset(ret_counts, 0, n * sizeof *ret_counts);
    if (!found || to <= from || n == 0)
        return 0;
    for (unsigned i = 0; i < index->file_tracks[track].n_rows && r == 0; i++) {
        struct slice_walk walk = {.from = from,
                                  .to = to,
                                  .grid = &counting.grid,
                                  .slices = count_slices,
                                  .node = count_node,
                                  .arg = &counting};
        struct values values = {
            .index = index, .from = from, .to = to, .put = count_value, .counting = &counting};

        switch (found->kind) {
        case INDEX_GROUP: break;
        case INDEX_EVENTS: r = count_events(&counting, track, i); break;
        case INDEX_COUNTER: r = walk_values(&values, track); break;
        default: r = slice_walk(&walk, index, track, i); break;
        }
    }
    return r;
}
