/* SPDX-License-Identifier: MIT */
#pragma once

/* Compares two results of the same analysis. Rows are joined by the text of their keys, and functions of a kernel that
 * moved by their addresses (analysis/diff_addresses.h). Each metric of a row has both values. Rates and sums are per
 * second of covered time.
 *
 * The rate, the mean, the median and the 99th percentile are tested: a change is more than chance if the confidence
 * interval of the change does not contain 0. All intervals of a diff together are true with a probability of 1 -
 * DIFF_ERROR (Bonferroni). So with this probability, no row is said to have changed if nothing has. With one trace on
 * each side, the diff cannot tell how much another recording of the same work would differ.
 *
 * For the mean, the spans of each side are cut into parts with equal numbers of spans. The first part of A is compared
 * with the first part of B, and so on. So changes during the work, for example at its beginning, do not count as
 * differences, and a trace does not differ from itself. The rate is tested in the same way by the intervals between
 * consecutive spans, so time after the work does not matter. Percentiles are tested by the ranks between which they
 * lie. Not thread-safe. */

#include "analysis/diff_addresses.h"
#include "analysis/result/result.h"

#define DIFF_ERROR 0.01
/* A row with fewer spans is not tested. */
#define DIFF_SPANS_MIN 20
/* Smaller changes are not reported. */
#define DIFF_CHANGE_MIN 0.01
/* If chance may cause a change of this size, it is unknown whether there is a change. */
#define DIFF_CHANCE_MAX 0.5

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
/* Returns the metric called NAME, or -1. */
int diff_metric_find(const char *name);

enum diff_verdict {
    DIFF_UNTESTED, /* the metric is not tested, or the row does not have it */
    DIFF_UNKNOWN,  /* too few spans, or they vary too much */
    DIFF_SAME,     /* no change beyond chance */
    DIFF_CHANGED,
};

/* "same"; NULL for DIFF_UNTESTED. */
const char *diff_verdict_name(enum diff_verdict verdict);

struct diff_test {
    enum diff_verdict verdict;
    double low, high; /* interval that contains the change, as in diff_change(); NAN if unknown */
};

struct diff_row {
    const char *keys[RESULT_KEYS];    /* borrowed from the results and the diff */
    double values[2][DIFF_METRICS];   /* durations in ns; NAN if unknown */
    const struct result_row *from[2]; /* NULL if this trace does not have the row */
    struct diff_test tests[DIFF_METRICS];
    /* DIFF_CHANGED if the mean or a percentile of the durations changed, otherwise the mean's verdict. Without
     * durations, the rate's. */
    enum diff_verdict verdict;
    bool may_be_in_both; /* only one trace has the row, but the other trace lacks a CPU */
    /* In one trace, most of the time of a CPU is lost: rates and sums cannot be compared. */
    bool lacks_cpu;
};

struct diff {
    const struct result *results[2]; /* borrowed */
    struct diff_row *rows;           /* first the changed rows, the largest change first */
    unsigned n;
    bool lost[2];      /* events were lost in it */
    bool lacks_cpu[2]; /* one of its rows lacks a CPU */
    struct diff_addresses addresses;
    unsigned n_addresses; /* rows in one trace only, with an address in their keys */
};

/* 0, -ENOMEM. */
int diff_init(struct diff *diff, const struct result *a, const struct result *b);
void diff_done(struct diff *diff);

/* The change from the first to the second value, relative to the first: 0.1 is 10 % more. NAN if unknown. */
double diff_change(const struct diff_row *row, enum diff_metric metric);
