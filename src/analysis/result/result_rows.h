/* SPDX-License-Identifier: MIT */
#pragma once

/* The columns that all analyses of durations have in common, and how they follow from a struct rows. */

#include "analysis/analysis.h"
#include "analysis/result/rows.h"

/* Numbers of columns. */
struct duration_columns {
    unsigned n;        /* how many */
    unsigned rate;     /* per second of covered time */
    unsigned sum;      /* of all durations */
    unsigned share;    /* sum / covered time: how many are open at a time, on average */
    unsigned mean;     /* sum / n */
    unsigned min, max; /* exact */
    unsigned percentiles[PERCENTILES_MAX]; /* within 1.6 % */
    unsigned error;                        /* the largest, in ns */
    unsigned max_at;                       /* when the longest began */
    unsigned negative;                     /* how many are shorter than 0 */
    unsigned covered;                      /* time that rates and shares are of */
    struct percentiles parts;              /* of `percentiles` */
};

/* Adds these columns: n rate sum share mean min p50 p90 p99 max error max_at negative covered. When memory is
 * out, result->error says so. */
void result_add_duration_columns(struct result *result, const struct percentiles *percentiles,
                                 struct duration_columns *ret_columns);

/* Sets them in TO. FROM->durations is borrowed by TO. */
void result_set_durations(struct result *result, const struct duration_columns *columns,
                          struct result_row *to, const struct row *from);

/* True if the selection and --task select what ITEM begins. */
bool analysis_selects(const struct analysis *analysis, const struct item *item);
/* Counts a span that is left out, which begins at ITEM. */
void analysis_leave_out(struct analysis *analysis, const struct item *item);
/* The same as spans->selects, for spans that begin at an item of their own; NULL where all are selected. */
spans_selects_fn *analysis_span_selects(const struct analysis_settings *settings,
                                        spans_selects_fn *selects);

/* rows_note_times() of the items, with periods that begin in the selection. 0, -ENOMEM. */
int analysis_note_times(const struct analysis *analysis, struct rows *rows,
                        const struct item *items, unsigned n);

/* The halves of analysis_count_span(), of a span that counts up to END. */
void rows_keep_slow_span(struct rows *rows, struct row *row, const struct span *span, int64_t end);
int analysis_give_span(const struct analysis *analysis, const struct row *row,
                       const struct span *span, int64_t end);

/* SPAN, of ROW and SPANS, is open at the end of the trace: keeps it if what it is known to have lasted is one of the longest.
 * Nothing if that is shorter than --longer, if nothing is known, or if none are kept. */
void analysis_keep_open_span(const struct analysis *analysis, struct rows *rows, struct row *row,
                             const struct spans *spans, const struct span *span);

/* Counts SPAN, which END ends, in ROW, keeps it if it is one of the longest, and gives it to analysis->put_span; nothing if it is shorter
 * than --longer. 0; -ERANGE with the sink's error: a period is beyond ROW_PERIODS_MAX; another negative errno. */
int analysis_count_span(struct analysis *analysis, struct rows *rows, struct row *row,
                        struct spans *spans, const struct span *span, const struct item *end);

/* row_count() found a period beyond ROW_PERIODS_MAX: says so. -ERANGE. */
int analysis_period_error(struct sink *sink);

/* SLOW as a part of RESULT, whose rows are in the order of the rows that kept it: with STAGES, of which none is counted yet. */
struct result_slow result_slow_of(const struct result *result, const struct slow_span *slow,
                                  const struct result_stage *stages);

/* Adds the longest spans that ROWS kept; rows of RESULT are in the order of ROWS. 0, -ENOMEM. */
int result_add_slow_spans(struct result *result, const struct rows *rows);

/* Adds a row for each of ROWS, in the same order, with its keys, periods and columns. 0, -ENOMEM. */
int result_add_duration_rows(struct result *result, const struct duration_columns *columns,
                             const struct rows *rows);
