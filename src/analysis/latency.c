/* SPDX-License-Identifier: MIT */
#include "analysis/latency.h"

#include <errno.h>

#include "base/macro.h"

/* The tag of a span that is not counted because it is not selected. */
#define NO_ROW 0

static _cold_ struct row *add_row(struct latency *latency, const struct span_kind *kind,
                                  const struct item *item, const uint64_t *numbers)
{
    const struct grouping *grouping = &latency->analysis.settings.grouping;
    struct text *text = &latency->rows.text;
    size_t starts[ROW_KEYS];
    const char *keys[ROW_KEYS] = {kind->name};
    struct row *row;

    text->next = text->start;
    for (unsigned i = 0; i < grouping->n; i++) {
        starts[i] = text_len(text);
        grouping_put(grouping, i, item, text);
        text_put_char(text, '\0');
    }
    if (text->error)
        return NULL;
    for (unsigned i = 0; i < grouping->n; i++)
        keys[i + 1] = text->start + starts[i];
    row = rows_add(&latency->rows, numbers, keys);
    if (!row || row->origin)
        return row;
    row->origin = item->origin;
    for (unsigned i = 0; i < grouping->n; i++)
        if (grouping_value(grouping, i, item, &row->values[i + 1]))
            row->has_value |= 1u << (i + 1);
    return row;
}

static uint64_t begin(void *arg, const struct span_kind *kind, const struct item *item)
{
    struct latency *latency = arg;
    uint64_t numbers[ROW_KEYS];
    struct row *row;

    if (!analysis_selects(&latency->analysis, item)) {
        analysis_leave_out(&latency->analysis, item);
        return NO_ROW;
    }
    numbers[0] = kind->number;
    grouping_numbers(&latency->analysis.settings.grouping, item, numbers + 1);
    row = rows_find(&latency->rows, numbers);
    if (unlikely(!row))
        row = add_row(latency, kind, item, numbers);
    if (unlikely(!row))
        error_set(&latency->analysis.sink.error, -ENOMEM, NULL, "out of memory");
    return (uintptr_t)row;
}

static int complete(void *arg, const struct span *span, const struct item *item)
{
    struct latency *latency = arg;
    struct row *row = (struct row *)(uintptr_t)span->tag;

    return row ? analysis_count_span(&latency->analysis, &latency->rows, row, &latency->spans, span,
                                     item)
               : 0;
}

static void incomplete(void *arg, const struct span *span, enum span_fate fate)
{
    struct latency *latency = arg;
    struct row *row = (struct row *)(uintptr_t)span->tag;

    if (fate == SPAN_OPEN && row)
        analysis_keep_open_span(&latency->analysis, &latency->rows, row, &latency->spans, span);
}

static bool selects(void *arg, const struct item *item)
{
    const struct latency *latency = arg;

    return analysis_selects(&latency->analysis, item);
}

static const struct spans_ops span_ops = {
    .begin = begin, .complete = complete, .incomplete = incomplete};

static struct latency *get_latency(struct analysis *analysis)
{
    return container_of(analysis, struct latency, analysis);
}

static int put(struct sink *sink, const struct item *items, unsigned n)
{
    struct latency *latency = get_latency(container_of(sink, struct analysis, sink));
    int r;

    r = analysis_note_times(&latency->analysis, &latency->rows, items, n);
    if (r == 0)
        r = spans_put(&latency->spans, items, n);
    return r < 0 ? r : sink->error.code;
}

static int begin_loss(struct sink *sink, const struct item *item)
{
    return spans_begin_loss(&get_latency(container_of(sink, struct analysis, sink))->spans, item);
}

static int finish(struct sink *sink)
{
    spans_finish(&get_latency(container_of(sink, struct analysis, sink))->spans);
    return 0;
}

static void add_columns(struct analysis *analysis, struct result *result)
{
    const struct grouping *grouping = &analysis->settings.grouping;

    result_add_key(result, "name", "SPAN", false);
    for (unsigned i = 0; i < grouping->n; i++)
        result_add_key(result, grouping->keys[i].name, grouping->keys[i].title,
                       grouping_is_number(grouping, i));
    result_add_duration_columns(result, &analysis->settings.percentiles,
                                &get_latency(analysis)->columns);
}

static int add_rows(struct analysis *analysis, struct result *result)
{
    const struct latency *latency = get_latency(analysis);
    unsigned n = 0;
    int r = result_add_duration_rows(result, &latency->columns, &latency->rows);

    if (r == 0)
        r = result_add_slow_spans(result, &latency->rows);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < result->n_rows && !latency->keeps_empty; i++)
        if (result->rows[i]->values[latency->columns.n].number > 0)
            result->rows[n++] = result->rows[i];
    if (!latency->keeps_empty)
        result->n_rows = n;
    for (unsigned i = 0; i < latency->spans.n_kinds; i++)
        for (unsigned fate = 0; fate < SPAN_FATES; fate++)
            result->unpaired[fate] += latency->spans.kinds[i]->fates[fate];
    result->unpaired[SPAN_COMPLETE] = 0;
    for (unsigned i = 0; i < latency->spans.n_kinds; i++)
        if (latency->spans.kinds[i]->rule->place == SPAN_ANYWHERE)
            return analysis_note_hidden_ends(result);
    return 0;
}

static bool has_events(const struct analysis *analysis)
{
    return container_of(analysis, const struct latency, analysis)->spans.n_kinds > 0;
}

int latency_init(struct latency *latency, const struct analysis_settings *settings,
                 const struct span_rule *rules, unsigned n_rules, const struct catalogue *catalogue)
{
    static const struct sink_ops sink_ops = {
        .put = put, .begin_loss = begin_loss, .finish = finish};
    static const struct analysis_ops ops = {.name = "latency",
                                            .add_columns = add_columns,
                                            .add_rows = add_rows,
                                            .has_events = has_events};
    int r;

    *latency =
        (struct latency){.analysis = {.sink.ops = &sink_ops, .ops = &ops, .settings = *settings}};
    r = rows_init(&latency->rows, 1 + settings->grouping.n, settings->slowest, settings->every,
                  settings->has_batches);
    if (r < 0)
        return r;
    rows_set_grouping(&latency->rows, &settings->grouping);
    r = spans_init(&latency->spans, catalogue, rules, n_rules, &span_ops, latency);
    latency->spans.selects = analysis_span_selects(settings, selects);
    return r;
}

void latency_done(struct latency *latency)
{
    spans_done(&latency->spans);
    rows_done(&latency->rows);
}
