/* SPDX-License-Identifier: MIT */
#pragma once

/* The columns that all analyses of durations have in common, and how they follow from a struct rows. */

#include "analysis/analysis.h"
#include "analysis/rows.h"

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
    struct percentiles parts;              /* of `percentiles` */
};

/* Adds these columns: n rate sum share mean min p50 p90 p99 max error max_at negative. 0, -ENOMEM. */
int result_add_duration_columns(struct result *result, const struct percentiles *percentiles,
                                struct duration_columns *ret_columns);

/* Sets them in TO. FROM->durations is borrowed by TO. */
void result_set_durations(struct result *result, const struct duration_columns *columns,
                          struct result_row *to, const struct row *from);

/* Adds a row for each of ROWS, in the same order, with its keys, periods and columns. 0, -ENOMEM. */
int result_add_duration_rows(struct result *result, const struct duration_columns *columns,
                             const struct rows *rows);
