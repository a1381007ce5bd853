/* SPDX-License-Identifier: MIT */
/* Rows of values and events. */

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

/* Writes a block of two columns of N numbers. Returns its offset. */
static uint64_t put_columns(struct index_writer *writer, const uint64_t *first,
                            const uint64_t *second, unsigned n)
{
    uint8_t bytes[2 + BLOCK_VALUES * 2 * 8 + COLUMN_SLACK];
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
    struct value_node node = {.span = {values[0].time, values[n - 1].time},
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
        int64_t time = i > 0 ? values[i - 1].time : node.span.begin;
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

int event_row_flush(struct event_row *row, struct index_writer *writer)
{
    unsigned n = row->n_block;
    struct event_node node = {.span = {row->block[0], row->block[n - 1]}};
    uint64_t times[BLOCK_EVENTS];
    uint8_t bytes[BLOCK_EVENTS * 8 + ASCENDING_HIGH_BYTES(BLOCK_EVENTS) + COLUMN_SLACK];
    void *nodes = row->nodes;

    for (unsigned i = 0; i < n; i++)
        times[i] = ns_between(node.span.begin, row->block[i]);
    row->n_block = 0;
    if (grow(&nodes, row->n_nodes, &row->room, sizeof node) < 0)
        return -ENOMEM;
    row->nodes = nodes;
    node.offset = index_writer_put(writer, bytes, (size_t)(ascending_put(bytes, times, n) - bytes));
    row->nodes[row->n_nodes++] = node;
    return 0;
}
