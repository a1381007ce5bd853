/* SPDX-License-Identifier: MIT */
#pragma once

/* The columns that all analyses of durations have, and how they are computed from a struct rows. */

#include "analysis/analysis.h"
#include "analysis/result/rows.h"

/* Numbers of columns. */
struct duration_columns {
    unsigned n;                            /* count */
    unsigned rate;                         /* per second of covered time */
    unsigned sum;                          /* of all durations */
    unsigned share;                        /* sum / covered time: average number of open spans */
    unsigned mean;                         /* sum / n */
    unsigned min, max;                     /* exact */
    unsigned percentiles[PERCENTILES_MAX]; /* within 1.6 % */
    unsigned error;                        /* largest, in ns */
    unsigned max_at;                       /* begin of the longest */
    unsigned negative;                     /* number of negative durations */
    unsigned covered;                      /* time by which rates and shares divide */
    struct percentiles parts;              /* of `percentiles` */
};

/* Adds these columns: n rate sum share mean min p50 p90 p99 max error max_at negative covered. If out of memory, sets
 * result->error. */
void result_add_duration_columns(struct result *result, const struct percentiles *percentiles,
                                 struct duration_columns *ret_columns);

/* Sets them in TO, which borrows FROM->durations. */
void result_set_durations(struct result *result, const struct duration_columns *columns,
                          struct result_row *to, const struct row *from);

/* True if the selection and --task select what ITEM begins. */
bool analysis_selects(const struct analysis *analysis, const struct item *item);
/* Counts a span that begins at ITEM and is left out. */
void analysis_leave_out(struct analysis *analysis, const struct item *item);
/* Returns SELECTS for spans whose begin is their own item, or NULL if everything is selected. */
spans_selects_fn *analysis_span_selects(const struct analysis_settings *settings,
                                        spans_selects_fn *selects);

/* rows_note_times() of the items. Periods begin in the selection. 0, -ENOMEM. */
int analysis_note_times(const struct analysis *analysis, struct rows *rows,
                        const struct item *items, unsigned n);

/* The halves of analysis_count_span(), for a span that counts up to END. */
void rows_keep_slow_span(struct rows *rows, struct row *row, const struct span *span, int64_t end);
int analysis_give_span(const struct analysis *analysis, const struct row *row,
                       const struct span *span, int64_t end);

/* SPAN, of ROW and SPANS, is open at the end of the trace. Keeps it if its known duration is among the longest. Does
 * nothing if that is shorter than --longer, if it is unknown, or if none are kept. */
void analysis_keep_open_span(const struct analysis *analysis, struct rows *rows, struct row *row,
                             const struct spans *spans, const struct span *span);

/* Counts SPAN, which END ends, in ROW, keeps it if it is one of the longest, and passes it to analysis->put_span. Does
 * nothing if it is shorter than --longer. 0; -ERANGE with the sink's error if its period is beyond ROW_PERIODS_MAX;
 * another negative errno. */
int analysis_count_span(struct analysis *analysis, struct rows *rows, struct row *row,
                        struct spans *spans, const struct span *span, const struct item *end);

/* Sets the error of a period beyond ROW_PERIODS_MAX. Returns -ERANGE. */
int analysis_period_error(struct sink *sink);

/* Converts SLOW for RESULT, whose rows are in the order of the rows that kept it, with an array for STAGES and no stage
 * yet. */
struct result_slow result_slow_of(const struct result *result, const struct slow_span *slow,
                                  const struct result_stage *stages);

/* Adds the longest spans that ROWS kept. Rows of RESULT must be in the order of ROWS. 0, -ENOMEM. */
int result_add_slow_spans(struct result *result, const struct rows *rows);

/* Adds a row for each row of ROWS, in the same order, with its keys, periods and columns. 0, -ENOMEM. */
int result_add_duration_rows(struct result *result, const struct duration_columns *columns,
                             const struct rows *rows);
