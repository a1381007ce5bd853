/* SPDX-License-Identifier: MIT */
#pragma once

/* The tables of events. An event, by layer and name, is one table `LAYER_NAME`. Where its classes do not have the same
 * fields, each of these variants has a table of its own; consumers show them as one (`event_family`).
 *
 * Columns: those of all events (event_columns), a column for each field, then a text column FIELD_name for each field
 * whose values have names. A field with the name of a column of all events gets the prefix `field_`. The second column
 * of a name, whatever the case, gets the suffix `_2`, and so on. */

#include "base/arena.h"
#include "base/map.h"
#include "event/class.h"
#include "tables/columns.h"
#include "tables/names.h"

/* The most columns of a table of an event. */
#define EVENT_COLUMNS_MAX (EVENT_FIELDS + 2 * FIELDS_MAX)

struct event_table {
    struct trace_table table;
    const struct event_class *class; /* one of those whose events it holds */
    struct event_family *family;
    struct event_table *next;         /* in the order in which they came */
    struct event_table *next_variant; /* of the same event */
    unsigned number;                  /* from 0 */
    unsigned n_fields;                /* columns EVENT_FIELDS to EVENT_FIELDS + n_fields - 1 */
    const uint8_t *named; /* of the columns after these: the number of the field that each names */
    /* By field: an unsigned number of 64 bits in any class of the table so far. */
    bool *wide;
    const char *sql_name; /* in SQL: NAME_1 if it is the first of several variants */
    void *data;           /* the consumer's */
};

/* An event: all its variants. */
struct event_family {
    struct event_family *next; /* in the order in which they came */
    const char *name;          /* "guest_sched_switch"; its first table is called so, too */
    struct event_table *first, *last;
};

struct event_tables {
    struct arena arena;
    struct class_names names;
    struct map families; /* "LAYER_NAME" */
    struct event_family *first_family, *last_family;
    struct event_table *first, *last;
    unsigned n;
};

/* -ENOMEM; event_tables_done() either way. */
int event_tables_init(struct event_tables *tables);
void event_tables_done(struct event_tables *tables);

/* The table for events of CLASS: a new one, or that of a class with the same columns. NULL when memory is out. */
struct event_table *event_tables_get(struct event_tables *tables, const struct event_class *class);

/* The same, of a class whose columns a table has; NULL: there is none. For classes of the same trace opened again. */
const struct event_table *event_tables_find(const struct event_tables *tables,
                                            const struct event_class *class);

/* Sets `sql_name` of all tables: when all are known, once. -ENOMEM. */
int event_tables_name_variants(struct event_tables *tables);

/* The number of the column of TABLE called NAME, whatever the case; -1: none. */
int trace_table_column(const struct trace_table *table, const char *name);
