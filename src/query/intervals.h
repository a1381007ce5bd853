/* SPDX-License-Identifier: MIT */
#pragma once

/* Keeps the spans or states of a whole trace, in the order of their begins, in a mapped temporary file without a name.
 * The kernel writes to the file what does not fit into memory.
 *
 * An index finds the intervals with given values in some columns that begin and end within given times. It is a
 * permutation of the intervals, sorted by a hash of these columns and then by the begin, with a tree of latest ends. So
 * a lookup costs a binary search, and a walk down the tree per found interval; intervals that end too early cost
 * nothing. The caller must check the values, because hashes may collide. Up to INDEXES_MAX indexes are made, each when
 * it is first needed; further lookups walk through all intervals in their time.
 *
 * Texts with few distinct values are stored once and represented by numbers. Texts with many values (keys of spans) are
 * not. */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"

#define INTERVAL_CODES 12
#define INDEXES_MAX 32
#define CODE_NULL INT32_MIN

struct interval {
    int64_t begin, end; /* `end` is INT64_MAX if it has none */
    uint64_t text;      /* offset of a text of `text_len` bytes */
    uint32_t text_len;
    int32_t codes[INTERVAL_CODES]; /* integers, or numbers of texts; or CODE_NULL */
};

/* Memory in a mapped temporary file. */
struct spill {
    int fd;
    uint8_t *bytes;
    size_t n, room;
};

struct interval_index {
    unsigned codes;   /* the codes by which it is sorted, as bits 1 << number */
    uint64_t *places; /* hash << 32 | number of the interval; ascending */
    int64_t **ends;   /* by level: the latest end in 2^(INDEX_SHIFT * (level + 1)) places */
    unsigned n_levels;
    struct spill spill;
};

struct intervals {
    struct spill items, texts;
    const char *dir;
    uint32_t n;
    struct arena arena;
    struct map numbers; /* of texts: number + 1 */
    const char **names; /* by number */
    uint32_t *name_lens;
    uint32_t n_names;
    struct interval_index indexes[INDEXES_MAX];
    unsigned n_indexes;
};

/* DIR outlives INTERVALS. 0, or a negative errno. */
int intervals_init(struct intervals *intervals, const char *dir);
void intervals_done(struct intervals *intervals);

/* Gets the number of a text, which is copied. -ENOMEM. */
int intervals_number(struct intervals *intervals, const char *s, uint32_t len, int32_t *ret);
/* Gets the number of a text; -ENOENT if no interval has it. */
int intervals_find_number(const struct intervals *intervals, const char *s, uint32_t len,
                          int32_t *ret);

/* Adds an interval, with TEXT of item->text_len bytes. -ENOMEM, -ENOSPC, -EFBIG. */
int intervals_add(struct intervals *intervals, const struct interval *item, const char *text);
/* Call once after all were added. -ENOMEM, -ENOSPC. */
int intervals_sort(struct intervals *intervals);

static inline const struct interval *intervals_item(const struct intervals *intervals, uint32_t i)
{
    return (const struct interval *)intervals->items.bytes + i;
}

/* A lookup: intervals that begin in [begin_from, begin_to] and end at end_from or later, and whose codes are CODES
 * where CODES_GIVEN has bits. */
struct interval_range {
    unsigned codes_given;
    int32_t codes[INTERVAL_CODES];
    int64_t begin_from, begin_to, end_from;
};

/* A walk through the found intervals, in the order of their begins. */
struct interval_walk {
    const struct interval_index *index;
    uint64_t at, to; /* places of the index */
    int64_t end_from;
};

/* Starts a walk; -ENOMEM, -ENOSPC. */
int interval_walk_start(struct intervals *intervals, const struct interval_range *range,
                        struct interval_walk *ret_walk);
/* Returns the next interval, or NULL. */
const struct interval *interval_walk_next(const struct intervals *intervals,
                                          struct interval_walk *walk);
