/* SPDX-License-Identifier: MIT */
/* Tables whose rows are in memory: sources, threads, classes, losses and so on. Rows are found by the first columns if
 * these are integers. */
#include <stdlib.h>
#include <string.h>

#include "query/internal.h"
#include "tables/sql.h"
#include "tables/sqlite_cell.h"

struct memory_cursor {
    sqlite3_vtab_cursor base;
    const struct trace_table *table;
    const struct memory_rows *rows;
    size_t at, end;
};

/* ---- Rows ---- */

static unsigned sorted_columns(enum fixed_table number)
{
    const struct trace_table *table = &fixed_tables[number];
    unsigned n = 0;

    while (n < 2 && n < table->n_columns && table->columns[n].type == COLUMN_INTEGER &&
           !table->columns[n].nullable)
        n++;
    return n;
}

static int compare_rows(const void *a, const void *b, void *arg)
{
    const struct value *x = *(const struct value *const *)a, *y = *(const struct value *const *)b;
    unsigned n = *(const unsigned *)arg;

    for (unsigned i = 0; i < n; i++)
        if (x[i].i != y[i].i)
            return x[i].i < y[i].i ? -1 : 1;
    return 0;
}

void memory_rows_sort(struct memory_rows *rows, enum fixed_table number)
{
    rows->n_sorted = sorted_columns(number);
    if (rows->n > 1 && rows->n_sorted > 0)
        qsort_r(rows->rows, rows->n, sizeof(struct value *), compare_rows, &rows->n_sorted);
}

/* Returns the first row not before KEYS, or with AFTER, the first row after them. */
static size_t bound(const struct memory_rows *rows, const int64_t *keys, unsigned n, bool after)
{
    size_t low = 0, high = rows->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct value *row = rows->rows[middle];
        int order = 0;

        for (unsigned i = 0; i < n && order == 0; i++)
            order = row[i].i < keys[i] ? -1 : row[i].i > keys[i];
        if (order < 0 || (after && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void memory_rows_find(const struct memory_rows *rows, const int64_t *keys, unsigned n,
                      size_t *ret_first, size_t *ret_end)
{
    *ret_first = bound(rows, keys, n, false);
    *ret_end = bound(rows, keys, n, true);
}

/* ---- The virtual table ---- */

static int memory_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const struct fixed_vtab *table = container_of(base, struct fixed_vtab, base);
    const struct memory_rows *rows = &table->query->rows[table->number];
    unsigned n_sorted = sorted_columns(table->number), n = 0;

    for (; n < n_sorted; n++) {
        int i = 0;

        while (i < info->nConstraint &&
               !(info->aConstraint[i].usable && info->aConstraint[i].iColumn == (int)n &&
                 info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ))
            i++;
        if (i == info->nConstraint)
            break;
        info->aConstraintUsage[i].argvIndex = (int)n + 1;
    }
    info->idxNum = (int)n;
    info->estimatedRows = rows->n ? (sqlite3_int64)rows->n >> (6 * n) : 1000 >> (5 * n);
    info->estimatedCost = (double)info->estimatedRows + 5;
    return SQLITE_OK;
}

static int memory_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor)
{
    const struct fixed_vtab *table = container_of(base, struct fixed_vtab, base);
    struct memory_cursor *cursor = calloc(1, sizeof *cursor);

    if (!cursor)
        return SQLITE_NOMEM;
    cursor->table = &fixed_tables[table->number];
    cursor->rows = &table->query->rows[table->number];
    *ret_cursor = &cursor->base;
    return SQLITE_OK;
}

static int memory_close(sqlite3_vtab_cursor *base)
{
    free(container_of(base, struct memory_cursor, base));
    return SQLITE_OK;
}

static int memory_filter(sqlite3_vtab_cursor *base, int number, const char *name, int argc,
                         sqlite3_value **argv)
{
    struct memory_cursor *cursor = container_of(base, struct memory_cursor, base);
    struct fixed_vtab *table = container_of(base->pVtab, struct fixed_vtab, base);
    int64_t keys[2] = {0};
    unsigned n = 0;
    int r = query_survey(table->query);

    (void)number;
    (void)name;
    if (r < 0)
        return table_failed(table->query, &table->base, r);
    while (n < (unsigned)argc && sqlite3_value_type(argv[n]) == SQLITE_INTEGER) {
        keys[n] = sqlite3_value_int64(argv[n]);
        n++;
    }
    memory_rows_find(cursor->rows, keys, n, &cursor->at, &cursor->end);
    return SQLITE_OK;
}

static int memory_next(sqlite3_vtab_cursor *base)
{
    container_of(base, struct memory_cursor, base)->at++;
    return SQLITE_OK;
}

static int memory_eof(sqlite3_vtab_cursor *base)
{
    const struct memory_cursor *cursor = container_of(base, struct memory_cursor, base);

    return cursor->at >= cursor->end;
}

static int memory_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const struct memory_cursor *cursor = container_of(base, struct memory_cursor, base);

    sqlite_result_cell(context, cursor->table->columns[column].type,
                       &cursor->rows->rows[cursor->at][column], SQLITE_STATIC);
    return SQLITE_OK;
}

static int memory_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_id)
{
    *ret_id = (sqlite3_int64)container_of(base, struct memory_cursor, base)->at;
    return SQLITE_OK;
}

int memory_tables_register(struct query *query)
{
    /* Without xCreate: each is there under its name, and not in a schema. */
    static const sqlite3_module module = {
        .xConnect = fixed_vtab_connect,
        .xBestIndex = memory_best_index,
        .xDisconnect = fixed_vtab_disconnect,
        .xOpen = memory_open,
        .xClose = memory_close,
        .xFilter = memory_filter,
        .xNext = memory_next,
        .xEof = memory_eof,
        .xColumn = memory_column,
        .xRowid = memory_rowid,
    };
    int code = SQLITE_OK;

    for (enum fixed_table i = 0; i < FIXED_TABLES && code == SQLITE_OK; i++)
        if (i != TABLE_EVENT && i != TABLE_SPAN && i != TABLE_STATE)
            code = fixed_vtab_register(query, i, &module);
    return code;
}
