/* SPDX-License-Identifier: MIT */
#pragma once

/* A series of values in batches of an equal number, in their order, from which parts of equal work are made. The number of values is
 * not known before: when there are BATCHES_MAX batches, each two become one, and further ones are twice as long. */

#include <stdbool.h>
#include <stdint.h>

#include "event/item.h"

#define BATCHES_MAX 128

/* Zeroed: empty. */
struct batches {
    uint64_t n;
    unsigned shift; /* a batch has 1 << SHIFT values */
    struct batch {
        double sum;
        double scores; /* sum of what histogram_bucket() says of each: its logarithm, roughly */
    } batches[BATCHES_MAX];
};

void batches_add(struct batches *batches, int64_t value);

/* The intervals between events, as values of batches. */
struct interval_batches {
    struct batches batches;
    bool has_last;
    int64_t last; /* the latest time */
};

/* TIME: of the next event, or TIME_UNKNOWN. */
void interval_batches_add(struct interval_batches *intervals, int64_t time);

/* The largest number of parts; fewer values make fewer parts. */
#define PARTS_MAX 64

/* Cuts the values into N parts of equal numbers of them, which may end within a batch: what is in a batch counts as evenly spread.
 * N is at most the number of batches. The means of the values, and of their scores. */
void batches_cut(const struct batches *batches, unsigned n, double *ret_means, double *ret_scores);
/* Into how many parts both can be cut. */
unsigned batches_parts(const struct batches *a, const struct batches *b);

struct mean_error {
    double mean;
    double error;  /* standard error of the mean */
    double degree; /* degrees of freedom of `error`: independent values, less one; at least 1 */
};

/* The mean of N values that follow each other, 2 or more, and how much it is due to chance. Neighbours are often alike, as all are while a
 * disk is busy: then there are fewer independent values. */
struct mean_error mean_measure(const double *values, unsigned n);
