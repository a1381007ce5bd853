/* SPDX-License-Identifier: MIT */
/* Views over several tables: of the variants of an event, and of all events. */
#include "export/sqlite/database.h"

/* Of a compound SELECT, where SQLite's limit is 500; and bytes of a statement, where it is a million. */
#define SELECTS_MAX 400
#define SQL_ENOUGH 400000

/* What a view selects from each of several tables. */
enum selected { SELECT_EVENTS, SELECT_JSON, SELECT_VARIANTS };

struct selection {
    enum selected what;
    struct sqlite_columns columns; /* SELECT_VARIANTS: of the tables of one event */
};

/* The selects of as many tables from *ROWS on as one statement has, which goes after them. */
static void put_selects(struct text *sql, const struct sqlite_rows **rows,
                        const struct selection *selection)
{
    for (unsigned i = 0; *rows && i < SELECTS_MAX && text_len(sql) < SQL_ENOUGH; i++) {
        text_put_str(sql, i ? " UNION ALL " : "");
        if (selection->what == SELECT_VARIANTS)
            sqlite_schema_put_variant(sql, &(*rows)->table, &selection->columns);
        else
            sqlite_schema_put_select(sql, &(*rows)->table, selection->what == SELECT_JSON);
        *rows = selection->what == SELECT_VARIANTS ? (*rows)->next_variant : (*rows)->next;
    }
}

/* A view over what needs more than one compound SELECT. */
static int make_part(struct sqlite *db, const struct sqlite_rows **rows,
                     const struct selection *selection, const char *name, struct text *from)
{
    struct text part = TEXT_IN_MEMORY, sql = TEXT_IN_MEMORY;

    text_put_str(&part, name);
    text_put(&part, "_part", sizeof "_part");
    name = part.error ? NULL : export_names_fresh(&db->tables.names, part.start);
    text_done(&part);
    if (!name)
        return export_no_memory(&db->sink.error);
    sqlite_schema_put_view_start(&sql, name);
    put_selects(&sql, rows, selection);
    text_put_str(from, text_len(from) ? " UNION ALL SELECT * FROM " : "SELECT * FROM ");
    text_put_str(from, name);
    return sqlite_execute_text(db, &sql);
}

/* Puts the selects of all tables from ROWS on, of what shall be called NAME. */
static int put_all(struct sqlite *db, const struct sqlite_rows *rows,
                   const struct selection *selection, const char *name, struct text *from)
{
    const struct sqlite_rows *rest = rows;
    int r = 0;

    put_selects(from, &rest, selection);
    if (rest) {
        from->next = from->start;
        while (rows && r == 0)
            r = make_part(db, &rows, selection, name, from);
    }
    text_put(from, "", 1);
    return r == 0 && from->error ? export_no_memory(&db->sink.error) : r;
}

static int make_view(struct sqlite *db, bool fields)
{
    const struct selection selection = {.what = fields ? SELECT_JSON : SELECT_EVENTS};
    struct text from = TEXT_IN_MEMORY, sql = TEXT_IN_MEMORY;
    int r = 0;

    if (!db->tables.first)
        sqlite_schema_put_select(&from, NULL, fields);
    r = put_all(db, db->tables.first, &selection, fields ? "events_json" : "events", &from);
    if (r == 0) {
        sqlite_schema_put_view(&sql, from.start, fields);
        r = sqlite_execute_text(db, &sql);
    }
    text_done(&from);
    return r;
}

/* Names the tables of the variants of EVENT, and makes the view of them. */
static int make_event_view(struct sqlite *db, struct sqlite_event *event)
{
    struct selection selection = {.what = SELECT_VARIANTS};
    struct text sql = TEXT_IN_MEMORY, from = TEXT_IN_MEMORY;
    int r = sqlite_tables_put_rename(&db->tables, event, &sql);

    for (struct sqlite_rows *rows = event->first; rows && r == 0; rows = rows->next_variant) {
        sqlite3_finalize(rows->insert);
        rows->insert = NULL;
        r = sqlite_schema_add_columns(&selection.columns, &rows->table);
    }
    r = r < 0 ? export_no_memory(&db->sink.error) : sqlite_execute_text(db, &sql);
    if (r == 0)
        r = put_all(db, event->first, &selection, event->name, &from);
    if (r == 0) {
        sql = TEXT_IN_MEMORY;
        sqlite_schema_put_view_start(&sql, event->name);
        text_put_str(&sql, from.start);
        r = sqlite_execute_text(db, &sql);
    }
    text_done(&from);
    free(selection.columns.names);
    return r;
}

int sqlite_make_event_views(struct sqlite *db)
{
    int r = 0;

    for (struct sqlite_event *event = db->tables.first_event; event && r == 0; event = event->next)
        if (event->first->next_variant)
            r = make_event_view(db, event);
    return r;
}

int sqlite_make_views(struct sqlite *db)
{
    int r = make_view(db, false);

    return r == 0 ? make_view(db, true) : r;
}
