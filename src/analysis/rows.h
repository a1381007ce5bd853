/* SPDX-License-Identifier: MIT */
#pragma once

/* The rows of an analysis: durations by what they have in common, with how they are spread, what became of them over
 * time, and the longest of all. All times and durations are ticks of the trace's clock.
 *
 * At most ROWS_MAX rows: what comes behind is in one of its own, "(others)". */

#include "analysis/grouping.h"
#include "analysis/histogram.h"

#define ROWS_MAX 65536
#define ROW_KEYS (GROUPING_KEYS + 1) /* a name, and what `--by` adds */
#define ROW_STAGES 8

/* One span of time, for `--every`. */
struct row_period {
    int64_t sum;
    struct histogram durations;
};

struct row {
    const char *keys[ROW_KEYS]; /* as text */
    uint64_t numbers[ROW_KEYS];
    uint64_t n;
    uint64_t n_negative;
    __int128 sum;
    int64_t min, max;
    int64_t max_at;             /* when the longest began */
    uint32_t error_max;         /* ns */
    struct histogram durations; /* those below 0 count as 0 */
    struct row_period *periods; /* by number, from rows->first on */
    unsigned n_periods;
    uint64_t sums[ROW_STAGES]; /* an analysis's own: parts of the sum */
};

/* One of the longest. */
struct slow_span {
    int64_t begin, end;
    uint32_t error_ns;
    int32_t cpu, pid, vcpu;
    const struct origin *origin;
    struct row *row;
    int64_t at[ROW_STAGES]; /* of its steps; TIME_UNKNOWN: none */
};

struct rows {
    struct arena arena;
    struct row **rows;
    unsigned n;
    unsigned n_keys;
    uint32_t *buckets; /* numbers of rows, and one; a power of two, with room */
    unsigned n_buckets;
    struct row *recent;
    int64_t every;             /* ticks of a period; 0: none */
    int64_t first;             /* where the first period starts */
    struct slow_span *slowest; /* a heap, the shortest on top */
    unsigned n_slowest, slowest_max;
    struct text text; /* in memory */
};

/* KEYS: of each row. SLOWEST_MAX: how many are kept. EVERY: 0, or the ticks of a period. 0, -ENOMEM. */
int rows_init(struct rows *rows, unsigned n_keys, unsigned slowest_max, int64_t every);
void rows_done(struct rows *rows);

/* The row of these numbers, or NULL: there is none yet. */
struct row *rows_find(struct rows *rows, const uint64_t *numbers);
/* Makes it. KEYS are copied. NULL when memory is out. */
struct row *rows_add(struct rows *rows, const uint64_t *numbers, const char *const *keys);

/* Counts a duration, of what began at BEGIN. 0, -ENOMEM. */
int row_count(struct rows *rows, struct row *row, int64_t begin, int64_t duration,
              uint32_t error_ns);
/* Keeps SPAN if it is one of the longest. */
void rows_keep_slow(struct rows *rows, const struct slow_span *span);

enum row_order {
    ROW_ORDER_N,
    ROW_ORDER_SUM,
    ROW_ORDER_MEAN,
    ROW_ORDER_P99,
    ROW_ORDER_MAX,
};
/* Sorts rows, the largest first, and the slowest, the longest first. Nothing may be counted any more. */
void rows_sort(struct rows *rows, enum row_order order);
