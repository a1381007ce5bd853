/* SPDX-License-Identifier: MIT */
#pragma once

/* Rows while an index is built (index/format.h): of each, the block that fills is in memory, and the nodes. */

#include <stdbool.h>
#include <stddef.h>

#include "index/format.h"
#include "index/writer.h"

struct node_level {
    struct slice_node *nodes;
    size_t n, room;
};

#define LEVELS_MAX 20 /* for 2^64 slices */

struct row_slice {
    int64_t begin, end;
    uint32_t name;
    uint8_t flags; /* enum index_flags */
};

struct slice_row {
    uint64_t n;
    int64_t last; /* the end of the last one */
    unsigned n_block;
    unsigned n_levels;
    bool is_states; /* names are states, which have flags of their own */
    struct node_level levels[LEVELS_MAX];
    struct row_slice block[BLOCK_SLICES];
};

/* A state's flags, which are not stored. */
uint8_t state_flags(uint32_t state);

/* NULL when memory is out. */
struct slice_row *slice_row_new(bool is_states);
/* What begins before the end of the slice before it, or ends before it begins, is cut to there. 0, -ENOMEM. */
int slice_row_put(struct slice_row *row, struct index_writer *writer, struct row_slice slice);
/* Nothing follows. */
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

/* Times that step back become that of the one before. 0, -ENOMEM. */
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

/* The same as value_row_put() of an event. */
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
