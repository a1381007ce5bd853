/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes copies of event tables in a temporary database, for inner loops of joins, which would otherwise read the trace
 * once per row of the outer loop. A copy has the columns that queries use, and an index for each set of columns by
 * which they look up rows. A copy is made when a table is read repeatedly, and kept until the end. */

#include "query/internal.h"

struct copy {
    struct copy *next;
    const void *table; /* the copied table */
    uint64_t used;     /* as in sqlite3_index_info.colUsed */
    char *constants;   /* by what its rows were selected */
    unsigned number;
    int16_t *places; /* column of the copy for each column of the table; -1: none */
    unsigned n_places;
};

/* A comparison by which rows are looked up. */
struct copy_term {
    const char *op; /* "=", ">=", … */
    unsigned column;
};

static inline bool copy_uses(uint64_t used, unsigned column)
{
    return used >> (column < 63 ? column : 63) & 1;
}

/* Returns a copy of TABLE with at least the columns USED, selected by CONSTANTS, or NULL. */
const struct copy *copy_find(const struct query *query, const void *table, uint64_t used,
                             const char *constants);

/* Creates an empty copy, and a statement that inserts a row. The statement's parameters are the row number and the used
 * columns in their order. End with copy_end(); FAILED removes the copy. */
int copy_begin(struct query *query, const void *table, uint64_t used, const char *constants,
               const struct trace_column *columns, unsigned n_columns, struct copy **ret_copy,
               sqlite3_stmt **ret_insert);
int copy_end(struct query *query, struct copy *copy, sqlite3_stmt *insert, bool failed);

/* Prepares a statement that finds rows by N TERMS, parameters 1 and so on. Columns of the copy count from 1; column 0
 * is the row number. ORDERED: in the order of the trace. Makes an index. */
int copy_prepare(struct query *query, const struct copy *copy, const struct copy_term *terms,
                 unsigned n, bool ordered, sqlite3_stmt **ret_statement);

/* Sets query->error to the error of the temporary database. */
int copies_failed(struct query *query);
void copies_done(struct query *query);
