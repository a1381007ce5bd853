/* SPDX-License-Identifier: MIT */
#pragma once

/* What changed from one result of an analysis to another of the same analysis: rows joined by the text of their keys,
 * and for each metric of a row both values.
 *
 * Rates and sums are per second of covered time. How sure a change is, pieces of both traces tell: each is cut into
 * DIFF_PIECES of equal time; the range of all but the lowest and the highest is compared. Not thread-safe. */

#include "analysis/result.h"

#define DIFF_PIECES 10
/* Fewer in a piece tell nothing. */
#define DIFF_PIECE_MIN 20

enum diff_metric {
    DIFF_RATE, /* per second */
    DIFF_SUM,  /* seconds per second */
    DIFF_MEAN,
    DIFF_P50,
    DIFF_P99,
    DIFF_MAX,
};
#define DIFF_METRICS (DIFF_MAX + 1)

/* "rate". */
const char *diff_metric_name(enum diff_metric metric);
/* The metric of that name; -1: there is none. */
int diff_metric_find(const char *name);

enum diff_sure {
    DIFF_UNSURE,  /* the ranges of the pieces meet */
    DIFF_SURE,    /* they do not */
    DIFF_TOO_FEW, /* fewer than DIFF_PIECE_MIN in a piece, or in one trace only */
};

struct diff_row {
    const char *keys[RESULT_KEYS];  /* borrowed from the results */
    double values[2][DIFF_METRICS]; /* durations in ns; NAN: unknown */
    bool is_there[2];
    enum diff_sure sure;
};

struct diff {
    const struct result *results[2]; /* borrowed */
    struct diff_row *rows;           /* the largest change first */
    unsigned n;
    bool lost; /* events were lost in one of them: changes are at least so large */
};

/* 0, -ENOMEM. */
int diff_init(struct diff *diff, const struct result *a, const struct result *b);
void diff_done(struct diff *diff);

/* From the first value to the second, as a part of the first: 0.1 is 10 % more. NAN: not known. */
double diff_change(const struct diff_row *row, enum diff_metric metric);
