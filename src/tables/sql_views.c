/* SPDX-License-Identifier: MIT */
/* Makes views over several tables: of an event's variants, and of all events. */
#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"
#include "tables/sql.h"

/* Limits of the selects in a compound SELECT (SQLite permits 500), and of a statement's bytes (SQLite permits a
 * million). */
#define SELECTS_MAX 400
#define SQL_ENOUGH 400000

/* What a view selects from each of several tables. */
enum selected { SELECT_EVENTS, SELECT_JSON, SELECT_VARIANTS };

struct selection {
    enum selected what;
    struct sql_columns columns; /* SELECT_VARIANTS: of the tables of one event */
};

struct views {
    struct event_tables *tables;
    sql_execute_fn *execute;
    void *arg;
};

/* Runs SQL and frees it. */
static int execute(const struct views *views, struct text *sql)
{
    int r;

    text_put(sql, "", 1);
    r = sql->error ? -ENOMEM : views->execute(views->arg, sql->start);
    text_done(sql);
    *sql = TEXT_IN_MEMORY;
    return r;
}

/* Puts the selects of as many tables from *TABLE on as fit into a statement, and advances *TABLE. */
static void put_selects(struct text *sql, const struct event_table **table,
                        const struct selection *selection)
{
    for (unsigned i = 0; *table && i < SELECTS_MAX && text_len(sql) < SQL_ENOUGH; i++) {
        text_put_str(sql, i ? " UNION ALL " : "");
        if (selection->what == SELECT_VARIANTS)
            sql_put_variant(sql, *table, &selection->columns);
        else
            sql_put_select(sql, *table, selection->what == SELECT_JSON);
        *table = selection->what == SELECT_VARIANTS ? (*table)->next_variant : (*table)->next;
    }
}

/* Makes a view over a part, if more than one compound SELECT is needed. */
static int make_part(const struct views *views, const struct event_table **table,
                     const struct selection *selection, const char *name, struct text *from)
{
    struct text part = TEXT_IN_MEMORY, sql = TEXT_IN_MEMORY;

    text_put_str(&part, name);
    text_put(&part, "_part", sizeof "_part");
    name = part.error ? NULL : class_names_fresh(&views->tables->names, part.start);
    text_done(&part);
    if (!name)
        return -ENOMEM;
    sql_put_view_start(&sql, name);
    put_selects(&sql, table, selection);
    text_put_str(from, text_len(from) ? " UNION ALL SELECT * FROM " : "SELECT * FROM ");
    text_put_str(from, name);
    return execute(views, &sql);
}

/* Puts the selects of all tables from TABLE on, for the view NAME. */
static int put_all(const struct views *views, const struct event_table *table,
                   const struct selection *selection, const char *name, struct text *from)
{
    const struct event_table *rest = table;
    int r = 0;

    put_selects(from, &rest, selection);
    if (rest) {
        from->next = from->start;
        while (table && r == 0)
            r = make_part(views, &table, selection, name, from);
    }
    text_put(from, "", 1);
    return r == 0 && from->error ? -ENOMEM : r;
}

int sql_make_event_view(struct event_tables *tables, const char *name, bool fields,
                        sql_execute_fn *execute_one, void *arg)
{
    const struct views views = {.tables = tables, .execute = execute_one, .arg = arg};
    const struct selection selection = {.what = fields ? SELECT_JSON : SELECT_EVENTS};
    struct text from = TEXT_IN_MEMORY, sql = TEXT_IN_MEMORY;
    int r = 0;

    if (!tables->first)
        sql_put_select(&from, NULL, fields);
    r = put_all(&views, tables->first, &selection, name, &from);
    if (r == 0) {
        sql_put_view(&sql, name, from.start, fields);
        r = execute(&views, &sql);
    }
    text_done(&from);
    return r;
}

static int make_variant_view(const struct views *views, const struct event_family *family)
{
    struct selection selection = {.what = SELECT_VARIANTS};
    struct text sql = TEXT_IN_MEMORY, from = TEXT_IN_MEMORY;
    int r = 0;

    for (const struct event_table *table = family->first; table && r == 0;
         table = table->next_variant)
        r = sql_columns_add(&selection.columns, table);
    if (r == 0)
        r = put_all(views, family->first, &selection, family->name, &from);
    if (r == 0) {
        sql_put_view_start(&sql, family->name);
        text_put_str(&sql, from.start);
        r = execute(views, &sql);
    }
    text_done(&from);
    free(selection.columns.names);
    return r;
}

int sql_make_variant_views(struct event_tables *tables, sql_execute_fn *execute_one, void *arg)
{
    const struct views views = {.tables = tables, .execute = execute_one, .arg = arg};
    int r = 0;

    for (const struct event_family *family = tables->first_family; family && r == 0;
         family = family->next)
        if (family->first->next_variant)
            r = make_variant_view(&views, family);
    return r;
}
