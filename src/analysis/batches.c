/* SPDX-License-Identifier: MIT */
#include "analysis/batches.h"

#include <math.h>

#include "analysis/histogram.h"
#include "base/macro.h"

static void merge_pairs(struct batches *batches)
{
    for (unsigned i = 0; i < BATCHES_MAX / 2; i++) {
        const struct batch *a = &batches->batches[2 * i], *b = &batches->batches[2 * i + 1];

        batches->batches[i] =
            (struct batch){.sum = a->sum + b->sum, .scores = a->scores + b->scores};
    }
    for (unsigned i = BATCHES_MAX / 2; i < BATCHES_MAX; i++)
        batches->batches[i] = (struct batch){0};
    batches->shift++;
}

void batches_add(struct batches *batches, int64_t value)
{
    struct batch *batch;

    if (unlikely(batches->n >> batches->shift >= BATCHES_MAX))
        merge_pairs(batches);
    batch = &batches->batches[batches->n++ >> batches->shift];
    batch->sum += (double)value;
    batch->scores += histogram_bucket(value < 0 ? 0 : (uint64_t)value);
}

void interval_batches_add(struct interval_batches *intervals, int64_t time)
{
    if (time == TIME_UNKNOWN)
        return;
    if (likely(intervals->has_last))
        batches_add(&intervals->batches, time > intervals->last ? time - intervals->last : 0);
    intervals->last = intervals->has_last ? MAX(intervals->last, time) : time;
    intervals->has_last = true;
}

static unsigned count_batches(const struct batches *batches)
{
    return (unsigned)((batches->n + (UINT64_C(1) << batches->shift) - 1) >> batches->shift);
}

/* The sums of all values before index AT, which may be between two values. */
static struct batch sum_before(const struct batches *batches, double at)
{
    double length = (double)(UINT64_C(1) << batches->shift);
    unsigned whole = (unsigned)(at / length);
    struct batch sum = {0};

    for (unsigned i = 0; i < whole; i++) {
        sum.sum += batches->batches[i].sum;
        sum.scores += batches->batches[i].scores;
    }
    if (whole < count_batches(batches)) {
        double begin = length * whole;
        double part = (at - begin) / (fmin(begin + length, (double)batches->n) - begin);

        sum.sum += batches->batches[whole].sum * part;
        sum.scores += batches->batches[whole].scores * part;
    }
    return sum;
}

void batches_cut(const struct batches *batches, unsigned n, double *ret_means, double *ret_scores)
{
    double length = (double)batches->n / n;
    struct batch before = {0};

    for (unsigned i = 0; i < n; i++) {
        struct batch sum = sum_before(batches, length * (i + 1));

        ret_means[i] = (sum.sum - before.sum) / length;
        ret_scores[i] = (sum.scores - before.scores) / length;
        before = sum;
    }
}

unsigned batches_parts(const struct batches *a, const struct batches *b)
{
    return MIN(MIN(count_batches(a), count_batches(b)), (unsigned)PARTS_MAX);
}

/* The correlation of neighbours, r, is treated as in a process that forgets exponentially. The correlation of N values
 * is about (1 + 3 r) / N too small, and has a standard error. If r is larger than this error, r is increased by up to
 * as much, because too small an r would make chance look certain. */
struct mean_error mean_measure(const double *values, unsigned n)
{
    double mean = 0, squares = 0, products = 0, r, deviation, independent;

    for (unsigned i = 0; i < n; i++)
        mean += values[i] / n;
    for (unsigned i = 0; i < n; i++) {
        squares += (values[i] - mean) * (values[i] - mean);
        if (i > 0)
            products += (values[i] - mean) * (values[i - 1] - mean);
    }
    /* All are equal, but for what is rounded. */
    if (squares <= n * mean * mean * 1e-20)
        return (struct mean_error){mean, 0, n - 1};
    r = products / squares;
    r = fmax(r + (1 + 3 * r) / n, 0);
    deviation = sqrt((1 - fmin(r * r, 1)) / n);
    r += fmin(fmax(r - deviation, 0), deviation);
    independent = r < 1 ? fmax(n * (1 - r) / (1 + r), 2) : 2;
    return (struct mean_error){mean, sqrt(squares / (n - 1) / independent), independent - 1};
}
