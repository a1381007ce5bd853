/* SPDX-License-Identifier: MIT */
#include "analysis/latency.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"

/* A span that is not looked at: its task is another. */
#define NO_ROW 0

static _cold_ struct row *add_row(struct latency *latency, const struct span_kind *kind,
                                  const struct item *item, const uint64_t *numbers)
{
    struct text *text = &latency->rows.text;
    size_t starts[ROW_KEYS];
    const char *keys[ROW_KEYS] = {kind->name};

    text->next = text->start;
    for (unsigned i = 0; i < latency->options.grouping.n; i++) {
        starts[i] = text_len(text);
        grouping_put(&latency->options.grouping, i, item, text);
        text_put_char(text, '\0');
    }
    if (text->error)
        return NULL;
    for (unsigned i = 0; i < latency->options.grouping.n; i++)
        keys[i + 1] = text->start + starts[i];
    return rows_add(&latency->rows, numbers, keys);
}

static bool is_wanted(const struct latency *latency, const struct item *item)
{
    const char *name;

    if (likely(!latency->options.task))
        return true;
    name = item_task_name(item);
    return name && glob_match(latency->options.task, name);
}

static uint64_t begin(void *arg, const struct span_kind *kind, const struct item *item)
{
    struct latency *latency = arg;
    uint64_t numbers[ROW_KEYS];
    struct row *row;

    if (!is_wanted(latency, item))
        return NO_ROW;
    numbers[0] = kind->number;
    grouping_numbers(&latency->options.grouping, item, numbers + 1);
    row = rows_find(&latency->rows, numbers);
    if (unlikely(!row))
        row = add_row(latency, kind, item, numbers);
    if (unlikely(!row))
        latency->sink.error.code = -ENOMEM;
    return (uintptr_t)row;
}

static int complete(void *arg, const struct span *span, const struct item *item)
{
    struct latency *latency = arg;
    struct row *row = (struct row *)(uintptr_t)span->tag;
    int64_t duration = (int64_t)((uint64_t)span_end(span) - (uint64_t)span_begin(span));
    struct slow_span slow;

    (void)item;
    if (!row || duration < latency->options.longer)
        return 0;
    if (latency->options.slowest > 0) {
        slow = (struct slow_span){.begin = span_begin(span),
                                  .end = span_end(span),
                                  .error_ns = span->error_ns,
                                  .cpu = span->cpu,
                                  .pid = span->pid,
                                  .vcpu = span->vcpu,
                                  .origin = span->origin,
                                  .row = row};
        for (unsigned i = 0; i < ROW_STAGES; i++)
            slow.at[i] = i < span->kind->rule->n_steps ? span->at[i] : TIME_UNKNOWN;
        rows_keep_slow(&latency->rows, &slow);
    }
    if (latency->each)
        latency->each(latency->each_arg, span, row);
    return row_count(&latency->rows, row, span_begin(span), duration, span->error_ns);
}

static const struct spans_ops span_ops = {.begin = begin, .complete = complete};

static int put(struct sink *sink, const struct item *items, unsigned n)
{
    struct latency *latency = (struct latency *)sink;
    int r = spans_put(&latency->spans, items, n);

    if (r < 0)
        return r;
    losses_add_all(&latency->losses, items, n);
    for (unsigned i = 0; i < n; i++) {
        if (unlikely(items[i].kind != ITEM_EVENT)) {
            losses_add(&latency->layers.losses[items[i].origin->layer], &items[i]);
            continue;
        }
        latency->n_events++;
        if (items[i].time == TIME_UNKNOWN)
            continue;
        if (latency->first == TIME_UNKNOWN)
            latency->first = items[i].time;
        latency->last = items[i].time;
    }
    return latency->sink.error.code;
}

static int finish(struct sink *sink)
{
    struct latency *latency = (struct latency *)sink;

    spans_finish(&latency->spans);
    return 0;
}

int latency_init(struct latency *latency, const struct latency_options *options,
                 const struct catalogue *catalogue)
{
    static const struct sink_ops ops = {.put = put, .finish = finish};
    int r;

    *latency = (struct latency){
        .sink.ops = &ops, .options = *options, .first = TIME_UNKNOWN, .last = TIME_UNKNOWN};
    r = rows_init(&latency->rows, 1 + options->grouping.n, options->slowest, options->every);
    if (r < 0)
        return r;
    return spans_init(&latency->spans, catalogue, latency->options.rules, options->n_rules,
                      &span_ops, latency);
}

void latency_done(struct latency *latency)
{
    spans_done(&latency->spans);
    rows_done(&latency->rows);
}

uint64_t latency_fates(const struct latency *latency, enum span_fate fate)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < latency->spans.n_kinds; i++)
        n += latency->spans.kinds[i]->fates[fate];
    return n;
}
