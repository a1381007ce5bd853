/* SPDX-License-Identifier: MIT */
#include "analysis/result_rows.h"

#include <errno.h>
#include <stdio.h>

#include "base/macro.h"

static int add_percentiles(struct result *result, const struct percentiles *percentiles,
                           struct duration_columns *columns)
{
    static const struct percentiles usual = {{500, 900, 990}, 3};

    columns->parts = percentiles->n > 0 ? *percentiles : usual;
    for (unsigned i = 0; i < columns->parts.n; i++) {
        unsigned permille = columns->parts.permilles[i];
        char name[16];
        const char *title;

        if (permille % 10 != 0)
            snprintf(name, sizeof name, "P%u.%u", permille / 10, permille % 10);
        else
            snprintf(name, sizeof name, "P%u", permille / 10);
        title = arena_strdup(&result->arena, name);
        name[0] = 'p';
        if (!title)
            return -ENOMEM;
        columns->percentiles[i] =
            result_add_column(result, arena_strdup(&result->arena, name), title, RESULT_DURATION);
        if (!result->columns[columns->percentiles[i]].name)
            return -ENOMEM;
    }
    return 0;
}

int result_add_duration_columns(struct result *result, const struct percentiles *percentiles,
                                struct duration_columns *ret_columns)
{
    struct duration_columns columns = {
        .n = result_add_column(result, "n", "N", RESULT_COUNT),
        .rate = result_add_column(result, "rate", "N/s", RESULT_RATE),
        .sum = result_add_column(result, "sum", "SUM", RESULT_DURATION),
        .share = result_add_column(result, "share", "SHARE%", RESULT_SHARE),
        .mean = result_add_column(result, "mean", "MEAN", RESULT_DURATION),
        .min = result_add_column(result, "min", "MIN", RESULT_DURATION),
    };

    if (add_percentiles(result, percentiles, &columns) < 0)
        return -ENOMEM;
    columns.max = result_add_column(result, "max", "MAX", RESULT_DURATION);
    columns.error = result_add_column(result, "error", "ERROR", RESULT_ERROR);
    columns.max_at = result_add_column(result, "max_at", NULL, RESULT_TIME);
    columns.negative = result_add_column(result, "negative", NULL, RESULT_COUNT);
    *ret_columns = columns;
    return 0;
}

static int64_t clamp(__int128 v)
{
    return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

/* Durations below 0 count as 0 in histograms. */
static int64_t quantile(const struct histogram *durations, unsigned permille, int64_t min)
{
    int64_t v = clamp((__int128)histogram_quantile(durations, permille));

    return min < 0 ? v : MAX(v, min);
}

void result_set_durations(struct result *result, const struct duration_columns *columns,
                          struct result_row *to, const struct row *from)
{
    int64_t covered = coverage_covered(result->coverage, from->origin);
    double seconds = result_covered_seconds(result, from->origin);

    to->durations = &from->durations;
    result_set_number(to, columns->n, clamp((__int128)from->n));
    result_set_number(to, columns->error, from->error_max);
    result_set_number(to, columns->negative, clamp((__int128)from->n_negative));
    if (seconds > 0)
        result_set_real(to, columns->rate, (double)from->n / seconds);
    if (from->n == 0)
        return;
    result_set_number(to, columns->sum, clamp(from->sum));
    if (covered > 0)
        result_set_real(to, columns->share, (double)from->sum / (double)covered);
    result_set_number(to, columns->mean, clamp(from->sum / (__int128)from->n));
    result_set_number(to, columns->min, from->min);
    for (unsigned i = 0; i < columns->parts.n; i++)
        result_set_number(to, columns->percentiles[i],
                          quantile(&from->durations, columns->parts.permilles[i], from->min));
    result_set_number(to, columns->max, from->max);
    result_set_number(to, columns->max_at, from->max_at);
}

static int add_periods(struct result *result, const struct rows *rows, const struct row *from,
                       struct result_row *to)
{
    struct result_period *periods = arena_alloc(&result->arena, rows->n_periods * sizeof *periods);

    if (!periods)
        return -ENOMEM;
    for (unsigned i = 0; i < MIN(from->n_periods, rows->n_periods); i++) {
        const struct row_period *period = &from->periods[i];

        periods[i] = (struct result_period){
            .n = period->durations.n,
            .sum = period->sum,
            .p50 = quantile(&period->durations, 500, INT64_MIN),
            .p99 = quantile(&period->durations, 990, INT64_MIN),
        };
    }
    to->periods = periods;
    return 0;
}

int result_add_duration_rows(struct result *result, const struct duration_columns *columns,
                             const struct rows *rows)
{
    result->every = rows->every;
    result->periods_begin = rows->periods_begin;
    result->n_periods = rows->n_periods;
    for (unsigned i = 0; i < rows->n; i++) {
        const struct row *from = rows->rows[i];
        struct result_row *to = result_add_row(result);

        if (!to)
            return -ENOMEM;
        for (unsigned j = 0; j < rows->n_keys; j++) {
            if (result_set_key(result, to, j, from->keys[j]) < 0)
                return -ENOMEM;
            if (from->has_value >> j & 1)
                result_set_key_number(to, j, from->values[j]);
        }
        result_set_durations(result, columns, to, from);
        if (rows->every > 0 && rows->n_periods > 0 && add_periods(result, rows, from, to) < 0)
            return -ENOMEM;
    }
    return 0;
}
