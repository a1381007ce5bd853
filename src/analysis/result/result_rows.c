/* SPDX-License-Identifier: MIT */
#include "analysis/result/result_rows.h"

#include <errno.h>
#include <stdio.h>

#include "base/glob.h"
#include "base/macro.h"
#include "base/ticks.h"
#include "base/wide.h"

static void add_percentile(struct result *result, unsigned permille, unsigned *ret_column)
{
    char title[16];
    char *copy, *name;

    if (permille % 10 != 0)
        snprintf(title, sizeof title, "P%u.%u", permille / 10, permille % 10);
    else
        snprintf(title, sizeof title, "P%u", permille / 10);
    copy = arena_strdup(&result->arena, title);
    name = arena_strdup(&result->arena, title);
    if (!copy || !name) {
        result->error = -ENOMEM;
        return;
    }
    name[0] = 'p';
    *ret_column = result_add_column(result, name, copy, RESULT_DURATION);
}

void result_add_duration_columns(struct result *result, const struct percentiles *percentiles,
                                 struct duration_columns *ret_columns)
{
    static const struct percentiles usual = {{500, 900, 990}, 3};
    struct duration_columns columns = {
        .n = result_add_column(result, "n", "N", RESULT_COUNT),
        .rate = result_add_column(result, "rate", "N/s", RESULT_RATE),
        .sum = result_add_column(result, "sum", "SUM", RESULT_DURATION),
        .share = result_add_column(result, "share", "SHARE%", RESULT_SHARE),
        .mean = result_add_column(result, "mean", "MEAN", RESULT_DURATION),
        .min = result_add_column(result, "min", "MIN", RESULT_DURATION),
        .parts = percentiles->n > 0 ? *percentiles : usual,
    };

    for (unsigned i = 0; i < columns.parts.n; i++)
        add_percentile(result, columns.parts.permilles[i], &columns.percentiles[i]);
    columns.max = result_add_column(result, "max", "MAX", RESULT_DURATION);
    columns.error = result_add_column(result, "error", "ERROR", RESULT_ERROR);
    columns.max_at = result_add_column(result, "max_at", NULL, RESULT_TIME);
    columns.negative = result_add_column(result, "negative", NULL, RESULT_COUNT);
    columns.covered = result_add_column(result, "covered", NULL, RESULT_DURATION);
    *ret_columns = columns;
}

/* Negative durations count as 0 in histograms. */
static int64_t quantile(const struct histogram *durations, unsigned permille, int64_t min)
{
    int64_t v = wide_clamp(wide_of_u64(histogram_quantile(durations, permille)));

    return min < 0 ? v : MAX(v, min);
}

/* The ticks by which rates and shares of ROW divide: the covered time of its sources. */
static int64_t get_covered(const struct coverage *coverage, const struct row *row)
{
    if (row->has_more_sources)
        return coverage_covered(coverage, NULL);
    return row->n_sources > 0 ? coverage_covered_pairs(coverage, row->sources, row->n_sources)
                              : coverage_covered(coverage, row->origin);
}

/* True if rates of ROW divide by a time in which spans of it may be missing. */
static bool is_least(const struct coverage *coverage, const struct row *row, int64_t covered)
{
    struct coverage_pair alike[COVERAGE_PAIRS_MAX];

    if (row->has_more_sources || row->n_sources == 0)
        return false;
    for (unsigned i = 0; i < row->n_sources; i++) {
        alike[i] = row->sources[i];
        alike[i].moves = false;
    }
    return coverage_covered_pairs(coverage, alike, row->n_sources) < covered;
}

/* The lost share of the recorded time of ROW's sources. */
static double get_lost_share(const struct coverage *coverage, const struct row *row)
{
    double most = 0;

    if (row->has_more_sources || row->n_sources == 0)
        return coverage_lost_share(coverage, row->has_more_sources ? NULL : row->origin);
    for (unsigned i = 0; i < row->n_sources; i++)
        most = MAX(most, coverage_lost_share_pair(coverage, &row->sources[i]));
    return most;
}

static bool lacks_cpu(const struct coverage *coverage, const struct row *row)
{
    if (row->n_sources == 0)
        return row->origin && coverage_lacks_cpu(coverage, row->origin);
    for (unsigned i = 0; i < row->n_sources; i++)
        if (coverage_lacks_cpu_pair(coverage, &row->sources[i]))
            return true;
    return false;
}

void result_set_durations(struct result *result, const struct duration_columns *columns,
                          struct result_row *to, const struct row *from)
{
    int64_t covered = get_covered(result->coverage, from);

    result->rates_are_least |= is_least(result->coverage, from, covered);
    to->durations = &from->durations;
    to->lost_share = get_lost_share(result->coverage, from);
    to->lacks_cpu = lacks_cpu(result->coverage, from);
    for (unsigned i = 1; i < from->n_sources; i++)
        to->adds_up |= from->sources[i].begin != from->sources[0].begin;
    to->origin = from->has_more_sources || to->adds_up ? NULL : from->origin;
    if (from->batches) {
        to->batches = &from->batches->durations;
        to->intervals = &from->batches->intervals.batches;
    }
    result_set_number(to, columns->n, wide_clamp(wide_of_u64(from->n)));
    if (from->error_max == ERROR_UNKNOWN)
        result_set_unknown(to, columns->error);
    else
        result_set_number(to, columns->error, from->error_max);
    result_set_number(to, columns->negative, wide_clamp(wide_of_u64(from->n_negative)));
    if (covered > 0)
        result_set_number(to, columns->covered, covered);
    if (covered > 0 && result->clock.hz > 0)
        result_set_real(to, columns->rate,
                        (double)from->n * (double)result->clock.hz / (double)covered);
    if (from->n == 0)
        return;
    if (wide_is_less(wide_of(INT64_MAX), from->sum))
        result_set_unknown(to, columns->sum);
    else
        result_set_number(to, columns->sum, wide_clamp(from->sum));
    if (covered > 0)
        result_set_real(to, columns->share, wide_to_double(from->sum) / (double)covered);
    result_set_number(to, columns->mean, wide_clamp(wide_div(from->sum, wide_of_u64(from->n))));
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
    unsigned n = MIN(from->n_periods, rows->n_periods - MIN(from->first_period, rows->n_periods));
    struct result_period *periods = arena_alloc(&result->arena, MAX(n, 1u) * sizeof *periods);

    if (!periods)
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++) {
        const struct row_period *period = &from->periods[i];

        periods[i] = (struct result_period){
            .n = period->durations.n,
            .sum = period->sum,
            .p50 = quantile(&period->durations, 500, INT64_MIN),
            .p99 = quantile(&period->durations, 990, INT64_MIN),
        };
    }
    to->periods = periods;
    to->first_period = from->first_period;
    to->n_periods = n;
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

bool analysis_selects(const struct analysis *analysis, const struct item *item)
{
    const struct analysis_settings *settings = &analysis->settings;
    const char *name;

    if (unlikely(settings->select != NULL) && !selection_has_row_at(settings->select, item))
        return false;
    if (likely(!settings->task))
        return true;
    name = item_task_name(item);
    return name && glob_match(settings->task, name);
}

void analysis_leave_out(struct analysis *analysis, const struct item *item)
{
    const struct selection *select = analysis->settings.select;

    analysis->left_out++;
    analysis->unplaced += select && selection_lacks_cpu(select, item->origin, item->time, item->cpu,
                                                        item->pid, item->vcpu);
}

spans_selects_fn *analysis_span_selects(const struct analysis_settings *settings,
                                        spans_selects_fn *selects)
{
    return settings->select || settings->task ? selects : NULL;
}

int analysis_note_times(const struct analysis *analysis, struct rows *rows,
                        const struct item *items, unsigned n)
{
    const struct selection *select = analysis->settings.select;
    unsigned first = 0;

    if (unlikely(select != NULL) && rows->periods_begin == TIME_UNKNOWN &&
        selection_next_in_time(select, items, n, &first) > 0)
        rows->periods_begin = items[first].time;
    return rows_note_times(rows, items, n, select == NULL);
}

static void keep_slow_span(struct rows *rows, struct row *row, const struct span *span, int64_t end,
                           uint32_t error_ns, bool is_open)
{
    struct slow_span slow = {.begin = span_begin(span),
                             .end = end,
                             .is_open = is_open,
                             .error_ns = error_ns,
                             .cpu = span->cpu,
                             .pid = span->pid,
                             .vcpu = span->vcpu,
                             .origin = span->origin,
                             .kind = span->kind->rule,
                             .row = row};

    for (unsigned i = 0; i < SLOW_STEPS; i++)
        slow.at[i] = i < span->kind->rule->n_steps ? span->at[i] : TIME_UNKNOWN;
    slowest_keep(&rows->slowest, &slow);
}

void rows_keep_slow_span(struct rows *rows, struct row *row, const struct span *span, int64_t end)
{
    keep_slow_span(rows, row, span, end, span->error_ns, false);
}

void analysis_keep_open_span(const struct analysis *analysis, struct rows *rows, struct row *row,
                             const struct spans *spans, const struct span *span)
{
    struct source_end end;

    if (rows->slowest.max == 0)
        return;
    end = source_ends_find_open(&rows->ends, spans, span);
    if (end.time > span_begin(span) &&
        ticks_between(span_begin(span), end.time) >= analysis->settings.longer)
        keep_slow_span(rows, row, span, end.time, MAX(span->error_ns, end.error_ns), true);
}

int analysis_give_span(const struct analysis *analysis, const struct row *row,
                       const struct span *span, int64_t end)
{
    const struct analysis_span copy = {.begin = span_begin(span),
                                       .end = end,
                                       .error_ns = span->error_ns,
                                       .cpu = span->cpu,
                                       .pid = span->pid,
                                       .vcpu = span->vcpu,
                                       .origin = span->origin,
                                       .keys = row->keys,
                                       .numbers = row->values,
                                       .has_number = row->has_value};

    return analysis->put_span(analysis->put_span_arg, &copy);
}

int analysis_count_span(struct analysis *analysis, struct rows *rows, struct row *row,
                        struct spans *spans, const struct span *span, const struct item *end)
{
    int64_t duration = (int64_t)((uint64_t)span_end(span) - (uint64_t)span_begin(span));
    int r = 0;

    if (duration < analysis->settings.longer) {
        analysis->left_out++;
        return 0;
    }
    if (rows->slowest.max > 0)
        rows_keep_slow_span(rows, row, span, span_end(span));
    if (analysis->put_span)
        r = analysis_give_span(analysis, row, span, span_end(span));
    row_note_source(rows, row, span->origin, end->origin, span->cpu, span->vcpu,
                    spans_stayed(spans, span, end), span->kind->rule->place == SPAN_ON_THREAD);
    if (r == 0)
        r = row_count(rows, row, span_begin(span), duration, span->error_ns);
    if (r == -ERANGE)
        return analysis_period_error(&analysis->sink);
    return r;
}

int analysis_period_error(struct sink *sink)
{
    return error_set(&sink->error, -ERANGE, NULL,
                     "the trace has more than %d periods; give a longer --every", ROW_PERIODS_MAX);
}

/* Makes the stages of a span with more than two steps. An open span waits for the next step that is not optional. */
static unsigned make_stages(const struct slow_span *slow, struct result_stage *stages)
{
    const struct span_rule *rule = slow->kind;
    int64_t begin = slow->begin;
    unsigned n = 0, seen = 0;

    for (unsigned i = 1; rule && rule->n_steps > 2 && i < rule->n_steps; i++) {
        if (slow->at[i] == TIME_UNKNOWN)
            continue;
        stages[n++] =
            (struct result_stage){.name = rule->steps[i].event, .begin = begin, .end = slow->at[i]};
        begin = slow->at[i];
        seen = i;
    }
    if (rule && rule->n_steps > 2 && slow->is_open) {
        do
            seen++;
        while (rule->steps[seen].optional);
        stages[n++] = (struct result_stage){
            .name = rule->steps[seen].event, .begin = begin, .end = slow->end};
    }
    return n;
}

struct result_slow result_slow_of(const struct result *result, const struct slow_span *slow,
                                  const struct result_stage *stages)
{
    return (struct result_slow){.begin = slow->begin,
                                .end = slow->end,
                                .is_open = slow->is_open,
                                .error_ns = slow->error_ns,
                                .cpu = slow->cpu,
                                .pid = slow->pid,
                                .vcpu = slow->vcpu,
                                .origin = slow->origin,
                                .row = result->rows[slow->row->number],
                                .stages = stages};
}

int result_add_slow_spans(struct result *result, const struct rows *rows)
{
    for (unsigned i = 0; i < slowest_n(&rows->slowest); i++) {
        const struct slow_span *slow = slowest_get(&rows->slowest, i);
        struct result_stage stages[SLOW_STEPS];
        struct result_slow copy = result_slow_of(result, slow, stages);

        copy.n_stages = make_stages(slow, stages);

        if (result_add_slow(result, &copy) < 0)
            return -ENOMEM;
    }
    return 0;
}
