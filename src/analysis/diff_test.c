/* SPDX-License-Identifier: MIT */

/* Tests which changes of a diff are more than chance. */

#include <math.h>

#include "analysis/diff_internal.h"
#include "analysis/result/estimate.h"
#include "base/macro.h"

struct tests {
    const struct diff *diff;
    struct student student;
};

/* Ticks of a result in ns, or in ticks if the rate is unknown. */
static double get_scale(const struct result *result)
{
    return result->clock.hz > 0 ? (double)NANOSECONDS / (double)result->clock.hz : 1;
}

/* By how many ns the clocks may falsify all durations of ROW; NAN if unknown. */
static double get_clock_error(const struct result *result, const struct result_row *row)
{
    int column = result_find_column(result, "error");

    return column < 0 ? 0 : result_number(result, row, (unsigned)column);
}

/* Decides by the interval from LOW to HIGH, which contains a change estimated as CHANGE. CHANCE: half of the interval
 * without other errors. */
static struct diff_test decide(double change, double low, double high, double chance)
{
    struct diff_test test = {DIFF_SAME, low, high};

    if (isnan(low) || isnan(high))
        test.verdict = DIFF_UNKNOWN;
    else if ((low > 0 || high < 0) && !(fabs(change) < DIFF_CHANGE_MIN))
        test.verdict = DIFF_CHANGED;
    else if (chance > DIFF_CHANCE_MAX)
        test.verdict = DIFF_UNKNOWN;
    return test;
}

static const struct diff_test unknown = {DIFF_UNKNOWN, NAN, NAN};

/* BELOW and ABOVE: how much the difference may deviate by chance. */
static struct diff_test test_durations(const struct diff_row *row, enum diff_metric metric,
                                       double below, double above, double clock_error)
{
    double a = row->values[0][metric], difference = row->values[1][metric] - a;
    double low = difference - below - clock_error, high = difference + above + clock_error;

    /* The change of nothing has no size, but it may be sure. */
    if (a == 0)
        return (struct diff_test){low > 0 || high < 0 ? DIFF_CHANGED : DIFF_SAME, NAN, NAN};
    return decide(difference / fabs(a), low / fabs(a), high / fabs(a),
                  (below + above) / 2 / fabs(a));
}

/* Two series of a row, as parts of equal work. */
struct series {
    unsigned n;
    double means[2][PARTS_MAX], scores[2][PARTS_MAX];
};

static void cut(const struct batches *a, const struct batches *b, struct series *ret)
{
    ret->n = batches_parts(a, b);
    batches_cut(a, ret->n, ret->means[0], ret->scores[0]);
    batches_cut(b, ret->n, ret->means[1], ret->scores[1]);
}

/* Compares parts with the same number. What changes during the work does so in both traces. */
static struct diff_test test_mean(struct tests *tests, const struct diff_row *row,
                                  const struct series *series, double clock_error)
{
    double scale_a = get_scale(tests->diff->results[0]);
    double scale_b = get_scale(tests->diff->results[1]);
    double differences[PARTS_MAX], half;
    struct mean_error error;

    for (unsigned i = 0; i < series->n; i++)
        differences[i] = series->means[1][i] * scale_b - series->means[0][i] * scale_a;
    error = mean_measure(differences, series->n);
    half = error.error * student_value(&tests->student, error.degree);
    return test_durations(row, DIFF_MEAN, half, half, clock_error);
}

/* Tests the ratio of the mean intervals. If the rates per covered time differ by another ratio, because one trace has
 * more time without events, the interval includes this ratio, too. */
static struct diff_test test_rate(struct tests *tests, const struct diff_row *row)
{
    double change = diff_change(row, DIFF_RATE), means[2], differences[PARTS_MAX], half, ratio;
    struct mean_error error;
    struct series series;

    cut(row->from[0]->intervals, row->from[1]->intervals, &series);
    for (unsigned i = 0; i < 2; i++)
        means[i] = mean_measure(series.means[i], series.n).mean;
    if (isnan(change) || means[0] <= 0 || means[1] <= 0)
        return unknown;
    for (unsigned i = 0; i < series.n; i++)
        differences[i] = series.means[1][i] / means[1] - series.means[0][i] / means[0];
    error = mean_measure(differences, series.n);
    half = error.error * student_value(&tests->student, error.degree);
    ratio = means[0] * get_scale(tests->diff->results[0]) /
            (means[1] * get_scale(tests->diff->results[1]));
    return decide(change, fmin(ratio * exp(-half) - 1, change), fmax(ratio * exp(half) - 1, change),
                  half);
}

/* How many standard deviations apart the ranks of percentiles are: more than for independent spans, in the proportion
 * in which the scores of parts vary more. */
static double get_rank_width(struct tests *tests, const struct diff_row *row,
                             const struct series *series)
{
    double variance = estimate_score_variance(row->from[0]->durations) +
                      estimate_score_variance(row->from[1]->durations);
    double differences[PARTS_MAX], excess = 1;
    struct mean_error error;

    for (unsigned i = 0; i < series->n; i++)
        differences[i] = series->scores[1][i] - series->scores[0][i];
    error = mean_measure(differences, series->n);
    if (variance > 0)
        excess = fmax(error.error * error.error / variance, 1);
    return student_value(&tests->student, error.degree) * sqrt(excess);
}

static struct diff_test test_percentile(struct tests *tests, const struct diff_row *row,
                                        enum diff_metric metric, double width, double clock_error)
{
    double below[2], above[2];

    for (unsigned i = 0; i < 2; i++) {
        double scale = get_scale(tests->diff->results[i]);
        struct estimate estimate;

        if (!estimate_percentile(row->from[i]->durations, metric == DIFF_P50 ? 500 : 990, width,
                                 &estimate))
            return unknown;
        below[i] = fmax(row->values[i][metric] - estimate.low * scale, 0);
        above[i] = fmax(estimate.high * scale - row->values[i][metric], 0);
    }
    return test_durations(row, metric, hypot(below[1], above[0]), hypot(above[1], below[0]),
                          clock_error);
}

static bool has_negative(const struct result *result, const struct result_row *row)
{
    int column = result_find_column(result, "negative");

    return column >= 0 && result_number(result, row, (unsigned)column) > 0;
}

static void test_row(struct tests *tests, struct diff_row *row)
{
    static const enum diff_metric percentiles[] = {DIFF_P50, DIFF_P99};
    const struct result_row *const *from = row->from;
    const struct result *const *results = tests->diff->results;
    bool has_durations = from[0]->batches != NULL;
    /* Percentiles of what a row without durations has are those of its intervals. */
    double clock_error =
        get_clock_error(results[0], from[0]) + get_clock_error(results[1], from[1]);
    struct series series;
    double width;

    /* Intervals are those of all CPUs, as the rate is. */
    if (row->lacks_cpu && !has_durations)
        return;
    row->tests[DIFF_RATE] = row->lacks_cpu ? unknown : test_rate(tests, row);
    if (has_durations)
        cut(from[0]->batches, from[1]->batches, &series);
    else
        cut(from[0]->intervals, from[1]->intervals, &series);
    if (has_durations)
        row->tests[DIFF_MEAN] = test_mean(tests, row, &series, clock_error);
    width = get_rank_width(tests, row, &series);
    for (unsigned i = 0; i < ARRAY_SIZE(percentiles); i++)
        if (!has_negative(results[0], from[0]) && !has_negative(results[1], from[1]))
            row->tests[percentiles[i]] =
                test_percentile(tests, row, percentiles[i], width, clock_error);
    row->verdict = row->tests[has_durations ? DIFF_MEAN : DIFF_RATE].verdict;
    for (unsigned i = 0; i < ARRAY_SIZE(percentiles); i++)
        if (row->tests[percentiles[i]].verdict == DIFF_CHANGED)
            row->verdict = DIFF_CHANGED;
}

/* 0 if unknown. */
static uint64_t count_spans(const struct result_row *row)
{
    /* Events whose times all step back have no intervals of their own. */
    return !row->durations  ? 0
           : row->batches   ? row->batches->n
           : row->intervals ? row->intervals->n + 1
                            : 0;
}

static bool can_test(const struct diff_row *row)
{
    return row->from[0] && row->from[1] && count_spans(row->from[0]) >= DIFF_SPANS_MIN &&
           count_spans(row->from[1]) >= DIFF_SPANS_MIN;
}

/* Sets the tested metrics of a row in both traces to unknown. */
static void set_unknown(struct diff_row *row)
{
    static const enum diff_metric tested[] = {DIFF_RATE, DIFF_MEAN, DIFF_P50, DIFF_P99};

    for (unsigned i = 0; i < ARRAY_SIZE(tested); i++)
        if (!isnan(row->values[0][tested[i]]) && !isnan(row->values[1][tested[i]]))
            row->tests[tested[i]] = unknown;
}

void diff_test_rows(struct diff *diff)
{
    struct tests tests = {.diff = diff};
    unsigned n = 0;

    for (unsigned i = 0; i < diff->n; i++)
        set_unknown(&diff->rows[i]);
    for (unsigned i = 0; i < diff->n; i++)
        n += can_test(&diff->rows[i]) ? (diff->rows[i].from[0]->batches ? 4 : 3) : 0;
    if (n == 0)
        return;
    tests.student.tail = DIFF_ERROR / 2 / n;
    for (unsigned i = 0; i < diff->n; i++)
        if (can_test(&diff->rows[i]))
            test_row(&tests, &diff->rows[i]);
}

double diff_change(const struct diff_row *row, enum diff_metric metric)
{
    double a = row->values[0][metric], b = row->values[1][metric];

    if (a == b)
        return 0;
    return isnan(a) || isnan(b) || a == 0 ? NAN : (b - a) / fabs(a);
}
