/* SPDX-License-Identifier: MIT */
#pragma once

/* The tables of events: their types, and how conditions of a query narrow a scan.
 *
 * xBestIndex passes a plan to xFilter. It has the used columns as 16 hexadecimal digits, then for each argument an
 * operation, a letter for the column if a scan can check it, otherwise '-', and four digits of the column. Operations
 * are '=', 'i' (one of a list), '>' and '<' (or equal), 'G' (GLOB), 'K' (LIKE). Columns without a letter are for
 * lookups in copies. */

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

/* The columns of a variant, by column of the table. */
struct variant_columns {
    const struct event_table *table;
    int16_t *columns; /* -1 if it has none */
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

/* The column of a TERM in a plan. */
static inline unsigned plan_column(const char *term)
{
    return (unsigned)strtoul((const char[]){term[2], term[3], term[4], term[5], '\0'}, NULL, 16);
}

/* xBestIndex: makes the plan. */
int scan_best_index(sqlite3_vtab *base, sqlite3_index_info *info);
/* Narrows FILTER by an operation on COLUMN, a letter of the plan. -ENOMEM. */
int scan_narrow(struct scan_filter *filter, char op, char column, sqlite3_value *value);
