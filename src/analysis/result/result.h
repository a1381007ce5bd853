/* SPDX-License-Identifier: MIT */
#pragma once

/* The result of an analysis in memory, independent of its printed form: rows of values with keys, what is not in the
 * rows and why, what was lost, and the longest spans. Each analysis makes one (analysis/analysis.h).
 * report/print_result.h prints it as text, JSON (strata-analysis(7)) or CSV, and analysis/diff.h compares two.
 *
 * Times and durations are ticks of `clock`. If clock.hz is 0, its rate is unknown, and they are printed as ticks.
 *
 * How a result is made, in this order:
 *     result_init()
 *     result_add_key(), result_add_column()...     once for all rows
 *     result_add_row(), result_set_...()           keys and values of each row
 *     result_add_slow(), result_add_note()...
 *     result_sort()
 * Strings are copied unless a comment says that they are borrowed. After an -ENOMEM only result_done() is allowed. Not
 * thread-safe. */

#include "analysis/batches.h"
#include "analysis/coverage/coverage.h"
#include "analysis/histogram.h"
#include "analysis/spans/spans.h"
#include "base/arena.h"
#include "event/clock.h"

#define RESULT_KEYS 6
#define RESULT_COLUMNS 40
#define RESULT_IN_ORDER UINT32_MAX

/* What the numbers of a column mean. */
enum result_kind {
    RESULT_COUNT,    /* int64_t: how many */
    RESULT_DURATION, /* int64_t: ticks, may be negative */
    RESULT_TIME,     /* int64_t: a point in time, in ticks */
    RESULT_ERROR,    /* int64_t: largest error of the row's durations in nanoseconds */
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
    bool is_number;    /* in all rows the text is a decimal number: a number in JSON */
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
    uint64_t has_value;  /* bit 1 << column: the value is known */
    uint64_t is_unknown; /* bit 1 << column: there is a value, but the trace does not tell it */
    union result_value *values;        /* by column */
    const struct histogram *durations; /* borrowed from the analysis; may be NULL */
    /* Use result_row_period(). NULL: rows are not over time. */
    const struct result_period *periods;
    unsigned first_period, n_periods; /* of `periods`; other periods are empty */
    /* Of the durations, and of the intervals between spans; borrowed from the analysis; may be NULL. */
    const struct batches *batches, *intervals;
    /* For durations: the lost share of its sources' recorded time; for several sources, the largest. */
    double lost_share;
    bool
        lacks_cpu; /* most of the time of one of its CPUs is lost, so its rate is the other CPUs' */
    /* Source of its first span; NULL if there are several, or if unknown. */
    const struct origin *origin;
    bool adds_up; /* its spans began in several sources */
    bool is_own;  /* it is a thread of Strata's own */
    /* The part of its waits for a CPU in which Strata's other threads ran, and in which it is unknown what ran; 0: not
     * looked for. */
    double own_part, own_unknown;
    bool is_whole; /* other rows are its parts: --folded counts `rest` instead of its sum */
    int64_t rest;  /* ticks of its sum in no part */
    /* The largest part of its longest span, and its share; borrowed; NULL if unknown. */
    const char *longest_part;
    double longest_share;
};

/* Returns period I, below result->n_periods, of a row over time. */
static inline const struct result_period *result_row_period(const struct result_row *row,
                                                            unsigned i)
{
    static const struct result_period nothing;

    return i - row->first_period < row->n_periods ? &row->periods[i - row->first_period] : &nothing;
}

/* A part of one of the longest spans. */
struct result_stage {
    const char *name;
    const char *layer; /* NULL if it has no single layer */
    int64_t begin, end;
    /* Largest error of its duration; 0 if both ends are on one clock, or if unknown. */
    uint32_t error_ns;
    const char *const *why; /* sentences, longest time first, terminated by NULL; may be NULL */
};

/* One of the longest spans. */
struct result_slow {
    int64_t begin, end;
    /* It has not ended, and the last of its stages has not; it was open at least until `end`. */
    bool is_open;
    uint32_t error_ns;
    int32_t cpu, pid, vcpu;
    const struct origin *origin;  /* of its begin; borrowed */
    const struct result_row *row; /* NULL if it is in several rows; `name` says what it is */
    const char *name;
    const struct result_stage *stages;
    unsigned n_stages;
    const char *const *why; /* for the whole span; as in struct result_stage */
};

/* Events that cannot follow from previous events (strata-analysis(7)). */
struct result_contradictions {
    uint64_t n;
    uint64_t n_checked; /* events of the kind that were compared; with 0, nothing is printed */
    struct {
        int32_t cpu;
        uint64_t n;
    } * by_cpu; /* in the result's arena */
    unsigned n_cpus;
};

/* Waits for a CPU, and how much of them Strata's own threads ran there (event/own_threads.h), in ticks. */
struct result_recorder {
    int64_t waited; /* all waits; with 0, nothing is stated */
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
    uint64_t unpaired[SPAN_FATES]; /* spans, and ends, that are in no row, by reason */
    /* Rates of rows are lower bounds: spans may be missing in the time that they divide by. */
    bool rates_are_least;
    bool ends_before; /* reading ended before the trace, after the times of a selection */
    struct result_contradictions contradictions;
    struct result_recorder recorder;
    struct result_slow *slowest; /* longest first, then open spans */
    unsigned n_slowest, slowest_room;
    const char **notes; /* sentences about the result: what is missing, and how to record it */
    unsigned n_notes;
    int64_t every; /* ticks of a period; 0: rows have none */
    int64_t periods_begin;
    unsigned n_periods;
    bool is_error_refuted; /* result_refute_errors() was called */
    int error;             /* -ENOMEM: a column is missing */
};

/* COVERAGE and the analysis that makes RESULT outlive it. */
void result_init(struct result *result, const char *analysis, const struct clock *clock,
                 const struct coverage *coverage);
void result_done(struct result *result);

/* Return the number of the new key or column, for the functions below. Strings are borrowed. */
unsigned result_add_key(struct result *result, const char *name, const char *title, bool is_number);
unsigned result_add_column(struct result *result, const char *name, const char *title,
                           enum result_kind kind);
/* The number of a column, or -1. */
int result_find_column(const struct result *result, const char *name);
/* The same for a column as a user writes it: its name or its title, if only it has that, ignoring case. */
int result_match_column(const struct result *result, const char *text);

/* Adds a row whose keys are all "-" and which has no values. NULL if out of memory. */
struct result_row *result_add_row(struct result *result);
/* 0, -ENOMEM. */
int result_set_key(struct result *result, struct result_row *row, unsigned key, const char *text);
void result_set_key_number(struct result_row *row, unsigned key, int64_t number);
void result_set_number(struct result_row *row, unsigned column, int64_t number);
/* Sets no value if REAL is not finite. */
void result_set_real(struct result_row *row, unsigned column, double real);
/* Sets PART of a whole. UNKNOWN is in no part of the whole. If PART is 0 and UNKNOWN is not, the value is unknown. */
void result_set_part(struct result_row *row, unsigned column, int64_t part, int64_t unknown);
/* Makes the value of COLUMN unknown. */
void result_set_unknown(struct result_row *row, unsigned column);
static inline bool result_is_unknown(const struct result_row *row, unsigned column)
{
    return row->is_unknown >> column & 1;
}
static inline bool result_has(const struct result_row *row, unsigned column)
{
    return row->has_value >> column & 1;
}
/* The number of a column as a double; durations and times in ns, or in ticks if the rate is unknown. NAN if it is
 * unknown, or a text. */
double result_number(const struct result *result, const struct result_row *row, unsigned column);
/* True if all shown columns have only 0 and no unknown values, and there are no slowest spans. */
bool result_is_empty(const struct result *result);

/* Copies SLOW, its stages and sentences. 0, -ENOMEM. */
int result_add_slow(struct result *result, const struct result_slow *slow);
/* 0, -ENOMEM. */
int result_add_note(struct result *result, const char *format, ...) _printf_(2, 3);

/* The covered seconds for events of ORIGIN, by which rates divide. 0 if unknown. */
double result_covered_seconds(const struct result *result, const struct origin *origin);

/* Makes all clock errors of RESULT unknown, because the trace shows that the clocks' errors are larger than stated. */
void result_refute_errors(struct result *result);

/* If the clock has no times (clock_is_order()), makes all durations and values derived from them unknown, and notes it.
 * -ENOMEM. */
int result_forget_times(struct result *result);

/* Sorts rows by COLUMN, the largest first, and equal rows by their keys; RESULT_IN_ORDER keeps the order. Sorts the
 * slowest, the longest first, open ones last. */
void result_sort(struct result *result, unsigned column);

/* Call after the last row. If rows of several sources have the same keys, adds a key "source" to all rows. 0,
 * -ENOMEM. */
int result_add_source_key(struct result *result);
/* Adds a note if rows add up several sources. 0, -ENOMEM. */
int result_note_sources(struct result *result);
