/* SPDX-License-Identifier: MIT */
#pragma once

/* Copies of tables of events, in a temporary database: for the inner loops of joins, which would read the trace once per
 * row of the outer loop. A copy has the columns that queries use, and an index for each set of columns that they look rows
 * up by. It is made when a table is read again and again, and kept until the end. */

#include "query/internal.h"

struct copy {
    struct copy *next;
    const void *table; /* what it is of */
    uint64_t used;     /* as sqlite3_index_info.colUsed */
    char *constants;   /* what its rows were selected by */
    unsigned number;
    int16_t *places; /* by column of the table: its column here; -1: none */
    unsigned n_places;
};

/* A comparison that rows are looked up by. */
struct copy_term {
    const char *op; /* "=", ">=", … */
    unsigned column;
};

static inline bool copy_uses(uint64_t used, unsigned column)
{
    return used >> (column < 63 ? column : 63) & 1;
}

/* The copy of TABLE with at least the columns USED, selected by CONSTANTS; NULL: there is none. */
const struct copy *copy_find(const struct query *query, const void *table, uint64_t used,
                             const char *constants);

/* Creates an empty copy, and the statement that inserts a row: its parameters are a number for the row and the used
 * columns in their order. copy_end() with it, then with FAILED: the copy goes. */
int copy_begin(struct query *query, const void *table, uint64_t used, const char *constants,
               const struct trace_column *columns, unsigned n_columns, struct copy **ret_copy,
               sqlite3_stmt **ret_insert);
int copy_end(struct query *query, struct copy *copy, sqlite3_stmt *insert, bool failed);

/* A statement that finds rows by N TERMS, parameter 1 and so on: columns of the copy from 1 on, the number of the row is
 * column 0. ORDERED: in the order of the trace. Makes an index. */
int copy_prepare(struct query *query, const struct copy *copy, const struct copy_term *terms,
                 unsigned n, bool ordered, sqlite3_stmt **ret_statement);

/* The error of the temporary database, in query->error. */
int copies_failed(struct query *query);
void copies_done(struct query *query);
