/* SPDX-License-Identifier: MIT */
/* Makes the tables that describe the trace: sources and their clocks, threads, CPUs, classes with their fields, facts
 * and problems. */
#include <errno.h>
#include <stdio.h>

#include "tables/internal.h"
#include "timeline/clock_map.h"
#include "trace/trace.h"
#include "tracedir/manifest.h"

static int put(struct tables_sink *sink, enum fixed_table table, const struct value *cells)
{
    return sink->ops->row(sink->arg, table, cells);
}

static const struct trace_input *input_of(const struct tables_sink *sink,
                                          const struct origin *origin)
{
    const struct trace *trace = sink->options.trace;

    return trace && trace->n_inputs > 0 ? &trace->inputs[trace_input_of(trace, origin)] : NULL;
}

static const char *host_of(const struct tables_sink *sink, const struct origin *origin)
{
    const struct trace_input *input = input_of(sink, origin);

    if (input && input->recorded && input->recorded->host && input->recorded->host->name)
        return input->recorded->host->name;
    return origin->host_name;
}

static int put_sources(struct tables_sink *sink)
{
    const struct tables_options *options = &sink->options;
    int r = 0;

    for (unsigned i = 0; i < options->catalogue->n_origins && r == 0; i++) {
        const struct origin *origin = options->catalogue->origins[i];
        unsigned number =
            options->origin_number ? options->origin_number(options->origin_arg, origin) : 0;

        r = put(sink, TABLE_SOURCE,
                (const struct value[]){
                    cell_integer(i),
                    cell_integer(number),
                    cell_text(layer_name(origin->layer)),
                    cell_text(origin->format),
                    cell_text(origin->path),
                    cell_text(origin->clock.name),
                    cell_integer_if((int64_t)origin->clock.hz, origin->clock.hz),
                    cell_text(host_of(sink, origin)),
                });
    }
    return r;
}

static int put_clock(struct tables_sink *sink, unsigned source, const struct origin *origin)
{
    const struct trace_input *input = input_of(sink, origin);
    const struct clock_map *map = input ? input->clock_map : NULL;
    bool is_host = input && input->on_host_clock;
    struct value cells[] = {
        cell_integer(source),
        cell_text(origin->clock.name),
        cell_integer_if((int64_t)origin->clock.hz, origin->clock.hz),
        cell_text(is_host ? "host"
                  : map   ? "map"
                          : "unrelated"),
        cell_integer_if(is_host ? input->host_error_ns : 0, is_host),
        cell_null(),
        cell_null(),
        cell_null(),
    };
    int r = 0;

    if (!map || map->n == 0)
        return put(sink, TABLE_CLOCK, cells);
    for (unsigned i = 0; i < map->n && r == 0; i++) {
        cells[4] = cell_integer(map->pairs[i].error_ns);
        cells[5] = cell_integer(i);
        cells[6] = cell_integer(map->pairs[i].ticks);
        cells[7] = cell_integer(map->pairs[i].host_ns);
        r = put(sink, TABLE_CLOCK, cells);
    }
    return r;
}

static int put_clocks(struct tables_sink *sink)
{
    int r = 0;

    for (unsigned i = 0; i < sink->options.catalogue->n_origins && r == 0; i++)
        r = put_clock(sink, i, sink->options.catalogue->origins[i]);
    return r;
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Puts the threads' names as known at the end, by source and number. */
static int put_threads(struct tables_sink *sink)
{
    _cleanup_free_ uint64_t *keys = malloc((sink->threads.used + 1) * sizeof *keys);
    size_t iter = 0, n = 0;
    uint64_t key;
    void *value;
    int r = 0;

    if (!keys)
        return tables_no_memory(sink);
    while (map_next(&sink->threads, &iter, &key, &value))
        keys[n++] = key;
    qsort(keys, n, sizeof *keys, compare_keys);
    for (size_t i = 0; i < n && r == 0; i++) {
        const struct origin *origin = map_get(&sink->threads, keys[i]);
        int32_t pid = (int32_t)(uint32_t)keys[i];
        const char *name = origin->task_name(origin, pid);

        if (name && *name)
            r = put(sink, TABLE_THREAD,
                    (const struct value[]){cell_integer((int64_t)(keys[i] >> 32)),
                                           cell_integer(pid), cell_text(name)});
    }
    return r;
}

static int put_cpus(struct tables_sink *sink)
{
    const struct cpu_counts *cpus = &sink->cpus;
    int r = 0;

    for (unsigned source = 0; source < cpus->n_sources; source++)
        for (unsigned cpu = 0; cpu < CPU_COUNTS && r == 0; cpu++) {
            uint64_t n = cpus->counts[(size_t)source * CPU_COUNTS + cpu];

            if (n > 0)
                r = put(sink, TABLE_CPU,
                        (const struct value[]){cell_integer(source), cell_integer(cpu),
                                               cell_integer((int64_t)n)});
        }
    return r;
}

static int put_classes(struct tables_sink *sink)
{
    int r = 0;

    for (const struct tables_class *c = sink->first; c && r == 0; c = c->next)
        r = put(sink, TABLE_CLASS,
                (const struct value[]){
                    cell_integer(c->class->index),
                    cell_text(layer_name(c->class->origin->layer)),
                    cell_text(c->class->group),
                    cell_text(c->class->name),
                    cell_text(c->table->family->name),
                    cell_text(c->table->sql_name),
                    cell_integer((int64_t)c->n_events),
                    cell_text(c->class->format),
                });
    return r;
}

static int put_fields(struct tables_sink *sink)
{
    int r = 0;

    for (const struct tables_class *c = sink->first; c; c = c->next)
        for (unsigned i = 0; i < c->class->n_fields && r == 0; i++) {
            const struct field *field = &c->class->fields[i];

            r = put(sink, TABLE_FIELD,
                    (const struct value[]){
                        cell_integer(c->class->index),
                        cell_integer(i),
                        cell_text(field->name),
                        cell_text(c->table->table.columns[EVENT_FIELDS + i].name),
                        cell_text(field->c_type),
                        cell_integer(field->hex || field->type == FIELD_POINTER),
                    });
        }
    return r;
}

static int put_value_name(struct tables_sink *sink, const struct event_class *class, unsigned field,
                          uint64_t value, const char *name)
{
    return name ? put(sink, TABLE_VALUE_NAME,
                      (const struct value[]){cell_integer(class->index), cell_integer(field),
                                             cell_integer(class->fields[field].names->bits),
                                             cell_integer((int64_t)value), cell_text(name)})
                : 0;
}

static int put_names_of(struct tables_sink *sink, const struct event_class *class)
{
    int r = 0;

    for (unsigned i = 0; i < class->n_fields; i++) {
        const struct value_names *names = class->fields[i].names;

        for (uint32_t k = 0; names && k < names->n && r == 0; k++)
            r = put_value_name(sink, class, i, k, names->names[k]);
        for (uint32_t k = 0; names && k < names->n_more && r == 0; k++)
            r = put_value_name(sink, class, i, names->more[k].value, names->more[k].name);
    }
    return r;
}

static int put_value_names(struct tables_sink *sink)
{
    int r = 0;

    for (const struct tables_class *c = sink->first; c && r == 0; c = c->next)
        r = put_names_of(sink, c->class);
    return r;
}

static int put_number(struct tables_sink *sink, const char *key, int64_t v, bool known)
{
    return put(sink, TABLE_META, (const struct value[]){cell_text(key), cell_integer_if(v, known)});
}

static int put_meta(struct tables_sink *sink)
{
    const struct catalogue *catalogue = sink->options.catalogue;
    const struct clock *clock = catalogue->n_origins ? &catalogue->origins[0]->clock : NULL;
    int r = put(sink, TABLE_META,
                (const struct value[]){cell_text("strata"), cell_text(STRATA_VERSION)});

    if (r == 0)
        r = put(sink, TABLE_META,
                (const struct value[]){cell_text("clock"), cell_text(clock ? clock->name : NULL)});
    if (r == 0)
        r = put_number(sink, "ticks_per_second", NANOSECONDS, clock && clock->hz);
    if (r == 0)
        r = put_number(sink, "events", sink->n - (int64_t)sink->n_losses, true);
    return r == 0 ? put_number(sink, "losses", (int64_t)sink->n_losses, true) : r;
}

struct fact_rows {
    struct tables_sink *sink;
    unsigned source;
    int error;
};

static void put_fact(void *arg, const char *key, const char *value)
{
    struct fact_rows *rows = arg;

    if (rows->error == 0)
        rows->error = put(
            rows->sink, TABLE_FACT,
            (const struct value[]){cell_integer(rows->source), cell_text(key), cell_text(value)});
}

static int put_facts(struct tables_sink *sink)
{
    const struct catalogue *catalogue = sink->options.catalogue;
    struct fact_rows rows = {.sink = sink};

    for (unsigned i = 0; i < catalogue->n_origins && rows.error == 0; i++) {
        const struct trace_input *input = input_of(sink, catalogue->origins[i]);

        rows.source = i;
        if (input && trace_input_facts(input, put_fact, &rows) < 0 && rows.error == 0)
            rows.error = tables_no_memory(sink);
    }
    return rows.error;
}

static int put_problem(struct tables_sink *sink, const char *text)
{
    return put(sink, TABLE_PROBLEM, (const struct value[]){cell_text(text)});
}

static int put_problems(struct tables_sink *sink)
{
    const struct trace *trace = sink->options.trace;
    const struct error *problem = sink->options.problem;
    char text[sizeof(struct error) + 64];
    int r = 0;

    for (unsigned i = 0; trace && i < trace->n_notes && r == 0; i++)
        r = put_problem(sink, trace->notes[i]);
    if (r < 0 || !problem || !problem->code)
        return r;
    error_print(problem, text, sizeof text);
    return put_problem(sink, text);
}

int tables_describe(struct tables_sink *sink)
{
    static const struct {
        enum fixed_table table;
        int (*put)(struct tables_sink *sink);
    } parts[] = {
        {TABLE_SOURCE, put_sources},
        {TABLE_CLOCK, put_clocks},
        {TABLE_CLASS, put_classes},
        {TABLE_FIELD, put_fields},
        {TABLE_VALUE_NAME, put_value_names},
        {TABLE_THREAD, put_threads},
        {TABLE_CPU, put_cpus},
        {TABLE_META, put_meta},
        {TABLE_FACT, put_facts},
        {TABLE_PROBLEM, put_problems},
    };
    int r = 0;

    if (event_tables_name_variants(&sink->events) < 0)
        return tables_no_memory(sink);
    for (size_t i = 0; i < ARRAY_SIZE(parts) && r == 0; i++)
        if (tables_want(sink, parts[i].table))
            r = parts[i].put(sink);
    return r;
}
