/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes the tables as SQL, in SQLite's dialect, for the export to SQLite and for `strata sql`. The functions append no
 * NUL. The caller checks the text's error. */

#include "base/text.h"
#include "tables/event_table.h"

/* SQLite's type of a column, after a blank; "" for any type. */
extern const char *const sql_types[COLUMN_TYPES];

/* Puts "NAME" in quotes; 'STRING', or NULL. */
void sql_put_name(struct text *sql, const char *name);
void sql_put_string(struct text *sql, const char *s);

/* Puts `CREATE TABLE` for a fixed table. */
void sql_put_fixed_table(struct text *sql, enum fixed_table table);
/* Puts `CREATE TABLE NAME` for a table of events. */
void sql_put_event_table(struct text *sql, const struct event_table *table, const char *name);

/* Puts `CREATE VIEW NAME AS`. */
void sql_put_view_start(struct text *sql, const char *name);

/* The columns of several tables, each name once. */
struct sql_columns {
    const char **names; /* malloc()ed */
    unsigned n;
};

/* Adds the fields of TABLE. -ENOMEM. */
int sql_columns_add(struct sql_columns *columns, const struct event_table *table);
/* Puts a `SELECT` from TABLE with the columns of all events and COLUMNS, NULL for columns that TABLE does not have. */
void sql_put_variant(struct text *sql, const struct event_table *table,
                     const struct sql_columns *columns);

/* Puts a `SELECT` from TABLE with the columns of the view `event`, or with FIELDS of `events_json`, but without `comm`.
 * TABLE NULL: it finds nothing. */
void sql_put_select(struct text *sql, const struct event_table *table, bool fields);
/* Puts `CREATE VIEW NAME` over the selects in FROM. */
void sql_put_view(struct text *sql, const char *name, const char *from, bool fields);

/* Runs SQL, which ends with a NUL. 0, or a negative errno. */
typedef int sql_execute_fn(void *arg, const char *sql);

/* Makes a view for each event with variants. Tables of events have the names `sql_name`, set by
 * event_tables_name_variants(). Returns EXECUTE's error, or -ENOMEM. */
int sql_make_variant_views(struct event_tables *tables, sql_execute_fn *execute, void *arg);
/* Makes the view NAME of all events; with FIELDS, the view of their fields as JSON. Returns EXECUTE's error, or
 * -ENOMEM. */
int sql_make_event_view(struct event_tables *tables, const char *name, bool fields,
                        sql_execute_fn *execute, void *arg);
