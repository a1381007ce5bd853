/* SPDX-License-Identifier: MIT */
#pragma once

/* Which tables of an exported database hold which events. An event, by layer and name, is one table `LAYER_NAME`.
 * Where its classes do not have the same fields, each of these variants has a table of its own, `LAYER_NAME_1` and
 * so on, and `LAYER_NAME` is a view of them all. */

#include <sqlite3.h>

#include "base/map.h"
#include "export/names.h"
#include "export/sqlite/batch.h"
#include "export/sqlite/schema.h"

struct sqlite_event;

/* A table, and the events on their way into it. */
struct sqlite_rows {
    struct sqlite_table table;
    struct sqlite_rows *next;         /* in the order in which they came */
    struct sqlite_rows *next_variant; /* of the same event */
    struct sqlite_event *event;
    sqlite3_stmt *insert; /* NULL: not made yet */
    struct sqlite_chain chain;
    unsigned source;  /* the number of the origin that most events have */
    unsigned columns; /* those that an event had so far (sqlite_schema_put_insert()) */
    unsigned insert_columns;
};

struct sqlite_event {
    struct sqlite_event *next;
    const char *name; /* what to select from */
    struct sqlite_rows *first, *last;
};

struct sqlite_tables {
    struct export_names names;
    struct map events; /* "LAYER NAME": struct sqlite_event */
    struct sqlite_event *first_event, *last_event;
    struct sqlite_rows *first, *last;
    struct sqlite_rows
        *unmade; /* the first whose table is not created yet; all after it are not, either */
};

/* -ENOMEM; sqlite_tables_done() either way. */
int sqlite_tables_init(struct sqlite_tables *tables);
void sqlite_tables_done(struct sqlite_tables *tables);

/* The table for events of CLASS, a new one or that of a class with the same fields. SOURCE: the number of its origin.
 * NULL when memory is out. */
struct sqlite_rows *sqlite_tables_get(struct sqlite_tables *tables, const struct event_class *class,
                                      unsigned source);

/* Names the tables of events that have variants: the SQL that renames the first, which has the event's own name
 * until then; nothing is written for others. -ENOMEM. */
int sqlite_tables_put_rename(struct sqlite_tables *tables, struct sqlite_event *event,
                             struct text *sql);
