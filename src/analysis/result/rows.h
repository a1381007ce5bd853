/* SPDX-License-Identifier: MIT */
#pragma once

/* Groups durations into rows: their distribution, their development over time, and the longest spans. All times and
 * durations are ticks of the trace's clock.
 *
 * There are at most ROWS_MAX rows. All further groups share the last row, "(others)". */

#include <errno.h>

#include "analysis/batches.h"
#include "analysis/coverage/coverage.h"
#include "analysis/coverage/source_ends.h"
#include "analysis/histogram.h"
#include "analysis/result/grouping.h"
#include "analysis/slowest.h"
#include "base/macro.h"
#include "base/wide.h"

#define ROWS_MAX 65536
#define ROW_KEYS (GROUPING_KEYS + 2) /* two of the analysis, and the keys of `--by` */
#define ROWS_RECENT 64
/* Periods of a row. */
#define ROW_PERIODS_MAX 10000

/* The spans of a row that began in one period. */
struct row_period {
    int64_t sum;
    struct histogram durations;
};

/* The spans of a row in their order. */
struct row_batches {
    struct batches durations;
    struct interval_batches intervals; /* between their ends */
};

struct row {
    unsigned number;            /* from 0; an analysis may have its own numbers per row */
    const char *keys[ROW_KEYS]; /* text */
    uint64_t numbers[ROW_KEYS];
    int64_t
        values[ROW_KEYS]; /* the value that the key's text names, if `has_value` has bit 1 << key */
    unsigned has_value;
    const struct origin *origin;                      /* of the first span; NULL before it */
    struct coverage_pair sources[COVERAGE_PAIRS_MAX]; /* of its spans; the first n_sources */
    unsigned n_sources;
    bool has_more_sources; /* it has more than COVERAGE_PAIRS_MAX */
    uint64_t n;
    uint64_t n_negative;
    wide sum;
    int64_t min, max;
    int64_t max_at;             /* begin of the longest span */
    uint32_t error_max;         /* in ns */
    struct histogram durations; /* negative ones count as 0 */
    struct row_period *periods; /* from `first_period` on; most rows have spans in few periods */
    unsigned first_period, n_periods;
    struct row_batches *batches; /* NULL if not requested */
};

struct rows {
    struct arena arena;
    struct row **rows; /* by number */
    unsigned n;
    unsigned n_keys;
    uint32_t *buckets; /* numbers of rows plus one */
    unsigned n_buckets;
    struct row *recent[ROWS_RECENT]; /* by the sum of their numbers; NULL if empty */
    int64_t every;                   /* length of a period in ticks; 0: none */
    int64_t periods_begin;           /* begin of the first period; TIME_UNKNOWN if not known yet */
    unsigned n_periods;              /* largest number of periods of a row */
    bool has_batches;                /* rows have batches */
    bool by_cpu;                     /* all spans of a row begin on one CPU */
    bool by_vcpu;                    /* … or on one vCPU, which is a CPU for the guest's kernel */
    bool moves; /* spans of a row need not be on all CPUs alike (struct coverage_pair), … */
    struct source_ends ends; /* used if the longest spans are kept */
    struct slowest slowest;
    struct text text; /* in memory */
};

/* N_KEYS: keys of each row. SLOWEST_MAX: how many spans are kept. EVERY: ticks of a period, or 0. HAS_BATCHES: rows
 * have batches of their spans. 0, -ENOMEM. */
int rows_init(struct rows *rows, unsigned n_keys, unsigned slowest_max, int64_t every,
              bool has_batches);
void rows_done(struct rows *rows);
/* Rows are grouped by GROUPING: if by CPU, rates are over that CPU's time. Call before the first row. */
void rows_set_grouping(struct rows *rows, const struct grouping *grouping);

/* Returns the row with these numbers, or NULL. */
struct row *rows_find(struct rows *rows, const uint64_t *numbers);
/* Adds the row. Copies KEYS. NULL if out of memory. */
struct row *rows_add(struct rows *rows, const uint64_t *numbers, const char *const *keys);

/* Notes the times of ITEMS, the next ones of the trace: until when each source has events and, with BEGINS, when the
 * first period begins. Call before counting the items. 0, -ENOMEM. */
static inline int rows_note_times(struct rows *rows, const struct item *items, unsigned n,
                                  bool begins)
{
    if (unlikely(rows->periods_begin == TIME_UNKNOWN) && begins && n > 0)
        rows->periods_begin = items[0].time;
    return rows->slowest.max > 0 ? source_ends_put(&rows->ends, items, n) : 0;
}

/* The slow half of row_note_source(). */
void row_add_source(struct row *row, const struct coverage_pair *pair);
/* ROW of ROWS has a span that began on CPU and VCPU of source BEGIN, and ended in source END. STAYS: it ended on the
 * CPU where it began. OF_THREADS: it belongs to a thread. */
static inline void row_note_source(const struct rows *rows, struct row *row,
                                   const struct origin *begin, const struct origin *end,
                                   int32_t cpu, int32_t vcpu, bool stays, bool of_threads)
{
    const struct coverage_pair *first = &row->sources[0];
    bool moves;

    /* All spans of the row begin on it, or on any. */
    if (!rows->by_cpu && !(rows->by_vcpu && vcpu == cpu && begin->layer == LAYER_GUEST))
        cpu = CPU_UNKNOWN;
    moves = cpu == CPU_UNKNOWN && (rows->moves || (rows->by_vcpu && vcpu != VCPU_UNKNOWN));
    /* Without a pair in memory: a load of it would wait for the stores of its members. */
    if (unlikely(first->begin != begin || first->end != end || first->cpu != cpu ||
                 first->stays != stays || first->of_threads != of_threads || first->moves != moves))
        row_add_source(row, &(struct coverage_pair){begin, end, cpu, stays, of_threads, moves});
}

/* Counts a duration that began at BEGIN. 0; -ENOMEM; -ERANGE if its period is beyond ROW_PERIODS_MAX. */
int row_count(struct rows *rows, struct row *row, int64_t begin, int64_t duration,
              uint32_t error_ns);
