/* SPDX-License-Identifier: MIT */
#pragma once

/* The inside of the tables of events: what they are, and how a query's conditions narrow a scan.
 *
 * The plan that SQLite keeps between the two is the columns that are used, 16 hexadecimal digits, then for each argument an
 * operation, the letter of what a scan can look at, or '-', and four digits of the column. Operations are '=', 'i' (one of a
 * list), '>' and '<' (or equal), 'G' (GLOB), 'K' (LIKE). A column without a letter is for lookups in copies. */

#include <stdlib.h>

#include "query/scan.h"

#define PLAN_USED 16
#define PLAN_TERM 6

struct scan_module {
    struct query *query;
    const struct event_family *family; /* NULL: all events */
    const struct event_table *variant; /* NULL: all variants */
    bool fields;                       /* events_json */
};

/* Where each column of a table of several variants is in one of them. */
struct variant_columns {
    const struct event_table *table;
    int16_t *columns; /* -1: it has none */
};

struct scan_table {
    sqlite3_vtab base;
    struct query *query;
    const struct scan_module *module;
    struct trace_column *columns;
    unsigned n_columns;
    struct variant_columns *variants;
    unsigned n_variants;
};

/* The column of a plan's TERM. */
static inline unsigned plan_column(const char *term)
{
    return (unsigned)strtoul((const char[]){term[2], term[3], term[4], term[5], '\0'}, NULL, 16);
}

/* xBestIndex: makes the plan. */
int scan_best_index(sqlite3_vtab *base, sqlite3_index_info *info);
/* Narrows FILTER by an operation on what COLUMN, a letter of the plan, stands for. -ENOMEM. */
int scan_narrow(struct scan_filter *filter, char op, char column, sqlite3_value *value);
