/* SPDX-License-Identifier: MIT */
#pragma once

/* The tables as SQL, in SQLite's dialect: for the export to SQLite and for `strata sql`. No text ends with a NUL; its
 * error is the caller's to look at. */

#include "base/text.h"
#include "tables/event_table.h"

/* What SQLite calls the type of a column, after a blank; "": any. */
extern const char *const sql_types[COLUMN_TYPES];

/* "NAME" in quotes; 'STRING', or NULL. */
void sql_put_name(struct text *sql, const char *name);
void sql_put_string(struct text *sql, const char *s);

/* `CREATE TABLE` of a fixed table. */
void sql_put_fixed_table(struct text *sql, enum fixed_table table);
/* `CREATE TABLE NAME` of a table of events. */
void sql_put_event_table(struct text *sql, const struct event_table *table, const char *name);

/* `CREATE VIEW NAME AS`. */
void sql_put_view_start(struct text *sql, const char *name);

/* The columns of several tables, each name once. */
struct sql_columns {
    const char **names; /* malloc()ed */
    unsigned n;
};

/* Adds those of the fields of TABLE. -ENOMEM. */
int sql_columns_add(struct sql_columns *columns, const struct event_table *table);
/* A `SELECT` from TABLE with the columns that all events have and COLUMNS, NULL where TABLE has none of the name. */
void sql_put_variant(struct text *sql, const struct event_table *table,
                     const struct sql_columns *columns);

/* A `SELECT` from TABLE with the columns of the view `event`, or with FIELDS those of `events_json`; but
 * without `comm`. TABLE NULL: one that finds nothing. */
void sql_put_select(struct text *sql, const struct event_table *table, bool fields);
/* `CREATE VIEW NAME`: the view itself, over all those, FROM. */
void sql_put_view(struct text *sql, const char *name, const char *from, bool fields);

/* Runs SQL, which ends with a NUL. 0, or a negative errno. */
typedef int sql_execute_fn(void *arg, const char *sql);

/* Makes the view of each event that has variants. Tables of events are called `sql_name`, which
 * event_tables_name_variants() has set. What EXECUTE returned, or -ENOMEM. */
int sql_make_variant_views(struct event_tables *tables, sql_execute_fn *execute, void *arg);
/* Makes the view NAME of all events, with FIELDS that of their fields in JSON. The same. */
int sql_make_event_view(struct event_tables *tables, const char *name, bool fields,
                        sql_execute_fn *execute, void *arg);
