/* SPDX-License-Identifier: MIT */
/* Rows of values and of events. */

#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"
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

static int flush_values(struct value_row *row, struct index_writer *writer)
{
    uint8_t bytes[BLOCK_VALUES * 2 * VARINT_MAX];
    const struct row_value *values = row->block;
    struct value_node node = {.begin = values[0].time,
                              .end = values[row->n_block - 1].time,
                              .min = values[0].value,
                              .max = values[0].value,
                              .last = values[row->n_block - 1].value};
    int64_t time = node.begin;
    uint8_t *p = bytes;
    int64_t value = 0;
    void *nodes = row->nodes;

    for (unsigned i = 0; i < row->n_block; i++) {
        p = varint_put(p, ns_between(time, values[i].time));
        p = varint_put(p, zigzag((uint64_t)values[i].value - (uint64_t)value));
        time = values[i].time;
        value = values[i].value;
        node.min = MIN(node.min, value);
        node.max = MAX(node.max, value);
    }
    row->n_block = 0;
    if (grow(&nodes, row->n_nodes, &row->room, sizeof node) < 0)
        return -ENOMEM;
    row->nodes = nodes;
    node.offset = index_writer_put(writer, bytes, (size_t)(p - bytes));
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
    uint8_t bytes[BLOCK_GROUPS * 2 * VARINT_MAX];
    const struct row_group *groups = row->block;
    struct event_node node = {.begin = groups[0].first,
                              .end = groups[row->n_block - 1].last,
                              .n = row->n - row->n_written};
    int64_t time = node.begin;
    uint8_t *p = bytes;
    void *nodes = row->nodes;

    for (unsigned i = 0; i < row->n_block; i++) {
        p = varint_put(p, ns_between(time, groups[i].first));
        p = varint_put(p, ns_between(groups[i].first, groups[i].last));
        time = groups[i].last;
    }
    row->n_block = 0;
    if (grow(&nodes, row->n_nodes, &row->room, sizeof node) < 0)
        return -ENOMEM;
    row->nodes = nodes;
    node.offset = index_writer_put(writer, bytes, (size_t)(p - bytes));
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
