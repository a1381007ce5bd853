/* SPDX-License-Identifier: MIT */
#pragma once

/* Rows of an index that is being built (index/format.h). Memory holds each row's nodes and its current block. */

#include <stdbool.h>
#include <stddef.h>

#include "index/format.h"
#include "index/writer.h"

struct node_level {
    struct slice_node *nodes;
    size_t n, room;
};

#define LEVELS_MAX 20 /* enough for 2^64 slices */

struct row_slice {
    int64_t begin, end;
    uint32_t name;
    uint8_t flags; /* enum index_flags */
};

struct slice_row {
    uint64_t n;
    int64_t last; /* end of the last slice */
    unsigned n_block;
    unsigned n_levels;
    bool is_states; /* names are states, which determine the flags */
    struct node_level levels[LEVELS_MAX];
    struct row_slice block[BLOCK_SLICES];
};

/* Returns a state's flags, which are not stored. */
uint8_t state_flags(uint32_t state);

/* NULL if out of memory. */
struct slice_row *slice_row_new(bool is_states);
/* Adds a slice. Its begin is moved to the end of the previous slice if it is earlier, and its end to its begin if it is
 * earlier. 0, -ENOMEM. */
int slice_row_put(struct slice_row *row, struct index_writer *writer, struct row_slice slice);
/* Ends the row. */
int slice_row_finish(struct slice_row *row, struct index_writer *writer);
size_t slice_row_nodes(const struct slice_row *row);
void slice_row_write_nodes(const struct slice_row *row, struct index_writer *writer);
void slice_row_free(struct slice_row *row);

struct value_row {
    uint64_t n;
    int64_t last;
    struct value_node *nodes;
    size_t n_nodes, room;
    unsigned n_block;
    struct row_value {
        int64_t time, value;
    } block[BLOCK_VALUES];
};

/* Adds a value. A time before the previous one becomes the previous time. 0, -ENOMEM. */
int value_row_put(struct value_row *row, struct index_writer *writer, int64_t time, int64_t value);
int value_row_finish(struct value_row *row, struct index_writer *writer);

struct event_row {
    uint64_t n;
    int64_t last;
    struct event_node *nodes;
    size_t n_nodes, room;
    unsigned n_block;
    int64_t block[BLOCK_EVENTS];
};

int event_row_flush(struct event_row *row, struct index_writer *writer);

/* As value_row_put(), for an event. */
static inline int event_row_put(struct event_row *row, struct index_writer *writer, int64_t time)
{
    row->last = row->n && time < row->last ? row->last : time;
    row->n++;
    row->block[row->n_block++] = row->last;
    return row->n_block == BLOCK_EVENTS ? event_row_flush(row, writer) : 0;
}

static inline int event_row_finish(struct event_row *row, struct index_writer *writer)
{
    return row->n_block > 0 ? event_row_flush(row, writer) : 0;
}
