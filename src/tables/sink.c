/* SPDX-License-Identifier: MIT */
#include "tables/sink.h"

#include <errno.h>

#include "base/macro.h"
#include "event/class_map.h"
#include "tables/internal.h"

unsigned tables_source(const struct tables_sink *sink, const struct origin *origin)
{
    unsigned i = 0;

    while (sink->options.catalogue->origins[i] != origin)
        i++;
    return i;
}

struct value tables_vcpu(const struct origin *origin, int32_t vcpu, struct text *text)
{
    if (vcpu == VCPU_UNKNOWN || !origin->put_vcpu)
        return cell_integer_if(vcpu, vcpu != VCPU_UNKNOWN);
    text->next = text->start;
    origin->put_vcpu(origin, vcpu, text);
    return text->error ? cell_null() : cell_text_of(text->start, text_len(text));
}

static _cold_ struct tables_class *add_class(struct tables_sink *sink,
                                             const struct event_class *class)
{
    struct tables_class *c;
    struct event_table *last = sink->events.last;

    if (class_map_grow(sink->classes, sink->n_classes, class) < 0)
        return NULL;
    c = arena_alloc(&sink->arena, sizeof *c);
    if (!c)
        return NULL;
    *c = (struct tables_class){.class = class, .source = tables_source(sink, class->origin)};
    c->table = event_tables_get(&sink->events, class);
    if (!c->table)
        return NULL;
    if (c->table == sink->events.last && c->table != last && sink->ops->table &&
        sink->ops->table(sink->arg, c->table) < 0)
        return NULL;
    *(sink->last ? &sink->last->next : &sink->first) = c;
    sink->last = c;
    sink->classes[class->index] = c;
    return c;
}

/* Remembers a thread. */
static int note_thread(struct tables_sink *sink, unsigned source, const struct item *item)
{
    uint64_t key = (uint64_t)source << 32 | (uint32_t)item->pid;

    if (item->pid == PID_UNKNOWN || key == sink->recent_thread)
        return 0;
    sink->recent_thread = key;
    if (map_get(&sink->threads, key))
        return 0;
    return map_put(&sink->threads, key, (void *)item->origin) < 0 ? tables_no_memory(sink) : 0;
}

static _cold_ int add_source_cpus(struct tables_sink *sink, unsigned source)
{
    struct cpu_counts *cpus = &sink->cpus;
    uint64_t *bigger = realloc(cpus->counts, (source + 1) * CPU_COUNTS * sizeof *bigger);

    if (!bigger)
        return tables_no_memory(sink);
    memset(bigger + (size_t)cpus->n_sources * CPU_COUNTS, 0,
           (source + 1 - cpus->n_sources) * CPU_COUNTS * sizeof *bigger);
    cpus->counts = bigger;
    cpus->n_sources = source + 1;
    return 0;
}

static inline int count_cpu(struct tables_sink *sink, unsigned source, int32_t cpu)
{
    if ((uint32_t)cpu >= CPU_COUNTS)
        return 0;
    if (unlikely(source >= sink->cpus.n_sources)) {
        int r = add_source_cpus(sink, source);

        if (r < 0)
            return r;
    }
    sink->cpus.counts[(size_t)source * CPU_COUNTS + (uint32_t)cpu]++;
    return 0;
}

static inline int put_event(struct tables_sink *sink, const struct item *item)
{
    const struct event_class *class = item->class;
    struct tables_class *c = class->index < sink->n_classes ? sink->classes[class->index] : NULL;
    struct event_row row;
    int r = 0;

    if (unlikely(!c) && !(c = add_class(sink, class)))
        return tables_no_memory(sink);
    c->n_events++;
    row = (struct event_row){.table = c->table,
                             .item = item,
                             .id = sink->n,
                             .source = likely(item->origin == class->origin)
                                           ? c->source
                                           : tables_source(sink, item->origin),
                             .errors = sink->options.errors};
    if (item->origin->task_name && tables_want(sink, TABLE_THREAD))
        r = note_thread(sink, row.source, item);
    if (r == 0 && tables_want(sink, TABLE_CPU))
        r = count_cpu(sink, row.source, item->cpu);
    return r == 0 && sink->ops->event ? sink->ops->event(sink->arg, &row) : r;
}

static int put_loss(struct tables_sink *sink, const struct item *item)
{
    /* One without an end is told at some time, which it goes beyond. */
    bool has_end = item->time != TIME_UNKNOWN && !item->is_open;
    const struct value cells[LOSS_COLUMNS] = {
        [LOSS_COL_ID] = cell_integer(sink->n),
        [LOSS_COL_TIME] = cell_integer_if(has_end ? table_ns(item, item->time) : 0, has_end),
        [LOSS_COL_SINCE] =
            cell_integer_if(item->since == TIME_UNKNOWN ? 0 : table_ns(item, item->since),
                            item->since != TIME_UNKNOWN),
        [LOSS_COL_ERROR] =
            cell_integer_if(item->error_ns, sink->options.errors && item_error_is_known(item)),
        [LOSS_COL_SOURCE] = cell_integer(tables_source(sink, item->origin)),
        [LOSS_COL_CPU] = cell_integer_if(item->cpu, item->cpu != CPU_UNKNOWN),
        /* A count without room in the column is a file's claim. */
        [LOSS_COL_LOST] =
            cell_integer_if((int64_t)MIN(item->lost, (uint64_t)INT64_MAX), item->lost <= INT64_MAX),
        [LOSS_COL_CAUSE] = cell_text(item->cause == LOSS_UNREADABLE ? "unreadable" : "dropped"),
        [LOSS_COL_SKIPPED] = cell_integer(item->skipped),
    };

    sink->n_losses++;
    return tables_want(sink, TABLE_LOSS) ? sink->ops->row(sink->arg, TABLE_LOSS, cells) : 0;
}

static int tables_put(struct sink *base, const struct item *items, unsigned n)
{
    struct tables_sink *sink = container_of(base, struct tables_sink, sink);
    int r = 0;

    for (unsigned i = 0; i < n && r == 0; i++) {
        sink->n++;
        r = likely(items[i].kind == ITEM_EVENT) ? put_event(sink, &items[i])
                                                : put_loss(sink, &items[i]);
    }
    if (r == 0 && sink->spans.wanted)
        r = span_rows_put(sink, items, n);
    if (r == 0 && sink->has_states)
        r = states_put(&sink->states, items, n);
    return r;
}

static int tables_begin_loss(struct sink *base, const struct item *item)
{
    struct tables_sink *sink = container_of(base, struct tables_sink, sink);

    if (sink->has_states)
        states_begin_loss(&sink->states, item);
    return sink->spans.wanted ? spans_begin_loss(&sink->spans.spans, item) : 0;
}

static int tables_finish(struct sink *base)
{
    struct tables_sink *sink = container_of(base, struct tables_sink, sink);
    int r = 0;

    if (sink->spans.wanted) {
        spans_finish(&sink->spans.spans);
        r = sink->sink.error.code;
    }
    if (r == 0 && sink->has_states)
        r = states_finish(&sink->states);
    return r < 0 ? r : tables_describe(sink);
}

static void tables_free(struct sink *base)
{
    struct tables_sink *sink = container_of(base, struct tables_sink, sink);

    span_rows_done(sink);
    if (sink->has_states)
        states_done(&sink->states);
    event_tables_done(&sink->events);
    map_done(&sink->threads);
    text_done(&sink->text);
    free(sink->cpus.counts);
    free(sink->classes);
    arena_done(&sink->arena);
    free(sink);
}

int tables_sink_open(const struct tables_options *options, const struct tables_ops *ops, void *arg,
                     struct sink **ret_sink, struct error *error)
{
    static const struct sink_ops sink_ops = {.put = tables_put,
                                             .begin_loss = tables_begin_loss,
                                             .finish = tables_finish,
                                             .free = tables_free};
    struct tables_sink *sink = calloc(1, sizeof *sink);
    int r;

    if (!sink)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    *sink = (struct tables_sink){.sink.ops = &sink_ops,
                                 .options = *options,
                                 .ops = ops,
                                 .arg = arg,
                                 .recent_thread = UINT64_MAX,
                                 .text = TEXT_IN_MEMORY};
    r = event_tables_init(&sink->events);
    if (r == 0 && tables_want(sink, TABLE_SPAN))
        r = span_rows_open(sink);
    if (r < 0) {
        *error = sink->sink.error;
        tables_free(&sink->sink);
        return error_set(error, r, NULL, "out of memory");
    }
    if (tables_want(sink, TABLE_STATE)) {
        states_init(&sink->states, &state_rows_ops, sink);
        sink->has_states = true;
    }
    *ret_sink = &sink->sink;
    return 0;
}

struct error *tables_sink_error(struct sink *sink)
{
    return &sink->error;
}

struct event_tables *tables_sink_events(struct sink *sink)
{
    return &container_of(sink, struct tables_sink, sink)->events;
}

const struct tables_class *tables_sink_classes(struct sink *sink)
{
    return container_of(sink, struct tables_sink, sink)->first;
}
