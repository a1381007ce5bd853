/* SPDX-License-Identifier: MIT */
#include "tables/event_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/macro.h"
#include "event/program.h"

/* Longer names of fields are cut, because an SQL statement may have a million bytes. */
#define NAME_MAX_LEN 255

int event_tables_init(struct event_tables *tables)
{
    int r = 0;

    *tables = (struct event_tables){.names = {.fold = true}};
    for (unsigned i = 0; i < FIXED_TABLES && r == 0; i++)
        r = class_names_reserve(&tables->names, fixed_tables[i].name);
    for (unsigned i = 0; reserved_table_names[i] && r == 0; i++)
        r = class_names_reserve(&tables->names, reserved_table_names[i]);
    return r;
}

void event_tables_done(struct event_tables *tables)
{
    map_done(&tables->families);
    class_names_done(&tables->names);
    arena_done(&tables->arena);
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

/* True if events of both classes read the same in the columns of one table. The stored width of integers does not
 * matter. */
static bool same_columns(const struct event_class *a, const struct event_class *b)
{
    if (!same_string(a->group, b->group) || a->n_fields != b->n_fields)
        return false;
    for (unsigned i = 0; i < a->n_fields; i++) {
        const struct field *x = &a->fields[i], *y = &b->fields[i];

        if (strcmp(x->name, y->name) != 0 || x->type != y->type || x->element != y->element ||
            x->element_signed != y->element_signed || class_may_name(a, i) != class_may_name(b, i))
            return false;
    }
    return true;
}

static struct event_family *find_family(struct event_tables *tables,
                                        const struct event_class *class)
{
    const char *layer = layer_name(class->origin->layer);
    size_t size = strlen(layer) + 1 + strlen(class->name) + 1;
    char *key = arena_alloc(&tables->arena, size);
    struct event_family *family;

    if (!key)
        return NULL;
    snprintf(key, size, "%s_%s", layer, class->name);
    family = map_get_str(&tables->families, key, size - 1);
    if (family)
        return family;
    family = arena_alloc(&tables->arena, sizeof *family);
    if (!family)
        return NULL;
    *family = (struct event_family){.name = class_names_fresh(&tables->names, key)};
    if (!family->name || map_put_str(&tables->families, key, size - 1, family) < 0)
        return NULL;
    *(tables->last_family ? &tables->last_family->next : &tables->first_family) = family;
    tables->last_family = family;
    return family;
}

int trace_table_column(const struct trace_table *table, const char *name)
{
    for (unsigned i = 0; i < table->n_columns; i++)
        if (strcasecmp(table->columns[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* Appends a column to TABLE, whose columns are COLUMNS. Its name is made of WANTED and SUFFIX. */
static struct trace_column *add_column(struct event_tables *tables, struct trace_table *table,
                                       struct trace_column *columns, const char *wanted,
                                       const char *suffix)
{
    const struct trace_table common = {.columns = event_columns, .n_columns = EVENT_FIELDS};
    size_t size = NAME_MAX_LEN + 48;
    char *name = arena_alloc(&tables->arena, size);
    const char *before = trace_table_column(&common, wanted) >= 0 ? "field_" : "";

    if (!name)
        return NULL;
    snprintf(name, size, "%s%.*s%s", before, NAME_MAX_LEN, wanted, suffix);
    for (unsigned i = 2; trace_table_column(table, name) >= 0; i++)
        snprintf(name, size, "%s%.*s%s_%u", before, NAME_MAX_LEN, wanted, suffix, i);
    columns[table->n_columns].name = name;
    columns[table->n_columns].nullable = true;
    return &columns[table->n_columns++];
}

static enum column_type type_of(const struct field *field)
{
    switch (field->type) {
    case FIELD_UINT:
    case FIELD_POINTER: return COLUMN_UNSIGNED;
    case FIELD_STRING: return COLUMN_TEXT;
    case FIELD_BYTES: return field->element ? COLUMN_TEXT : COLUMN_BLOB;
    case FIELD_FLOAT: return COLUMN_REAL;
    default: return COLUMN_INTEGER;
    }
}

/* Makes the columns of TABLE from its class. -ENOMEM. */
static int make_columns(struct event_tables *tables, struct event_table *table)
{
    const struct event_class *class = table->class;
    struct trace_column *columns = arena_alloc(
        &tables->arena, (EVENT_FIELDS + 2 * (size_t) class->n_fields) * sizeof *columns);
    uint8_t *named = arena_alloc(&tables->arena, class->n_fields + 1);
    unsigned n_named = 0;

    table->wide = arena_alloc(&tables->arena, class->n_fields + 1);
    if (!columns || !named || !table->wide)
        return -ENOMEM;
    memcpy(columns, event_columns, sizeof event_columns);
    table->table.columns = columns;
    table->table.n_columns = EVENT_FIELDS;
    table->n_fields = class->n_fields;
    table->named = named;
    for (unsigned i = 0; i < class->n_fields; i++) {
        const struct field *field = &class->fields[i];
        struct trace_column *column = add_column(tables, &table->table, columns, field->name, "");

        if (!column)
            return -ENOMEM;
        column->type = type_of(field);
        column->hex = field->hex || field->type == FIELD_POINTER;
        table->wide[i] = is_wide(field);
    }
    for (unsigned i = 0; i < class->n_fields; i++) {
        struct trace_column *column;

        if (!class_may_name(class, i))
            continue;
        column = add_column(tables, &table->table, columns, class->fields[i].name, "_name");
        if (!column)
            return -ENOMEM;
        column->type = COLUMN_TEXT;
        named[n_named++] = (uint8_t)i;
    }
    return 0;
}

const struct event_table *event_tables_find(const struct event_tables *tables,
                                            const struct event_class *class)
{
    const char *layer = layer_name(class->origin->layer);
    size_t size = strlen(layer) + 1 + strlen(class->name) + 1;
    _cleanup_free_ char *key = malloc(size);
    const struct event_family *family;
    const struct event_table *table;

    if (!key)
        return NULL;
    snprintf(key, size, "%s_%s", layer, class->name);
    family = map_get_str(&tables->families, key, size - 1);
    table = family ? family->first : NULL;
    while (table && !same_columns(table->class, class))
        table = table->next_variant;
    return table;
}

struct event_table *event_tables_get(struct event_tables *tables, const struct event_class *class)
{
    struct event_family *family = find_family(tables, class);
    struct event_table *table = family ? family->first : NULL;

    if (!family)
        return NULL;
    while (table && !same_columns(table->class, class))
        table = table->next_variant;
    for (unsigned i = 0; table && i < class->n_fields; i++)
        table->wide[i] |= is_wide(&class->fields[i]);
    if (table)
        return table;
    table = arena_alloc(&tables->arena, sizeof *table);
    if (!table)
        return NULL;
    *table = (struct event_table){.class = class, .family = family, .number = tables->n};
    table->table.name =
        family->first ? class_names_fresh(&tables->names, family->name) : family->name;
    table->sql_name = table->table.name;
    if (!table->table.name || make_columns(tables, table) < 0)
        return NULL;
    *(family->last ? &family->last->next_variant : &family->first) = table;
    family->last = table;
    *(tables->last ? &tables->last->next : &tables->first) = table;
    tables->last = table;
    tables->n++;
    return table;
}

int event_tables_name_variants(struct event_tables *tables)
{
    for (struct event_family *family = tables->first_family; family; family = family->next) {
        size_t size = strlen(family->name) + 3;
        _cleanup_free_ char *wanted = malloc(size);

        if (!family->first->next_variant)
            continue;
        if (!wanted)
            return -ENOMEM;
        snprintf(wanted, size, "%s_1", family->name);
        family->first->sql_name = class_names_fresh(&tables->names, wanted);
        if (!family->first->sql_name)
            return -ENOMEM;
    }
    return 0;
}
