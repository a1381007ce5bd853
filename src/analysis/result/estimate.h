/* SPDX-License-Identifier: MIT */
#pragma once

/* Computes confidence intervals of a mean or a percentile from one series of values. TAIL is the probability that the
 * true value is above the interval, and also that it is below. */

#include "analysis/batches.h"
#include "analysis/histogram.h"

/* Caches values for the degrees of freedom 1 to STUDENT_DEGREES, for one TAIL. */
#define STUDENT_DEGREES 128
struct student {
    double tail;
    double values[STUDENT_DEGREES + 1]; /* 0: not computed yet */
};

/* The value that a variable with Student's distribution exceeds with the probability STUDENT->tail, between 0 and 0.5.
 * DEGREE: at least 1; rounded down. */
double student_value(struct student *student, double degree);

struct estimate {
    double low, high;
};

/* The variance of the mean score of DURATIONS (analysis/batches.h), if they are independent: the square of its standard
 * error. */
double estimate_score_variance(const struct histogram *durations);

/* The interval of the PERMILLE-th percentile of DURATIONS, in its unit: the values at the ranks that are WIDTH standard
 * deviations of independent values away from the middle. False if there are too few values. */
bool estimate_percentile(const struct histogram *durations, unsigned permille, double width,
                         struct estimate *ret);
