/* SPDX-License-Identifier: MIT */
#pragma once

/* What changed from one result of an analysis to another of the same analysis: rows joined by the text of their keys,
 * functions of a kernel that moved by their addresses (analysis/diff_addresses.h), and for each metric of a row both values. Rates and sums are per second of covered time.
 *
 * Whether a change is more than chance is tested for the rate, the mean, the median and the 99th percentile: whether an interval
 * around the change, which holds the true one, does not hold 0. The intervals of all tests of a diff together are true with a
 * probability of 1 - DIFF_ERROR (Bonferroni); so with that, no row is said to have changed if nothing has. What one trace of each
 * side does not tell is how much another recording of the same work would differ.
 *
 * For the mean, the spans of each side are cut into parts of equal numbers of spans, which are compared one by one: the first of
 * A with the first of B. What changes in the course of the work, as at its begin, is then no difference; and a trace does not
 * differ from itself. The rate is tested in the same way, by the intervals between consecutive spans, so that it does not matter how long a
 * trace goes on after the work. Percentiles are tested by the ranks between which they lie. Not thread-safe. */

#include "analysis/diff_addresses.h"
#include "analysis/result/result.h"

#define DIFF_ERROR 0.01
/* Fewer spans in a row tell nothing. */
#define DIFF_SPANS_MIN 20
/* Smaller changes are not reported. */
#define DIFF_CHANGE_MIN 0.01
/* Where chance may make as much, it is not known whether there is a change. */
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
/* The metric of that name; -1: there is none. */
int diff_metric_find(const char *name);

enum diff_verdict {
    DIFF_UNTESTED, /* not a metric that is tested, or one that the row has not */
    DIFF_UNKNOWN,  /* too few spans, or they vary too much */
    DIFF_SAME,     /* no change that is more than chance */
    DIFF_CHANGED,
};

/* "same"; NULL of DIFF_UNTESTED. */
const char *diff_verdict_name(enum diff_verdict verdict);

struct diff_test {
    enum diff_verdict verdict;
    double low, high; /* the interval that holds the change, as of diff_change(); NAN: unknown */
};

struct diff_row {
    const char *keys[RESULT_KEYS];    /* borrowed from the results and the diff */
    double values[2][DIFF_METRICS];   /* durations in ns; NAN: unknown */
    const struct result_row *from[2]; /* NULL: there is none in this trace */
    struct diff_test tests[DIFF_METRICS];
    /* DIFF_CHANGED: the spans take longer or shorter, by the mean or a percentile. Otherwise of the mean. The same of the rate if there are no
     * durations. */
    enum diff_verdict verdict;
    bool may_be_in_both; /* of one trace alone, but the other one lacks a CPU */
    bool
        lacks_cpu; /* of a CPU in one of the traces, most of the time is lost: rates and sums cannot be compared */
};

struct diff {
    const struct result *results[2]; /* borrowed */
    struct diff_row *rows;           /* those that changed come first, and the largest change */
    unsigned n;
    bool lost[2];      /* events were lost in it */
    bool lacks_cpu[2]; /* a row of it does */
    struct diff_addresses addresses;
    unsigned n_addresses; /* rows of one trace alone that have an address in their keys */
};

/* 0, -ENOMEM. */
int diff_init(struct diff *diff, const struct result *a, const struct result *b);
void diff_done(struct diff *diff);

/* From the first value to the second, as a part of the first: 0.1 is 10 % more. NAN: not known. */
double diff_change(const struct diff_row *row, enum diff_metric metric);
