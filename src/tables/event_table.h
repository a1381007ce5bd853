/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes the tables of events. An event of a layer has a table `LAYER_NAME`. If several of its classes have different
 * fields, each variant has its own table; consumers show them as one (`event_family`).
 *
 * A table has the columns of all events (event_columns), a column for each field, then a text column FIELD_name for
 * each field whose values have names. If a field has the name of a column of all events, it gets the prefix `field_`.
 * The second column with the same name, ignoring case, gets the suffix `_2`, and so on. */

#include "base/arena.h"
#include "base/map.h"
#include "event/class.h"
#include "tables/columns.h"
#include "tables/names.h"

/* The largest number of columns of an event's table. */
#define EVENT_COLUMNS_MAX (EVENT_FIELDS + 2 * FIELDS_MAX)

struct event_table {
    struct trace_table table;
    const struct event_class *class; /* one of the classes whose events it has */
    struct event_family *family;
    struct event_table *next;         /* in the order of their first events */
    struct event_table *next_variant; /* of the same event */
    unsigned number;                  /* from 0 */
    unsigned n_fields;                /* columns EVENT_FIELDS to EVENT_FIELDS + n_fields - 1 */
    const uint8_t *named; /* for each further column: the number of the field that it names */
    /* By field: some class of the table so far has unsigned numbers of 64 bits. */
    bool *wide;
    const char *sql_name; /* name in SQL: NAME_1 for the first of several variants */
    void *data;           /* the consumer's */
};

/* An event with all its variants. */
struct event_family {
    struct event_family *next; /* in the order of their first events */
    const char *name;          /* "guest_sched_switch"; also the name of its first table */
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

/* -ENOMEM. Call event_tables_done() in any case. */
int event_tables_init(struct event_tables *tables);
void event_tables_done(struct event_tables *tables);

/* Returns the table for events of CLASS: a new one, or the table of a class with the same columns. NULL if out of
 * memory. */
struct event_table *event_tables_get(struct event_tables *tables, const struct event_class *class);

/* Returns the table with the columns of CLASS, or NULL. For classes of the same trace opened again. */
const struct event_table *event_tables_find(const struct event_tables *tables,
                                            const struct event_class *class);

/* Sets `sql_name` of all tables. Call once, when all tables are known. -ENOMEM. */
int event_tables_name_variants(struct event_tables *tables);

/* Returns the number of the column NAME of TABLE, ignoring case, or -1. */
int trace_table_column(const struct trace_table *table, const char *name);
