/* SPDX-License-Identifier: MIT */
#include "analysis/result/estimate.h"

#include <math.h>

#include "base/macro.h"

#define PI 3.14159265358979323846
#define STEPS 512 /* of an integral; even */

/* Integrates cos(x)^POWER from FROM to a right angle by Simpson's rule. */
static double integrate(double from, double power)
{
    double step = (PI / 2 - from) / STEPS, sum = 0;

    for (unsigned i = 0; i <= STEPS; i++) {
        double x = from + step * i;
        double y = i == STEPS ? (power > 0 ? 0 : 1) : pow(cos(x), power);

        sum += y * (i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2);
    }
    return sum * step / 3;
}

/* With t = sqrt(degree) * tan(x), Student's density is proportional to cos(x)^(degree - 1). */
static double compute_student(double tail, unsigned degree)
{
    double power = degree - 1.0;
    double wanted = tail * 2 * integrate(0, power);
    double low = 0, high = PI / 2;

    for (unsigned i = 0; i < 50; i++) {
        double x = (low + high) / 2;

        if (integrate(x, power) > wanted)
            low = x;
        else
            high = x;
    }
    return sqrt(degree) * tan(low);
}

double student_value(struct student *student, double degree)
{
    unsigned n = degree < STUDENT_DEGREES ? (unsigned)degree : STUDENT_DEGREES;

    n = MAX(n, 1u);
    if (student->values[n] == 0)
        student->values[n] = compute_student(student->tail, n);
    return student->values[n];
}

double estimate_score_variance(const struct histogram *durations)
{
    double n = (double)durations->n, mean = 0, squares = 0;

    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        mean += (double)histogram_count(durations, i) * i / n;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        squares += (double)histogram_count(durations, i) * (i - mean) * (i - mean);
    return squares / n / n;
}

bool estimate_percentile(const struct histogram *durations, unsigned permille, double width,
                         struct estimate *ret)
{
    double n = (double)durations->n, p = permille / 1000.0;
    unsigned bucket;

    width *= sqrt(n * p * (1 - p));
    if (n * p - width < 1 || n * p + width + 1 > n)
        return false;
    bucket = histogram_bucket_at(durations, (uint64_t)(n * p - width));
    ret->low = (double)histogram_bucket_start(bucket);
    bucket = histogram_bucket_at(durations, (uint64_t)(n * p + width) + 1);
    ret->high = bucket + 1 < HISTOGRAM_BUCKETS ? (double)histogram_bucket_start(bucket + 1) - 1
                                               : (double)durations->max;
    ret->high = MIN(ret->high, (double)durations->max);
    return true;
}
