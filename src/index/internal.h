/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files that read an index share. */

#include <stddef.h>

#include "index/format.h"
#include "index/index.h"

struct index {
    const uint8_t *map;
    size_t size;
    int fd; /* the mapped file; -1 if the bytes are borrowed */
    struct index_summary summary;
    const struct index_header *header;
    const struct file_track *file_tracks;
    const struct file_row *rows;
    uint32_t n_rows;
    const uint32_t *names;
    const char *strings;
    struct index_track *tracks;
};

/* As index_open_fd(), for a file in memory. BYTES is aligned to 8 and outlives the index. */
int index_open_bytes(const uint8_t *bytes, size_t size, const char *path, struct index **ret_index,
                     struct error *error);

/* Checksums of an index. */
uint64_t index_content_hash(const uint8_t *bytes, size_t size);
uint64_t index_header_hash(const struct index_header *header);

/* Returns the table in SECTION. *RET_N: its number of entries of SIZE bytes. */
static inline const void *index_table(const struct index *index, enum index_section section,
                                      size_t size, uint64_t *ret_n)
{
    *ret_n = index->header->sections[section].size / size;
    return index->map + index->header->sections[section].offset;
}

/* Returns row NUMBER of TRACK, both of which must exist. *RET_NODES: its first node, of SIZE bytes; *RET_N: the number
 * of nodes in the file from there on. */
const struct file_row *index_row(const struct index *index, uint32_t track, unsigned number,
                                 enum index_section section, size_t size, const void **ret_nodes,
                                 uint64_t *ret_n);

/* N / PER, rounded up. */
static inline uint64_t n_parts(uint64_t n, uint64_t per)
{
    return n / per + (n % per != 0);
}

/* Periods of time. */
struct grid {
    uint64_t begin; /* biased() */
    /* Of a period; with `parts`: of all periods together; 0: there are no periods. */
    uint64_t width;
    uint64_t parts; /* number of periods; 0: unlimited */
};

/* Converts a time to an unsigned number with the same order. */
static inline uint64_t biased(int64_t ns)
{
    return (uint64_t)ns ^ UINT64_C(1) << 63;
}

static inline int64_t unbiased(uint64_t v)
{
    return (int64_t)(v ^ UINT64_C(1) << 63);
}

/* A period of a grid: the last one looked up, because times are mostly in order. Zeros are no period. */
struct period {
    uint64_t number;     /* with `parts`: not less than `parts` after the last period */
    uint64_t begin, end; /* biased(); `end` is included */
};

/* Finds the period of NS, biased(), which must not be before the grid's begin. */
void grid_find(const struct grid *grid, uint64_t ns, struct period *period);

static inline bool period_has(const struct period *period, uint64_t ns)
{
    return ns >= period->begin && ns <= period->end;
}

static inline void grid_seek(const struct grid *grid, uint64_t ns, struct period *period)
{
    if (!period_has(period, ns) || period->end == 0)
        grid_find(grid, ns, period);
}

/* Prefetches SIZE bytes at OFFSET of the file, which are read a little later. Those of a large index are not in a
 * cache. */
static inline void index_prefetch(const struct index *index, uint64_t offset, size_t size)
{
    for (size_t i = 0; i < size && offset < index->size && i < index->size - offset; i += 64)
        __builtin_prefetch(index->map + offset + i);
}

struct walked_slice {
    int64_t begin, end;
    uint32_t name;
    uint8_t flags;
};

/* A found node or block. It is visited some steps later, when its data are in the cache. */
struct slice_visit {
    const struct slice_node *node;
    uint64_t n; /* number of slices */
    bool is_block;
};

#define SLICE_VISITS 32u

/* The tree of a row of slices (index/format.h). */
struct slice_walk {
    const struct index *index;
    const struct slice_node *levels[24];
    uint64_t level_n[24]; /* numbers of nodes */
    unsigned n_levels;
    uint64_t n; /* number of slices */
    int64_t from, to;
    const struct grid *grid;
    struct period period;
    bool is_states;
    struct slice_visit visits[SLICE_VISITS]; /* a ring */
    unsigned n_visits;                       /* in total */
    unsigned n_visited;
    /* Visitors: N slices; or NODE, which begins and ends in one period, with N slices. 0, or a negative errno, which
     * ends the walk. */
    int (*slices)(void *arg, const struct walked_slice *slices, unsigned n);
    int (*node)(void *arg, const struct slice_node *node, uint64_t n);
    void *arg;
};

/* Visits all slices of TRACK at DEPTH that touch `from` to `to`, and possibly others in the same nodes. The caller has
 * set `from` and the following members. 0, -EINVAL (damaged), or a visitor's result. */
int slice_walk(struct slice_walk *walk, const struct index *index, uint32_t track, unsigned depth);
