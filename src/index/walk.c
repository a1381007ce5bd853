/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/wide.h"
#include "index/columns.h"
#include "index/internal.h"
#include "index/rows.h"

#define BLOCK_BYTES_USUAL (BLOCK_SLICES * 4)

/* The number of slices below a node of LEVEL. */
static uint64_t slices_per_node(unsigned level)
{
    uint64_t n = BLOCK_SLICES;

    while (level-- > 0)
        n *= NODE_CHILDREN;
    return n;
}

static uint64_t slices_of(const struct slice_walk *walk, unsigned level, uint64_t i)
{
    uint64_t per = slices_per_node(level);
    uint64_t left = walk->n - i * per;

    return left < per ? left : per;
}

static uint64_t divide_up(wide v, uint64_t by)
{
    return wide_low(wide_div(wide_add(v, wide_of_u64(by - 1)), wide_of_u64(by)));
}

void grid_find(const struct grid *grid, uint64_t ns, struct period *period)
{
    uint64_t since = ns - grid->begin;
    wide first, next;

    if (grid->parts == 0) {
        period->number = since / grid->width;
        period->begin = ns - since % grid->width;
        period->end = period->begin > UINT64_MAX - (grid->width - 1)
                          ? UINT64_MAX
                          : period->begin + (grid->width - 1);
        return;
    }
    if (since >= grid->width) {
        *period = (struct period){grid->parts, grid->begin + grid->width, UINT64_MAX};
        return;
    }
    period->number = mul_div_u64(since, grid->parts, grid->width);
    /* Period i is from the first time at which that is i. */
    first = wide_mul(wide_of_u64(period->number), wide_of_u64(grid->width));
    next = wide_add(first, wide_of_u64(grid->width));
    period->begin = grid->begin + divide_up(first, grid->parts);
    period->end = grid->begin + divide_up(next, grid->parts) - 1;
}

static bool is_in_one_period(struct slice_walk *walk, const struct slice_node *node)
{
    const struct grid *grid = walk->grid;
    uint64_t begin = biased(node->begin);

    /* What begins before all periods is in none. */
    if (grid->width == 0 || begin < grid->begin)
        return false;
    grid_seek(grid, begin, &walk->period);
    return biased(node->end) <= walk->period.end;
}

/* A block that was read. */
struct block {
    uint64_t gaps[BLOCK_SLICES];
    uint64_t durations[BLOCK_SLICES];
    uint64_t which[BLOCK_SLICES]; /* index in `names` */
    unsigned n_names;
    uint32_t names[BLOCK_SLICES];
    uint8_t flags[BLOCK_SLICES];
};

static bool read_names(struct block *block, const uint8_t **p, const uint8_t *end, bool is_states)
{
    for (unsigned i = 0; i < block->n_names; i++) {
        uint64_t name;

        if (!varint_get(p, end, &name) || ((name & 1) && *p == end) || name >> 1 > UINT32_MAX)
            return false;
        block->names[i] = (uint32_t)(name >> 1);
        block->flags[i] = name & 1 ? *(*p)++ : 0;
        if (is_states)
            block->flags[i] |= state_flags(block->names[i]);
        block->flags[i] &= (uint8_t)~INDEX_MANY;
    }
    return true;
}

/* Reads the block of N slices at OFFSET. */
static int read_block(const struct slice_walk *walk, uint64_t offset, unsigned n,
                      struct block *block)
{
    const uint8_t *end = walk->index->map + walk->index->size;
    const uint8_t *head;
    const uint8_t *p;
    uint64_t last;

    if (offset > walk->index->size || walk->index->size - offset < 3)
        return -EINVAL;
    head = walk->index->map + offset;
    p = head + 3;
    if (head[2] == 0 || head[2] > BLOCK_SLICES)
        return -EINVAL;
    block->n_names = head[2];
    last = block->n_names - 1;
    if (!read_names(block, &p, end, walk->is_states) ||
        !column_get(&p, end, head[0], n, block->gaps) ||
        !column_get(&p, end, head[1], n, block->durations) ||
        !column_get(&p, end, column_width(&last, 1), n, block->which))
        return -EINVAL;
    return 0;
}

static int walk_block(const struct slice_walk *walk, const struct slice_node *node, uint64_t n)
{
    struct walked_slice slices[BLOCK_SLICES];
    int64_t time = node->begin;
    unsigned n_slices = 0;
    struct block block;
    int r = read_block(walk, node->where >> 8, (unsigned)n, &block);

    if (r < 0)
        return r;
    for (unsigned i = 0; i < n; i++) {
        uint64_t which = block.which[i];
        int64_t begin = (int64_t)((uint64_t)time + block.gaps[i]);
        int64_t end = (int64_t)((uint64_t)begin + block.durations[i]);

        if (begin < time || end < begin || which >= block.n_names)
            return -EINVAL;
        time = end;
        if (begin > walk->to)
            break;
        if (end >= walk->from)
            slices[n_slices++] =
                (struct walked_slice){begin, end, block.names[which], block.flags[which]};
    }
    return walk->slices(walk->arg, slices, n_slices);
}

/* Visits the first node or block that was found. */
static int visit(struct slice_walk *walk)
{
    const struct slice_visit *visit = &walk->visits[walk->n_visited++ % SLICE_VISITS];

    return visit->is_block ? walk_block(walk, visit->node, visit->n)
                           : walk->node(walk->arg, visit->node, visit->n);
}

static int find(struct slice_walk *walk, const struct slice_node *node, uint64_t n, bool is_block)
{
    int r = walk->n_visits - walk->n_visited == SLICE_VISITS ? visit(walk) : 0;

    walk->visits[walk->n_visits++ % SLICE_VISITS] = (struct slice_visit){node, n, is_block};
    if (is_block)
        index_prefetch(walk->index, node->where >> 8, BLOCK_BYTES_USUAL);
    return r;
}

/* Walks nodes FROM to TO of LEVEL. The recursion is as deep as there are levels. */
// NOLINTNEXTLINE(misc-no-recursion)
static int walk_nodes(struct slice_walk *walk, unsigned level, uint64_t from, uint64_t to)
{
    int r = 0;

    for (uint64_t i = from; i < to && r == 0; i++) {
        const struct slice_node *node = &walk->levels[level][i];

        if (node->end < walk->from)
            continue;
        if (node->begin > walk->to)
            break;
        if (node->end < node->begin)
            return -EINVAL;
        if (is_in_one_period(walk, node)) {
            r = find(walk, node, slices_of(walk, level, i), false);
        } else if (level == 0) {
            r = find(walk, node, slices_of(walk, 0, i), true);
        } else {
            uint64_t first = i * NODE_CHILDREN;
            uint64_t left = walk->level_n[level - 1] - first;

            r = walk_nodes(walk, level - 1, first,
                           first + (left < NODE_CHILDREN ? left : NODE_CHILDREN));
        }
    }
    return r;
}

int slice_walk(struct slice_walk *walk, const struct index *index, uint32_t track, unsigned depth)
{
    const void *nodes;
    uint64_t left;
    const struct file_row *row =
        index_row(index, track, depth, SECTION_NODES, sizeof(struct slice_node), &nodes, &left);
    const struct slice_node *next = nodes;
    uint64_t n = n_parts(row->n, BLOCK_SLICES);
    int r;

    if (row->n == 0)
        return 0;
    walk->index = index;
    walk->n = row->n;
    walk->is_states = index->tracks[track].kind == INDEX_STATES;
    for (walk->n_levels = 0;; n = n_parts(n, NODE_CHILDREN)) {
        if (n > left)
            return -EINVAL;
        walk->levels[walk->n_levels] = next;
        walk->level_n[walk->n_levels++] = n;
        next += n;
        left -= n;
        if (n == 1)
            break;
    }
    r = walk_nodes(walk, walk->n_levels - 1, 0, 1);
    while (r == 0 && walk->n_visited != walk->n_visits)
        r = visit(walk);
    return r;
}
