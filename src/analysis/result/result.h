/* SPDX-License-Identifier: MIT */
#pragma once

/* What an analysis found, in memory, independent of how it is printed: rows of values with keys, what is not in the
 * rows and why, what was lost, and the longest spans. Each analysis makes one (analysis/analysis.h); report/print_result.h
 * prints it as text, JSON (strata-analysis(7)) or CSV; another module may compare two.
 *
 * Times and durations are ticks of `clock`. Where clock.hz is 0, its rate is unknown, and they are printed as ticks.
 *
 * How a result is made, in this order:
 *     result_init()
 *     result_add_key(), result_add_column()...     once for all rows
 *     result_add_row(), result_set_...()           keys and values of each row
 *     result_add_slow(), result_add_note()...
 *     result_sort()
 * Strings are copied unless a comment says that they are borrowed. After an -ENOMEM only result_done() is allowed.
 * Not thread-safe. */

#include "analysis/batches.h"
#include "analysis/coverage/coverage.h"
#include "analysis/histogram.h"
#include "analysis/spans/spans.h"
#include "base/arena.h"
#include "event/clock.h"

#define RESULT_KEYS 6
#define RESULT_COLUMNS 40
#define RESULT_IN_ORDER UINT32_MAX

/* What the numbers of a column are. */
enum result_kind {
    RESULT_COUNT,    /* int64_t: how many */
    RESULT_DURATION, /* int64_t: ticks, may be negative */
    RESULT_TIME,     /* int64_t: a point in time, in ticks */
    RESULT_ERROR,    /* int64_t: nanoseconds by which durations of the row may be wrong at most */
    RESULT_RATE,     /* double: per second */
    RESULT_SHARE,    /* double: 0 to 1 */
    RESULT_TEXT,     /* const char * */
};

/* "count", "duration", ... as in JSON. */
const char *result_kind_name(enum result_kind kind);

struct result_column {
    const char *name;  /* "sum": in JSON and for --sort; CSV adds the unit, "sum_ns" */
    const char *title; /* heading in text; NULL: JSON and CSV only */
    enum result_kind kind;
};

/* What distinguishes rows. */
struct result_key {
    const char *name;  /* "reason": in JSON and CSV */
    const char *title; /* heading in text */
    bool is_number;    /* the text of this key is a decimal number in all rows: a number in JSON */
};

union result_value {
    int64_t number;
    double real;
    const char *text;
};

/* A part of a row: the spans that began in one period of `every` ticks. */
struct result_period {
    uint64_t n;
    int64_t sum, p50, p99;
};

struct result_row {
    const char *keys[RESULT_KEYS]; /* text; never NULL */
    int64_t
        numbers[RESULT_KEYS]; /* the value that the text names, if `has_number` has bit 1 << key */
    unsigned has_number;
    uint64_t has_value;         /* bit 1 << column: the value is known */
    uint64_t is_unknown;        /* the same: there is a value, and the trace does not tell it */
    union result_value *values; /* by column */
    const struct histogram *durations; /* borrowed from the analysis; NULL: none */
    /* result_row_period() has them all. NULL: rows are not over time. */
    const struct result_period *periods;
    unsigned first_period, n_periods; /* of `periods`: nothing was in the others */
    /* Of the durations, and of the intervals between spans; borrowed from the analysis; NULL: none. */
    const struct batches *batches, *intervals;
    /* Of durations: what its sources lost, as a share of the time that they were recorded; of several, the most. */
    double lost_share;
    bool
        lacks_cpu; /* most of the time of a CPU of theirs is lost: its rate is that of the others */
    const struct origin *origin; /* the source of its first span; NULL: of several, or not known */
    bool adds_up;                /* spans that began in several sources */
    bool is_own;                 /* of a thread of Strata's own */
    /* Of its waits for a CPU, the part during which others of them ran, and during which it is not known what ran; 0: not
     * looked for. */
    double own_part, own_unknown;
    bool is_whole; /* other rows are its parts: --folded counts `rest` instead of its sum */
    int64_t rest;  /* ticks of its sum that are in no part */
    /* The part that has most of its longest span, and its share of it; borrowed; NULL: not known. */
    const char *longest_part;
    double longest_share;
};

/* Of period number I, which is below result->n_periods, of a row over time. */
static inline const struct result_period *result_row_period(const struct result_row *row,
                                                            unsigned i)
{
    static const struct result_period nothing;

    return i - row->first_period < row->n_periods ? &row->periods[i - row->first_period] : &nothing;
}

/* A part of one of the longest spans. */
struct result_stage {
    const char *name;
    const char *layer; /* NULL: it is not of one layer */
    int64_t begin, end;
    uint32_t
        error_ns; /* of how long it took, at the most; 0: its ends are on one clock, or it is not known */
    const char *const *why; /* sentences, longest time first; ended by NULL; NULL: none */
};

/* One of the longest spans. */
struct result_slow {
    int64_t begin, end;
    bool
        is_open; /* it, and the last of its stages, has not ended: `end`: until when that is known */
    uint32_t error_ns;
    int32_t cpu, pid, vcpu;
    const struct origin *origin;  /* of its begin; borrowed */
    const struct result_row *row; /* NULL: it is in several; `name` says what it is */
    const char *name;
    const struct result_stage *stages;
    unsigned n_stages;
    const char *const *why; /* of the whole span; as in struct result_stage */
};

/* Events that cannot follow from the ones before (strata-analysis(7)). */
struct result_contradictions {
    uint64_t n;
    uint64_t n_checked; /* events of the kind that were compared; 0: none, and nothing is printed */
    struct {
        int32_t cpu;
        uint64_t n;
    } * by_cpu; /* in the result's arena */
    unsigned n_cpus;
};

/* Waits for a CPU, and during how much of them Strata's own threads ran there (event/own_threads.h). Ticks. */
struct result_recorder {
    int64_t waited; /* all; 0: nothing is said */
    int64_t own, unknown;
};

struct result {
    struct arena arena;
    const char *analysis;            /* "latency"; borrowed */
    struct clock clock;              /* of all times and durations */
    const struct coverage *coverage; /* events, first and last time, losses; borrowed */
    struct result_key keys[RESULT_KEYS];
    unsigned n_keys;
    struct result_column columns[RESULT_COLUMNS];
    unsigned n_columns;
    struct result_row **rows;
    unsigned n_rows, rows_room;
    uint64_t unpaired[SPAN_FATES]; /* spans, and ends, that are in no row, by why */
    bool rates_are_least; /* of a row: spans of it may be missing in the time that it divides by */
    bool ends_before;     /* reading ended before the trace, after the times of a selection */
    struct result_contradictions contradictions;
    struct result_recorder recorder;
    struct result_slow *slowest; /* longest first, and after them those that are open */
    unsigned n_slowest, slowest_room;
    const char **notes; /* sentences about the result: what is missing, and how to record it */
    unsigned n_notes;
    int64_t every; /* ticks of a period; 0: rows have none */
    int64_t periods_begin;
    unsigned n_periods;
    bool is_error_refuted; /* result_refute_errors() was called */
    int error;             /* -ENOMEM: a column is missing */
};

/* COVERAGE outlives RESULT, and so does the analysis that makes it. */
void result_init(struct result *result, const char *analysis, const struct clock *clock,
                 const struct coverage *coverage);
void result_done(struct result *result);

/* The number of the new key, or column, for the functions below. Strings are borrowed. */
unsigned result_add_key(struct result *result, const char *name, const char *title, bool is_number);
unsigned result_add_column(struct result *result, const char *name, const char *title,
                           enum result_kind kind);
/* The number of a column, or -1. */
int result_find_column(const struct result *result, const char *name);
/* The same of a column as a user writes it: its name, or the title that only it has, in either case. */
int result_match_column(const struct result *result, const char *text);

/* A row whose keys are all "-" and which has no values. NULL when memory is out. */
struct result_row *result_add_row(struct result *result);
/* 0, -ENOMEM. */
int result_set_key(struct result *result, struct result_row *row, unsigned key, const char *text);
void result_set_key_number(struct result_row *row, unsigned key, int64_t number);
void result_set_number(struct result_row *row, unsigned column, int64_t number);
/* Not finite: there is no value. */
void result_set_real(struct result_row *row, unsigned column, double real);
/* The part PART of a whole of which UNKNOWN is in no part: unknown if all of it that is known is 0. */
void result_set_part(struct result_row *row, unsigned column, int64_t part, int64_t unknown);
/* The value of COLUMN, if it has one, is taken away. */
void result_set_unknown(struct result_row *row, unsigned column);
static inline bool result_is_unknown(const struct result_row *row, unsigned column)
{
    return row->is_unknown >> column & 1;
}
static inline bool result_has(const struct result_row *row, unsigned column)
{
    return row->has_value >> column & 1;
}
/* The number of a column as a double, durations and times in ns (ticks where the rate is unknown). NAN: unknown, or a
 * text. */
double result_number(const struct result *result, const struct result_row *row, unsigned column);
/* True if the columns that are shown have no number but 0 and no unknown one, and there are no slowest spans. */
bool result_is_empty(const struct result *result);

/* SLOW, its stages and sentences are copied. 0, -ENOMEM. */
int result_add_slow(struct result *result, const struct result_slow *slow);
/* 0, -ENOMEM. */
int result_add_note(struct result *result, const char *format, ...) _printf_(2, 3);

/* The seconds that the events of ORIGIN cover: what rates divide by. 0: unknown. */
double result_covered_seconds(const struct result *result, const struct origin *origin);

/* Makes the clock errors of RESULT unknown, where there are some: the trace shows that the clocks are wrong by more than was
 * stated. */
void result_refute_errors(struct result *result);

/* Makes all durations, and what follows from them, unknown, if the clock has no times (clock_is_order()), and notes it. -ENOMEM. */
int result_forget_times(struct result *result);

/* Sorts rows by COLUMN, the largest first, and rows that are equal by their keys, or not at all (RESULT_IN_ORDER); and the
 * slowest, the longest first, those that have not ended after the others. */
void result_sort(struct result *result, unsigned column);

/* After the last row. Where rows of several sources have the same keys, all get one more, "source". 0, -ENOMEM. */
int result_add_source_key(struct result *result);
/* A note says where rows add up several sources. 0, -ENOMEM. */
int result_note_sources(struct result *result);
