/* SPDX-License-Identifier: MIT */
#include "export/sqlite/tables.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"

int sqlite_tables_init(struct sqlite_tables *tables)
{
    int r = 0;

    *tables = (struct sqlite_tables){.names = {.fold = true}};
    for (unsigned i = 0; sqlite_schema_names[i] && r == 0; i++)
        r = export_names_reserve(&tables->names, sqlite_schema_names[i]);
    return r;
}

void sqlite_tables_done(struct sqlite_tables *tables)
{
    for (struct sqlite_rows *rows = tables->first; rows; rows = rows->next)
        sqlite3_finalize(rows->insert);
    map_done(&tables->events);
    export_names_done(&tables->names);
}

static bool same_string(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_wide(const struct field *field)
{
    return (field->type == FIELD_UINT || field->type == FIELD_POINTER) && field->size == 8 &&
           !field->bits;
}

/* Whether events of both read the same in the columns of one table, and in JSON; how wide their integers are stored
 * does not matter. */
static bool same_columns(const struct event_class *a, const struct event_class *b)
{
    if (!same_string(a->group, b->group) || a->n_fields != b->n_fields)
        return false;
    for (unsigned i = 0; i < a->n_fields; i++) {
        const struct field *x = &a->fields[i], *y = &b->fields[i];

        if (strcmp(x->name, y->name) != 0 || x->type != y->type || x->element != y->element ||
            x->element_signed != y->element_signed)
            return false;
    }
    return true;
}

static struct sqlite_event *find_event(struct sqlite_tables *tables,
                                       const struct event_class *class)
{
    const char *layer = layer_name(class->origin->layer);
    size_t size = strlen(layer) + 1 + strlen(class->name) + 1;
    char *key = arena_alloc(&tables->names.arena, size);
    struct sqlite_event *event;

    if (!key)
        return NULL;
    snprintf(key, size, "%s_%s", layer, class->name);
    event = map_get_str(&tables->events, key, size - 1);
    if (event)
        return event;
    event = arena_alloc(&tables->names.arena, sizeof *event);
    if (!event)
        return NULL;
    *event = (struct sqlite_event){.name = export_names_fresh(&tables->names, key)};
    if (!event->name || map_put_str(&tables->events, key, size - 1, event) < 0)
        return NULL;
    *(tables->last_event ? &tables->last_event->next : &tables->first_event) = event;
    tables->last_event = event;
    return event;
}

struct sqlite_rows *sqlite_tables_get(struct sqlite_tables *tables, const struct event_class *class,
                                      unsigned source)
{
    struct sqlite_event *event = find_event(tables, class);
    struct sqlite_rows *rows = event ? event->first : NULL;

    if (!event)
        return NULL;
    while (rows && !same_columns(rows->table.class, class))
        rows = rows->next_variant;
    for (unsigned i = 0; rows && i < class->n_fields; i++)
        rows->table.wide[i] |= is_wide(&class->fields[i]);
    if (rows)
        return rows;
    rows = arena_alloc(&tables->names.arena, sizeof *rows);
    if (!rows)
        return NULL;
    *rows = (struct sqlite_rows){
        .event = event,
        .chain.first = SQLITE_BATCH_NONE,
        .source = source,
        .table = {.class = class,
                  .name =
                      event->first ? export_names_fresh(&tables->names, event->name) : event->name,
                  .columns = sqlite_schema_columns(&tables->names.arena, class),
                  .wide = arena_alloc(&tables->names.arena, class->n_fields + 1)},
    };
    if (!rows->table.name || !rows->table.columns || !rows->table.wide)
        return NULL;
    for (unsigned i = 0; i < class->n_fields; i++)
        rows->table.wide[i] = is_wide(&class->fields[i]);
    *(event->last ? &event->last->next_variant : &event->first) = rows;
    event->last = rows;
    *(tables->last ? &tables->last->next : &tables->first) = rows;
    tables->last = rows;
    if (!tables->unmade)
        tables->unmade = rows;
    return rows;
}

int sqlite_tables_put_rename(struct sqlite_tables *tables, struct sqlite_event *event,
                             struct text *sql)
{
    struct sqlite_table *table = &event->first->table;
    size_t size = strlen(event->name) + 3;
    _cleanup_free_ char *wanted = malloc(size);
    const char *name;

    if (!wanted)
        return -ENOMEM;
    snprintf(wanted, size, "%s_1", event->name);
    name = export_names_fresh(&tables->names, wanted);
    if (!name)
        return -ENOMEM;
    sqlite_schema_put_rename(sql, table->name, name);
    table->name = name;
    return 0;
}
