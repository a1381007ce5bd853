/* SPDX-License-Identifier: MIT */
/* Rows of values and of events. */

#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"
#include "index/columns.h"
#include "index/rows.h"

static int grow(void **nodes, size_t n, size_t *room, size_t size)
{
    size_t more = *room ? *room * 2 : 4;
    void *bigger;

    if (n < *room)
        return 0;
    bigger = realloc(*nodes, more * size);
    if (!bigger)
        return -ENOMEM;
    *nodes = bigger;
    *room = more;
    return 0;
}

/* Writes a block of two columns of N numbers. Returns its place. */
static uint64_t put_columns(struct index_writer *writer, const uint64_t *first,
                            const uint64_t *second, unsigned n)
{
    uint8_t bytes[2 + MAX(BLOCK_VALUES, BLOCK_GROUPS) * 2 * 8 + COLUMN_SLACK];
    uint8_t *p = bytes + 2;

    bytes[0] = (uint8_t)column_width(first, n);
    bytes[1] = (uint8_t)column_width(second, n);
    p = column_put(p, first, n, bytes[0]);
    p = column_put(p, second, n, bytes[1]);
    return index_writer_put(writer, bytes, (size_t)(p - bytes));
}

static int flush_values(struct value_row *row, struct index_writer *writer)
{
    const struct row_value *values = row->block;
    unsigned n = row->n_block;
    struct value_node node = {.begin = values[0].time,
                              .end = values[n - 1].time,
                              .min = values[0].value,
                              .max = values[0].value,
                              .last = values[n - 1].value};
    uint64_t gaps[BLOCK_VALUES];
    uint64_t changes[BLOCK_VALUES];
    void *nodes = row->nodes;

    for (unsigned i = 1; i < n; i++) {
        node.min = MIN(node.min, values[i].value);
        node.max = MAX(node.max, values[i].value);
    }
    for (unsigned i = 0; i < n; i++) {
        int64_t time = i > 0 ? values[i - 1].time : node.begin;
        int64_t value = i > 0 ? values[i - 1].value : node.min;

        gaps[i] = ns_between(time, values[i].time);
        changes[i] = zigzag((uint64_t)values[i].value - (uint64_t)value);
    }
    row->n_block = 0;
    if (grow(&nodes, row->n_nodes, &row->room, sizeof node) < 0)
        return -ENOMEM;
    row->nodes = nodes;
    node.offset = put_columns(writer, gaps, changes, n);
    row->nodes[row->n_nodes++] = node;
    return 0;
}

int value_row_put(struct value_row *row, struct index_writer *writer, int64_t time, int64_t value)
{
    row->last = row->n ? MAX(row->last, time) : time;
    row->n++;
    row->block[row->n_block++] = (struct row_value){row->last, value};
    return row->n_block == BLOCK_VALUES ? flush_values(row, writer) : 0;
}

int value_row_finish(struct value_row *row, struct index_writer *writer)
{
    return row->n_block > 0 ? flush_values(row, writer) : 0;
}

static int flush_events(struct event_row *row, struct index_writer *writer)
{
    const struct row_group *groups = row->block;
    unsigned n = row->n_block;
    struct event_node node = {
        .begin = groups[0].first, .end = groups[n - 1].last, .n = row->n - row->n_written};
    uint64_t gaps[BLOCK_GROUPS];
    uint64_t durations[BLOCK_GROUPS];
    void *nodes = row->nodes;

    for (unsigned i = 0; i < n; i++) {
        gaps[i] = ns_between(i > 0 ? groups[i - 1].last : node.begin, groups[i].first);
        durations[i] = ns_between(groups[i].first, groups[i].last);
    }
    row->n_block = 0;
    if (grow(&nodes, row->n_nodes, &row->room, sizeof node) < 0)
        return -ENOMEM;
    row->nodes = nodes;
    node.offset = put_columns(writer, gaps, durations, n);
    row->nodes[row->n_nodes++] = node;
    row->n_written = row->n;
    return 0;
}

/* Ends the group that is full. */
static int end_group(struct event_row *row, struct index_writer *writer)
{
    row->n_group = 0;
    return ++row->n_block == BLOCK_GROUPS ? flush_events(row, writer) : 0;
}

int event_row_put_slow(struct event_row *row, struct index_writer *writer, int64_t time,
                       uint64_t n_losses)
{
    int r = 0;

    if (row->n_losses != n_losses)
        r = event_row_finish(row, writer);
    else if (row->n_group == GROUP_EVENTS)
        r = end_group(row, writer);
    row->n_losses = n_losses;
    row->last = row->n ? MAX(row->last, time) : time;
    row->n++;
    row->n_group++;
    row->block[row->n_block] = (struct row_group){row->last, row->last};
    return r;
}

int event_row_finish(struct event_row *row, struct index_writer *writer)
{
    int r = row->n_group > 0 ? end_group(row, writer) : 0;

    return r == 0 && row->n_block > 0 ? flush_events(row, writer) : r;
}
