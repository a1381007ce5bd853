/* SPDX-License-Identifier: MIT */
#pragma once

/* A series of values in batches with equal numbers of values, in their order, which can be cut into parts of equal
 * work. The number of values is not known in advance. When there are BATCHES_MAX batches, each two become one, and
 * later batches are twice as long. */

#include <stdbool.h>
#include <stdint.h>

#include "event/item.h"

#define BATCHES_MAX 128

/* Zeros are an empty one. */
struct batches {
    uint64_t n;
    unsigned shift; /* a batch has 1 << SHIFT values */
    struct batch {
        double sum;
        /* Sum of the values' scores, histogram_bucket(), which are roughly logarithms. */
        double scores;
    } batches[BATCHES_MAX];
};

void batches_add(struct batches *batches, int64_t value);

/* The intervals between events, as batches. */
struct interval_batches {
    struct batches batches;
    bool has_last;
    int64_t last; /* latest time */
};

/* TIME is the next event's, or TIME_UNKNOWN. */
void interval_batches_add(struct interval_batches *intervals, int64_t time);

/* Limit of parts. Fewer values make fewer parts. */
#define PARTS_MAX 64

/* Cuts the values into N parts with equal numbers of values, and returns the mean value and score of each part. A part
 * may end within a batch, whose values then count as evenly spread. N is at most the number of batches. */
void batches_cut(const struct batches *batches, unsigned n, double *ret_means, double *ret_scores);
/* The number of parts into which both can be cut. */
unsigned batches_parts(const struct batches *a, const struct batches *b);

struct mean_error {
    double mean;
    double error;  /* standard error of the mean */
    double degree; /* of `error`: number of independent values, minus one; at least 1 */
};

/* Computes the mean of N consecutive values, at least 2, and its standard error. Neighbours are often alike, for
 * example while a disk is busy. Then fewer values are independent. */
struct mean_error mean_measure(const double *values, unsigned n);
