/* SPDX-License-Identifier: MIT */
#include "analysis/latency.h"

#include <errno.h>

#include "base/glob.h"
#include "base/macro.h"

/* The tag of a span that is not counted: its task is not selected. */
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

static bool is_wanted(const struct latency *latency, const struct item *item)
{
    const char *name;

    if (likely(!latency->analysis.settings.task))
        return true;
    name = item_task_name(item);
    return name && glob_match(latency->analysis.settings.task, name);
}

static uint64_t begin(void *arg, const struct span_kind *kind, const struct item *item)
{
    struct latency *latency = arg;
    uint64_t numbers[ROW_KEYS];
    struct row *row;

    if (!is_wanted(latency, item))
        return NO_ROW;
    numbers[0] = kind->number;
    grouping_numbers(&latency->analysis.settings.grouping, item, numbers + 1);
    row = rows_find(&latency->rows, numbers);
    if (unlikely(!row))
        row = add_row(latency, kind, item, numbers);
    if (unlikely(!row))
        latency->analysis.sink.error.code = -ENOMEM;
    return (uintptr_t)row;
}

static int complete(void *arg, const struct span *span, const struct item *item)
{
    struct latency *latency = arg;
    struct row *row = (struct row *)(uintptr_t)span->tag;
    int64_t duration = (int64_t)((uint64_t)span_end(span) - (uint64_t)span_begin(span));
    struct slow_span slow;

    (void)item;
    if (!row || duration < latency->analysis.settings.longer)
        return 0;
    if (latency->rows.slowest_max > 0) {
        slow = (struct slow_span){.begin = span_begin(span),
                                  .end = span_end(span),
                                  .error_ns = span->error_ns,
                                  .cpu = span->cpu,
                                  .pid = span->pid,
                                  .vcpu = span->vcpu,
                                  .origin = span->origin,
                                  .kind = span->kind->rule,
                                  .row = row};
        for (unsigned i = 0; i < ROW_STAGES; i++)
            slow.at[i] = i < span->kind->rule->n_steps ? span->at[i] : TIME_UNKNOWN;
        rows_keep_slow(&latency->rows, &slow);
    }
    if (latency->analysis.put_span) {
        const struct analysis_span copy = {.begin = span_begin(span),
                                           .end = span_end(span),
                                           .error_ns = span->error_ns,
                                           .cpu = span->cpu,
                                           .pid = span->pid,
                                           .vcpu = span->vcpu,
                                           .origin = span->origin,
                                           .keys = row->keys,
                                           .numbers = row->values,
                                           .has_number = row->has_value};
        int r = latency->analysis.put_span(latency->analysis.put_span_arg, &copy);

        if (r < 0)
            return r;
    }
    return row_count(&latency->rows, row, span_begin(span), duration, span->error_ns);
}

static const struct spans_ops span_ops = {.begin = begin, .complete = complete};

static struct latency *get_latency(struct analysis *analysis)
{
    return container_of(analysis, struct latency, analysis);
}

static int put(struct sink *sink, const struct item *items, unsigned n)
{
    struct latency *latency = get_latency(container_of(sink, struct analysis, sink));
    int r;

    if (unlikely(latency->rows.periods_begin == TIME_UNKNOWN) && n > 0)
        latency->rows.periods_begin = items[0].time;
    r = spans_put(&latency->spans, items, n);
    if (r == -ERANGE)
        return error_set(&sink->error, r, NULL,
                         "the trace has more than %d periods; give a longer --every",
                         ROW_PERIODS_MAX);
    return r < 0 ? r : sink->error.code;
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
        result_add_key(result, grouping->keys[i].name, grouping->keys[i].name,
                       grouping_is_number(grouping, i));
    result_add_duration_columns(result, &analysis->settings.percentiles,
                                &get_latency(analysis)->columns);
}

/* The stages of a span with more than two steps. */
static unsigned make_stages(const struct slow_span *slow, struct result_stage *stages)
{
    const struct span_rule *rule = slow->kind;
    int64_t begin = slow->begin;
    unsigned n = 0;

    for (unsigned i = 1; rule->n_steps > 2 && i < rule->n_steps; i++) {
        if (slow->at[i] == TIME_UNKNOWN)
            continue;
        stages[n++] =
            (struct result_stage){.name = rule->steps[i].event, .begin = begin, .end = slow->at[i]};
        begin = slow->at[i];
    }
    return n;
}

static int add_slowest(const struct latency *latency, struct result *result)
{
    for (unsigned i = 0; i < latency->rows.n_slowest; i++) {
        const struct slow_span *slow = &latency->rows.slowest[i];
        struct result_stage stages[ROW_STAGES];
        const struct result_slow copy = {.begin = slow->begin,
                                         .end = slow->end,
                                         .error_ns = slow->error_ns,
                                         .cpu = slow->cpu,
                                         .pid = slow->pid,
                                         .vcpu = slow->vcpu,
                                         .origin = slow->origin,
                                         .row = result->rows[slow->row->number],
                                         .stages = stages,
                                         .n_stages = make_stages(slow, stages)};

        if (result_add_slow(result, &copy) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int add_rows(struct analysis *analysis, struct result *result)
{
    const struct latency *latency = get_latency(analysis);
    unsigned n = 0;
    int r = result_add_duration_rows(result, &latency->columns, &latency->rows);

    if (r == 0)
        r = add_slowest(latency, result);
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
    return 0;
}

int latency_init(struct latency *latency, const struct analysis_settings *settings,
                 const struct span_rule *rules, unsigned n_rules, const struct catalogue *catalogue)
{
    static const struct sink_ops sink_ops = {.put = put, .finish = finish};
    static const struct analysis_ops ops = {
        .name = "latency", .add_columns = add_columns, .add_rows = add_rows};
    int r;

    *latency =
        (struct latency){.analysis = {.sink.ops = &sink_ops, .ops = &ops, .settings = *settings}};
    r = rows_init(&latency->rows, 1 + settings->grouping.n, settings->slowest, settings->every);
    if (r < 0)
        return r;
    return spans_init(&latency->spans, catalogue, rules, n_rules, &span_ops, latency);
}

void latency_done(struct latency *latency)
{
    spans_done(&latency->spans);
    rows_done(&latency->rows);
}
