/* SPDX-License-Identifier: MIT */
#pragma once

/* Intervals that hold the true value of a mean or of a percentile with a stated certainty, from one series of values.
 * TAIL is the probability that the true value is above the interval, and the same below it. */

#include "analysis/batches.h"
#include "analysis/histogram.h"

/* How often a TAIL is asked for: values for the degrees of freedom 1 to STUDENT_DEGREES, once they are computed. */
#define STUDENT_DEGREES 128
struct student {
    double tail;
    double values[STUDENT_DEGREES + 1]; /* 0: not yet */
};

/* The value that a variable with Student's distribution exceeds with the probability STUDENT->tail, which is above 0 and
 * below 0.5. DEGREE: 1 or more; rounded down. */
double student_value(struct student *student, double degree);

struct estimate {
    double low, high;
};

/* By how much the mean score of DURATIONS (analysis/batches.h) varies if they are independent: the square of its standard error. */
double estimate_score_variance(const struct histogram *durations);

/* The PERMILLE-th percentile of DURATIONS, in its unit: from the ranks between which it lies, which are WIDTH standard deviations of
 * independent values apart from the middle. False: there are too few values. */
bool estimate_percentile(const struct histogram *durations, unsigned permille, double width,
                         struct estimate *ret);
