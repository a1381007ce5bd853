/* SPDX-License-Identifier: MIT */
#pragma once

/* Converts cells to values of SQLite. SQLite has no unsigned numbers, so numbers from 2^63 on become the negative
 * numbers with the same bits. It would store a not-a-number as NULL, so that becomes the text NaN. */

#include <math.h>
#include <sqlite3.h>

#include "tables/columns.h"

static inline double cell_real(const struct value *cell)
{
    double real;

    memcpy(&real, &cell->u, sizeof real);
    return real;
}

/* Sets the result of a function or of a column to CELL. DESTRUCTOR: SQLITE_STATIC if texts outlive the row, otherwise
 * SQLITE_TRANSIENT. */
static inline void sqlite_result_cell(sqlite3_context *context, enum column_type type,
                                      const struct value *cell, sqlite3_destructor_type destructor)
{
    if (!cell->present)
        return;
    switch (type) {
    case COLUMN_REAL:
        if (isnan(cell_real(cell)))
            sqlite3_result_text(context, "NaN", -1, SQLITE_STATIC);
        else
            sqlite3_result_double(context, cell_real(cell));
        return;
    case COLUMN_BLOB: sqlite3_result_blob64(context, cell->s, cell->len, destructor); return;
    case COLUMN_EITHER:
        if (cell->len == 0)
            break;
        __attribute__((fallthrough));
    case COLUMN_TEXT:
        sqlite3_result_text64(context, cell->s, cell->len, destructor, SQLITE_UTF8);
        return;
    case COLUMN_INTEGER:
    case COLUMN_UNSIGNED: break;
    }
    sqlite3_result_int64(context, cell->i);
}

/* Binds parameter number NUMBER of STATEMENT to CELL, whose text must live until the statement has run. */
static inline void sqlite_bind_cell(sqlite3_stmt *statement, int number, enum column_type type,
                                    const struct value *cell)
{
    if (!cell->present)
        sqlite3_bind_null(statement, number);
    else if (type == COLUMN_TEXT || (type == COLUMN_EITHER && cell->len > 0))
        sqlite3_bind_text64(statement, number, cell->s, cell->len, SQLITE_STATIC, SQLITE_UTF8);
    else if (type == COLUMN_BLOB)
        sqlite3_bind_blob64(statement, number, cell->s, cell->len, SQLITE_STATIC);
    else if (type == COLUMN_REAL && isnan(cell_real(cell)))
        sqlite3_bind_text(statement, number, "NaN", -1, SQLITE_STATIC);
    else if (type == COLUMN_REAL)
        sqlite3_bind_double(statement, number, cell_real(cell));
    else
        sqlite3_bind_int64(statement, number, cell->i);
}
