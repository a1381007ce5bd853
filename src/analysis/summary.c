/* SPDX-License-Identifier: MIT */
#include "analysis/summary.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"

/* ---- sources ---- */

static _cold_ struct summary_source *add_source(struct summary *summary,
                                                const struct origin *origin)
{
    struct summary_source *source = map_get(&summary->by_origin, (uintptr_t)origin);

    if (source)
        return source;
    if (summary->n_sources == summary->sources_room) {
        unsigned room = MAX(8u, 2 * summary->sources_room);
        struct summary_source **more =
            realloc(summary->sources, room * sizeof(struct summary_source *));

        if (!more)
            return NULL;
        summary->sources = more;
        summary->sources_room = room;
    }
    source = arena_alloc(&summary->arena, sizeof *source);
    if (!source || map_put(&summary->by_origin, (uintptr_t)origin, source) < 0)
        return NULL;
    *source = (struct summary_source){.origin = origin,
                                      .rates = {.begin = summary->rates[SUMMARY_EXITS].begin}};
    return summary->sources[summary->n_sources++] = source;
}

/* All rates begin with the first time of the trace. */
static _cold_ void set_begin(struct summary *summary, int64_t time)
{
    for (unsigned i = 0; i < SUMMARY_PARTS; i++)
        summary->rates[i].begin = time;
    for (unsigned i = 0; i < summary->n_sources; i++)
        summary->sources[i]->rates.begin = time;
    summary->has_begun = true;
}

/* Counts events of SOURCE, up to the first item that is not one, or has no time. Returns their number. */
static inline unsigned count_of_source(struct summary_source *source, const struct item *items,
                                       unsigned n)
{
    const struct origin *origin = source->origin;
    uint32_t error_ns = source->error_ns;
    unsigned i = 0;

    for (; i < n && items[i].origin == origin && items[i].kind == ITEM_EVENT &&
           items[i].time != TIME_UNKNOWN;
         i++) {
        error_ns = MAX(error_ns, items[i].error_ns);
        rates_add(&source->rates, items[i].time);
    }
    source->n_events += i;
    source->error_ns = error_ns;
    return i;
}

static int count_run(struct summary *summary, const struct item *items, unsigned n)
{
    struct summary_source *source = summary->recent;

    for (unsigned i = 0; i < n; i++) {
        if (likely(source && summary->has_begun)) {
            i += count_of_source(source, items + i, n - i);
            if (i == n)
                break;
        }
        const struct item *item = &items[i];

        if (unlikely(!source || item->origin != source->origin)) {
            source = summary->recent = add_source(summary, item->origin);
            if (!source)
                return -ENOMEM;
        }
        if (unlikely(item->kind != ITEM_EVENT)) {
            losses_add(&source->losses, item);
            continue;
        }
        source->n_events++;
        source->error_ns = MAX(source->error_ns, item->error_ns);
        if (unlikely(item->time == TIME_UNKNOWN))
            continue;
        if (unlikely(!summary->has_begun))
            set_begin(summary, summary->coverage.first);
        rates_add(&source->rates, item->time);
    }
    return 0;
}

/* Counts items within the times of the selection. */
static int count_items(struct summary *summary, const struct item *items, unsigned n)
{
    unsigned i = 0, run;

    if (!summary->select)
        return count_run(summary, items, n);
    for (; (run = selection_next_in_time(summary->select, items, n, &i)) > 0; i += run)
        if (count_run(summary, items + i, run) < 0)
            return -ENOMEM;
    return 0;
}

/* ---- the sink ---- */

static int count_span(void *arg, const struct analysis_span *span)
{
    rates_add(arg, span->begin);
    return 0;
}

static int put(struct sink *sink, const struct item *items, unsigned n)
{
    struct summary *summary = container_of(sink, struct summary, sink);
    int r = coverage_put_selected(&summary->coverage, summary->select, items, n);

    if (r == 0)
        r = count_items(summary, items, n);
    for (unsigned i = 0; i < SUMMARY_PARTS && r >= 0; i++) {
        r = sink_put(&summary->parts[i]->sink, items, n);
        if (r < 0)
            return sink_fail(sink, &summary->parts[i]->sink, r);
    }
    return r;
}

static int begin_loss(struct sink *sink, const struct item *item)
{
    struct summary *summary = container_of(sink, struct summary, sink);
    int r = 0;

    for (unsigned i = 0; i < SUMMARY_PARTS && r >= 0; i++)
        r = sink_begin_loss(&summary->parts[i]->sink, item);
    return r;
}

static int finish(struct sink *sink)
{
    struct summary *summary = container_of(sink, struct summary, sink);

    for (unsigned i = 0; i < SUMMARY_PARTS; i++) {
        int r = sink_finish(&summary->parts[i]->sink);

        if (r < 0)
            return sink_fail(sink, &summary->parts[i]->sink, r);
    }
    return 0;
}

/* ---- life ---- */

static int init_sched(struct summary *summary, const struct analysis_settings *settings)
{
    static const enum sched_by by[] = {
        [SUMMARY_CPUS] = SCHED_BY_CPU,
        [SUMMARY_VCPUS] = SCHED_BY_VCPU,
        [SUMMARY_DOMAINS] = SCHED_BY_DOMAIN,
        [SUMMARY_TASKS] = SCHED_BY_TASK,
    };
    int r = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(by) && r >= 0; i++) {
        const struct sched_options options = {.by = by[i], .finds_recorder = i == SUMMARY_TASKS};

        r = i == 0 ? sched_init(&summary->sched[0], settings, &options)
                   : sched_init_shared(&summary->sched[i], settings, &options, &summary->sched[0]);
        summary->parts[i] = &summary->sched[i].analysis;
    }
    return r;
}

int summary_init(struct summary *summary, const struct analysis_settings *settings,
                 const struct span_rule *rules, unsigned n_rules, const struct catalogue *catalogue)
{
    static const struct sink_ops sink_ops = {
        .put = put, .begin_loss = begin_loss, .finish = finish};
    static const struct exits_settings exits_settings = {0};
    int r;

    *summary = (struct summary){.sink.ops = &sink_ops, .select = settings->select};
    coverage_init(&summary->coverage);
    r = init_sched(summary, settings);
    if (r >= 0)
        r = exits_init(&summary->exits, settings, &exits_settings, catalogue);
    if (r >= 0)
        r = path_init(&summary->path, settings, PATH_OF_REQUESTS, NULL, 0, catalogue);
    if (r >= 0)
        path_share_states(&summary->path, &summary->sched[0].own_states);
    if (r >= 0)
        r = io_init(&summary->io, settings);
    if (r >= 0)
        r = irq_init(&summary->irq, settings, catalogue);
    if (r >= 0)
        r = latency_init(&summary->latency, settings, rules, n_rules, catalogue);
    if (r < 0)
        return r;
    summary->parts[SUMMARY_EXITS] = &summary->exits.analysis;
    summary->parts[SUMMARY_PATH] = &summary->path.analysis;
    summary->parts[SUMMARY_IO] = &summary->io.analysis;
    summary->parts[SUMMARY_IRQ] = &summary->irq.analysis;
    summary->parts[SUMMARY_LATENCY] = &summary->latency.analysis;
    for (unsigned i = 0; i < SUMMARY_PARTS; i++)
        if (summary_rates(summary, (enum summary_part)i)) {
            summary->parts[i]->put_span = count_span;
            summary->parts[i]->put_span_arg = &summary->rates[i];
        }
    return 0;
}

void summary_done(struct summary *summary)
{
    for (unsigned i = 0; i < summary->n_results; i++)
        result_done(&summary->results[i]);
    latency_done(&summary->latency);
    irq_done(&summary->irq);
    io_done(&summary->io);
    path_done(&summary->path);
    exits_done(&summary->exits);
    for (unsigned i = 0; i < ARRAY_SIZE(summary->sched); i++)
        sched_done(&summary->sched[i]);
    map_done(&summary->by_origin);
    free(summary->sources);
    arena_done(&summary->arena);
    coverage_done(&summary->coverage);
}

int summary_make_results(struct summary *summary)
{
    unsigned shift = 0;

    for (unsigned i = 0; i < SUMMARY_PARTS; i++) {
        int r = analysis_result(summary->parts[i], &summary->coverage, &summary->results[i]);

        summary->n_results = i + 1;
        if (r == 0)
            r = result_note_sources(&summary->results[i]);
        if (r < 0)
            return r;
        result_sort(&summary->results[i], analysis_default_order(summary->parts[i]));
        shift = MAX(shift, summary->rates[i].shift);
    }
    for (unsigned i = 0; i < summary->n_sources; i++)
        shift = MAX(shift, summary->sources[i]->rates.shift);
    for (unsigned i = 0; i < SUMMARY_PARTS; i++)
        rates_stretch(&summary->rates[i], shift);
    for (unsigned i = 0; i < summary->n_sources; i++)
        rates_stretch(&summary->sources[i]->rates, shift);
    return 0;
}

bool summary_has(const struct summary *summary, enum summary_part part)
{
    const struct analysis *analysis = summary->parts[part];

    return analysis->ops->has_events(analysis);
}

const struct rates *summary_rates(const struct summary *summary, enum summary_part part)
{
    return part == SUMMARY_EXITS || part == SUMMARY_IO || part == SUMMARY_IRQ
               ? &summary->rates[part]
               : NULL;
}
