/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "analysis/states/states.h"
#include "base/macro.h"
#include "index/columns.h"
#include "index/index.h"
#include "index/rows.h"
#include "index/top_names.h"

uint8_t state_flags(uint32_t state)
{
    return state == STATE_UNKNOWN ? INDEX_UNKNOWN : state == STATE_IDLE ? INDEX_IDLE : 0;
}

struct slice_row *slice_row_new(bool is_states)
{
    struct slice_row *row = calloc(1, sizeof *row);

    if (!row)
        return NULL;
    row->last = INT64_MIN;
    row->is_states = is_states;
    return row;
}

void slice_row_free(struct slice_row *row)
{
    if (!row)
        return;
    for (unsigned i = 0; i < row->n_levels; i++)
        free(row->levels[i].nodes);
    free(row);
}

static int push_node(struct slice_row *row, unsigned level, const struct slice_node *node);

/* Adds a node over the last N nodes of LEVEL. */
static int push_parent(struct slice_row *row, unsigned level, size_t n)
{
    const struct node_level *from = &row->levels[level];
    const struct slice_node *children = from->nodes + from->n - n;
    struct slice_node node = {.begin = children[0].begin, .end = children[n - 1].end};
    struct top_names tops = {0};

    for (size_t i = 0; i < n; i++) {
        top_names_put_node(&tops, &children[i]);
        node.where |= children[i].where & 0xff;
    }
    node.name = top_names_best(&tops, &node.top);
    node.covered = share_of(tops.covered, ns_between(node.begin, node.end));
    return push_node(row, level + 1, &node);
}

/* The recursion is as deep as there are levels. */
// NOLINTNEXTLINE(misc-no-recursion)
static int push_node(struct slice_row *row, unsigned level, const struct slice_node *node)
{
    struct node_level *to = &row->levels[level];

    if (to->n == to->room) {
        size_t room = to->room ? to->room * 2 : 4;
        struct slice_node *bigger = realloc(to->nodes, room * sizeof *bigger);

        if (!bigger)
            return -ENOMEM;
        to->nodes = bigger;
        to->room = room;
        row->n_levels = MAX(row->n_levels, level + 1);
    }
    to->nodes[to->n++] = *node;
    return to->n % NODE_CHILDREN == 0 ? push_parent(row, level, NODE_CHILDREN) : 0;
}

/* The different names of a block, with their flags. */
struct palette {
    unsigned n;
    uint32_t names[BLOCK_SLICES];
    uint8_t flags[BLOCK_SLICES];
    uint64_t times[BLOCK_SLICES];
};

/* Returns the number of NAME with FLAGS. Adds DURATION to its time. */
static unsigned palette_put(struct palette *palette, uint32_t name, uint8_t flags,
                            uint64_t duration)
{
    unsigned i = 0;

    while (i < palette->n && (palette->names[i] != name || palette->flags[i] != flags))
        i++;
    if (i == palette->n) {
        palette->names[i] = name;
        palette->flags[i] = flags;
        palette->times[i] = 0;
        palette->n++;
    }
    palette->times[i] += duration;
    return i;
}

static uint8_t *palette_write(const struct palette *palette, uint8_t *p)
{
    for (unsigned i = 0; i < palette->n; i++) {
        p = varint_put(p, (uint64_t)palette->names[i] << 1 | (palette->flags[i] != 0));
        if (palette->flags[i])
            *p++ = palette->flags[i];
    }
    return p;
}

/* Three widths; names with flags; three columns. */
#define BLOCK_BYTES (3 + BLOCK_SLICES * (VARINT_MAX + 1) + BLOCK_SLICES * 3 * 8 + COLUMN_SLACK)

static int flush_block(struct slice_row *row, struct index_writer *writer)
{
    const struct row_slice *slices = row->block;
    unsigned n = row->n_block;
    struct slice_node node = {.begin = slices[0].begin, .end = slices[n - 1].end};
    uint64_t gaps[BLOCK_SLICES];
    uint64_t durations[BLOCK_SLICES];
    uint64_t names[BLOCK_SLICES];
    uint8_t bytes[BLOCK_BYTES];
    uint8_t *p = bytes;
    int64_t before = node.begin;
    struct palette palette;
    struct top_names tops = {0};
    uint64_t last_name;
    uint8_t all = 0;

    palette.n = 0;
    for (unsigned i = 0; i < n; i++) {
        const struct row_slice *slice = &slices[i];
        uint8_t known = row->is_states ? state_flags(slice->name) : 0;
        uint8_t flags = slice->flags & (uint8_t)~known;

        gaps[i] = ns_between(before, slice->begin);
        durations[i] = ns_between(slice->begin, slice->end);
        names[i] = palette_put(&palette, slice->name, flags, durations[i]);
        before = slice->end;
        all |= flags | known;
    }
    last_name = palette.n - 1;
    *p++ = (uint8_t)column_width(gaps, n);
    *p++ = (uint8_t)column_width(durations, n);
    *p++ = (uint8_t)palette.n;
    p = palette_write(&palette, p);
    p = column_put(p, gaps, n, bytes[0]);
    p = column_put(p, durations, n, bytes[1]);
    p = column_put(p, names, n, column_width(&last_name, 1));
    for (unsigned i = 0; i < palette.n; i++)
        top_names_put(&tops, palette.names[i], palette.times[i]);
    node.name = top_names_best(&tops, &node.top);
    node.covered = share_of(tops.covered, ns_between(node.begin, node.end));
    node.where = index_writer_put(writer, bytes, (size_t)(p - bytes)) << 8 | all;
    row->n_block = 0;
    return push_node(row, 0, &node);
}

int slice_row_put(struct slice_row *row, struct index_writer *writer, struct row_slice slice)
{
    slice.begin = MAX(slice.begin, row->last);
    slice.end = MAX(slice.end, slice.begin);
    row->last = slice.end;
    row->block[row->n_block++] = slice;
    row->n++;
    return row->n_block == BLOCK_SLICES ? flush_block(row, writer) : 0;
}

int slice_row_finish(struct slice_row *row, struct index_writer *writer)
{
    int r = row->n_block > 0 ? flush_block(row, writer) : 0;

    for (unsigned i = 0; r == 0 && i < row->n_levels && row->levels[i].n > 1; i++)
        if (row->levels[i].n % NODE_CHILDREN != 0)
            r = push_parent(row, i, row->levels[i].n % NODE_CHILDREN);
    return r;
}

size_t slice_row_nodes(const struct slice_row *row)
{
    size_t n = 0;

    for (unsigned i = 0; i < row->n_levels; i++)
        n += row->levels[i].n;
    return n;
}

void slice_row_write_nodes(const struct slice_row *row, struct index_writer *writer)
{
    for (unsigned i = 0; i < row->n_levels; i++)
        index_writer_put(writer, row->levels[i].nodes,
                         row->levels[i].n * sizeof *row->levels[i].nodes);
}
