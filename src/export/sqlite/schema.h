/* SPDX-License-Identifier: MIT */
#pragma once

/* The SQL of an exported database. No text ends with a NUL; its error is the caller's to look at. */

#include "base/arena.h"
#include "base/text.h"
#include "event/class.h"

/* Of `PRAGMA user_version`: goes up when a table or column goes or means something else. */
#define SQLITE_SCHEMA_VERSION 2

/* The tables that every database has. */
extern const char sqlite_schema_tables[];
/* The names that they and the views take, in lower case; ended by NULL. */
extern const char *const sqlite_schema_names[];

/* The table of event classes with the same fields. */
struct sqlite_table {
    const struct event_class *class; /* one of them */
    const char *name;
    const char **columns; /* by field */
    bool *wide;           /* by field: an unsigned number of 64 bits in any of the classes */
};

/* The columns' names: the fields' own, but `field_NAME` where a column of all events is called so, and
 * `NAME_2` where an earlier field is, whatever the case. NULL when memory is out. */
const char **sqlite_schema_columns(struct arena *arena, const struct event_class *class);

/* `CREATE TABLE`, and the `INSERT` of all that a scan of the virtual table shows
 * (export/sqlite/batch.h). */
void sqlite_schema_put_table(struct text *sql, const struct sqlite_table *table);
/* COLUMNS: which of those that not every event has are read, 1 << enum sqlite_batch_column; of the others `source` is
 * SOURCE and all else NULL, which costs next to nothing where a column of the virtual table costs 10 ns a row. */
void sqlite_schema_put_insert(struct text *sql, const struct sqlite_table *table, unsigned columns,
                              unsigned source);

void sqlite_schema_put_rename(struct text *sql, const char *from, const char *to);

/* The columns of several tables, each name once. */
struct sqlite_columns {
    const char **names;
    unsigned n;
};

/* Adds those of the fields of TABLE. -ENOMEM. */
int sqlite_schema_add_columns(struct sqlite_columns *columns, const struct sqlite_table *table);
/* A `SELECT` from TABLE with the columns that all events have and COLUMNS, NULL where TABLE has none of the name. */
void sqlite_schema_put_variant(struct text *sql, const struct sqlite_table *table,
                               const struct sqlite_columns *columns);
/* `CREATE VIEW NAME AS`. */
void sqlite_schema_put_view_start(struct text *sql, const char *name);

/* A `SELECT` from TABLE with the columns of the view `events`, or with FIELDS those of `events_json`; but
 * without `comm`. TABLE NULL: one that finds nothing. */
void sqlite_schema_put_select(struct text *sql, const struct sqlite_table *table, bool fields);
/* The view itself, over all those, FROM. */
void sqlite_schema_put_view(struct text *sql, const char *from, bool fields);
