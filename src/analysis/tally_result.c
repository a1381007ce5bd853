/* SPDX-License-Identifier: MIT */
#include "analysis/tally_result.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

static struct tally_result *get_tally(struct analysis *analysis)
{
    return container_of(analysis, struct tally_result, analysis);
}

static int put(struct sink *sink, const struct item *items, unsigned n)
{
    return sink_put(&get_tally(container_of(sink, struct analysis, sink))->tally.sink, items, n);
}

static void add_columns(struct analysis *analysis, struct result *result)
{
    struct tally_result *tally = get_tally(analysis);

    result_add_key(result, "layer", "LAYER", false);
    result_add_key(result, "event", "EVENT", false);
    tally->n = result_add_column(result, "n", "N", RESULT_COUNT);
    tally->rate = result_add_column(result, "rate", "N/s", RESULT_RATE);
    tally->p50 = result_add_column(result, "p50", "P50", RESULT_DURATION);
    tally->p99 = result_add_column(result, "p99", "P99", RESULT_DURATION);
    tally->max = result_add_column(result, "max", "MAX", RESULT_DURATION);
}

static int add_row(struct tally_result *tally, struct result *result, const struct tally_row *from)
{
    struct result_row *to = result_add_row(result);
    double seconds = result_covered_seconds(result, from->origin);

    if (!to || result_set_key(result, to, 0, layer_name(from->origin->layer)) < 0 ||
        result_set_key(result, to, 1, from->class->name) < 0)
        return -ENOMEM;
    to->lacks_cpu = coverage_lacks_cpu(result->coverage, from->origin);
    result_set_number(to, tally->n, (int64_t)from->count);
    if (seconds > 0)
        result_set_real(to, tally->rate, (double)from->count / seconds);
    to->durations = from->distances;
    to->intervals = from->intervals ? &from->intervals->batches : NULL;
    if (from->distances) {
        result_set_number(to, tally->p50, (int64_t)histogram_quantile(from->distances, 500));
        result_set_number(to, tally->p99, (int64_t)histogram_quantile(from->distances, 990));
        result_set_number(to, tally->max, (int64_t)from->distances->max);
    }
    return 0;
}

static int add_rows(struct analysis *analysis, struct result *result)
{
    struct tally_result *tally = get_tally(analysis);
    const struct tally_row **rows;
    unsigned n;
    int r = tally_sorted(&tally->tally, &rows, &n);

    if (r < 0)
        return r;
    for (unsigned i = 0; i < n && r >= 0; i++)
        r = add_row(tally, result, rows[i]);
    free(rows);
    return r;
}

int tally_result_init(struct tally_result *tally, const struct analysis_settings *settings)
{
    static const struct sink_ops sink_ops = {.put = put};
    static const struct analysis_ops ops = {
        .name = "stat", .add_columns = add_columns, .add_rows = add_rows};
    const struct tally_options options = {.by = TALLY_BY_EVENT,
                                          .has_intervals = settings->has_batches};

    *tally = (struct tally_result){
        .analysis = {.sink.ops = &sink_ops, .ops = &ops, .settings = *settings}};
    return tally_init_with(&tally->tally, &options);
}

void tally_result_done(struct tally_result *tally)
{
    tally_done(&tally->tally);
}
