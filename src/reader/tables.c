/* SPDX-License-Identifier: MIT */
#include "reader/tables.h"

#include "base/macro.h"

void reader_tables_done(struct reader_tables *tables)
{
    free(tables->sources.items);
    free(tables->classes.items);
    arena_done(&tables->arena);
    *tables = (struct reader_tables){0};
}

/* Returns where item I is kept. NULL if out of memory. */
static void **table_at(struct reader_table *table, unsigned i)
{
    if (i >= table->n) {
        unsigned n = MAX(i + 1, table->n * 2);
        void **bigger = realloc(table->items, n * sizeof *bigger);

        if (!bigger)
            return NULL;
        for (unsigned j = table->n; j < n; j++)
            bigger[j] = NULL;
        table->items = bigger;
        table->n = n;
    }
    return &table->items[i];
}

enum strata_value_type reader_value_type(const struct field *field)
{
    switch (field->type) {
    case FIELD_UINT:
    case FIELD_CHAR: return STRATA_VALUE_UINT;
    case FIELD_INT: return STRATA_VALUE_INT;
    case FIELD_BOOL: return STRATA_VALUE_BOOL;
    case FIELD_POINTER: return STRATA_VALUE_POINTER;
    case FIELD_FLOAT: return STRATA_VALUE_FLOAT;
    case FIELD_STRING: return STRATA_VALUE_STRING;
    case FIELD_BYTES: return field->element > 0 ? STRATA_VALUE_ARRAY : STRATA_VALUE_BYTES;
    }
    return STRATA_VALUE_ABSENT;
}

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

static struct strata_reader_source *make_source(struct reader_tables *tables,
                                                const struct origin *origin)
{
    struct strata_reader_source *source = arena_alloc(&tables->arena, sizeof *source);

    if (source)
        *source = (struct strata_reader_source){
            .path = or_empty(origin->path),
            .layer = layer_name(origin->layer),
            .format = or_empty(origin->format),
            .clock = or_empty(origin->clock.name),
            .clock_hz = origin->clock.hz,
            .n_cpus = origin->n_cpus,
        };
    return source;
}

const struct strata_reader_source *reader_tables_source(struct reader_tables *tables,
                                                        const struct catalogue *catalogue,
                                                        const struct origin *origin)
{
    struct strata_reader_source *source = tables->last_source;

    if (unlikely(origin != tables->last_origin)) {
        unsigned i = 0;
        void **at;

        while (i < catalogue->n_origins && catalogue->origins[i] != origin)
            i++;
        at = table_at(&tables->sources, i);
        if (!at || (!*at && !(*at = make_source(tables, origin))))
            return NULL;
        source = *at;
        tables->last_origin = origin;
        tables->last_source = source;
    }
    source->clock_hz = origin->clock.hz; /* some readers learn it from the items */
    return source;
}

static struct strata_reader_class *make_class(struct reader_tables *tables,
                                              const struct catalogue *catalogue,
                                              const struct event_class *class)
{
    struct strata_reader_class *made = arena_alloc(&tables->arena, sizeof *made);
    struct strata_reader_field *fields =
        arena_alloc(&tables->arena, (class->n_fields + 1) * sizeof *fields);
    const struct strata_reader_source *source =
        reader_tables_source(tables, catalogue, class->origin);

    if (!made || !fields || !source)
        return NULL;
    for (unsigned i = 0; i < class->n_fields; i++)
        fields[i] = (struct strata_reader_field){
            .name = class->fields[i].name,
            .type = class->fields[i].c_type,
            .value_type = reader_value_type(&class->fields[i]),
        };
    *made = (struct strata_reader_class){
        .name = class->name,
        .group = or_empty(class->group),
        .source = source,
        .fields = fields,
        .n_fields = class->n_fields,
        .index = class->index,
    };
    return made;
}

const struct strata_reader_class *reader_tables_class(struct reader_tables *tables,
                                                      const struct catalogue *catalogue,
                                                      const struct event_class *class)
{
    void **at = table_at(&tables->classes, class->index);

    if (at && unlikely(!*at))
        *at = make_class(tables, catalogue, class);
    return at ? *at : NULL;
}
