/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints the rows of a query as a table. */

#include "base/text.h"
#include "print/table.h"
#include "query/query.h"

struct query_printing {
    struct query *query;
    struct text *out;
    enum table_format format;
    bool spreadsheet; /* as in struct table_form */
    /* Called before the first rows. May be NULL. */
    void (*begin)(void *arg);
    void *arg;
};

/* Prints the rows of STATEMENT. 0, -EINTR, or a negative errno with ERROR. */
int query_print_rows(const struct query_printing *options, sqlite3_stmt *statement,
                     struct error *error);
