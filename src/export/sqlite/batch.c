/* SPDX-License-Identifier: MIT */
#include "export/sqlite/batch.h"

#include <string.h>

#include "base/macro.h"
#include "tables/sqlite_cell.h"

#define ROWS_MAX 8192
#define PAYLOADS_MAX ((size_t)224 * 1024)

struct sqlite_batch_row {
    struct item item;
    struct event_row row; /* of `item` */
    uint32_t next;        /* next row of its table, or SQLITE_BATCH_NONE */
};

struct batch_table {
    sqlite3_vtab base;
    struct sqlite_batch *batch;
};

struct batch_cursor {
    sqlite3_vtab_cursor base;
    struct sqlite_batch *batch;
    const struct sqlite_batch_row *row; /* NULL at the end */
};

static int table_connect(sqlite3 *db, void *arg, int argc, const char *const *argv,
                         sqlite3_vtab **ret_table, char **ret_error)
{
    struct text sql = TEXT_IN_MEMORY;
    struct batch_table *table;
    int code;

    (void)argc;
    (void)argv;
    (void)ret_error;
    text_put_literal(&sql, "CREATE TABLE batch(c0");
    for (unsigned i = 1; i < EVENT_COLUMNS_MAX; i++)
        text_printf(&sql, ", c%u", i);
    text_put(&sql, ")", 2);
    code = sql.error ? SQLITE_NOMEM : sqlite3_declare_vtab(db, sql.start);
    text_done(&sql);
    if (code != SQLITE_OK)
        return code;
    table = calloc(1, sizeof *table);
    if (!table)
        return SQLITE_NOMEM;
    table->batch = arg;
    *ret_table = &table->base;
    return SQLITE_OK;
}

static int table_disconnect(sqlite3_vtab *base)
{
    free(container_of(base, struct batch_table, base));
    return SQLITE_OK;
}

/* The only way to read it is from first to last. */
static int table_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    (void)base;
    info->estimatedCost = ROWS_MAX;
    return SQLITE_OK;
}

static int cursor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor)
{
    struct batch_cursor *cursor = calloc(1, sizeof *cursor);

    if (!cursor)
        return SQLITE_NOMEM;
    cursor->batch = container_of(base, struct batch_table, base)->batch;
    *ret_cursor = &cursor->base;
    return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *base)
{
    free(container_of(base, struct batch_cursor, base));
    return SQLITE_OK;
}

static int cursor_go(struct batch_cursor *cursor, uint32_t to)
{
    struct sqlite_batch *batch = cursor->batch;

    cursor->row = to == SQLITE_BATCH_NONE ? NULL : &batch->rows[to];
    if (!cursor->row)
        return SQLITE_OK;
    return event_row_cells(&cursor->row->row, batch->buffer, batch->cells) < 0 ? SQLITE_NOMEM
                                                                               : SQLITE_OK;
}

static int cursor_filter(sqlite3_vtab_cursor *base, int number, const char *name, int argc,
                         sqlite3_value **argv)
{
    struct batch_cursor *cursor = container_of(base, struct batch_cursor, base);

    (void)number;
    (void)name;
    (void)argc;
    (void)argv;
    return cursor_go(cursor, cursor->batch->next);
}

static int cursor_next(sqlite3_vtab_cursor *base)
{
    struct batch_cursor *cursor = container_of(base, struct batch_cursor, base);

    return cursor_go(cursor, cursor->row->next);
}

static int cursor_eof(sqlite3_vtab_cursor *base)
{
    return !container_of(base, struct batch_cursor, base)->row;
}

/* A column without a result is NULL. */
static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    struct batch_cursor *cursor = container_of(base, struct batch_cursor, base);
    const struct trace_table *table = &cursor->row->row.table->table;

    if ((unsigned)column < table->n_columns)
        sqlite_result_cell(context, table->columns[column].type, &cursor->batch->cells[column],
                           SQLITE_STATIC);
    return SQLITE_OK;
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_id)
{
    *ret_id = container_of(base, struct batch_cursor, base)->row->row.id;
    return SQLITE_OK;
}

int sqlite_batch_register(struct sqlite_batch *batch, sqlite3 *db)
{
    /* Without xCreate: there is one such table, and it is not in the database's schema. */
    static const sqlite3_module module = {
        .xConnect = table_connect,
        .xBestIndex = table_best_index,
        .xDisconnect = table_disconnect,
        .xOpen = cursor_open,
        .xClose = cursor_close,
        .xFilter = cursor_filter,
        .xNext = cursor_next,
        .xEof = cursor_eof,
        .xColumn = cursor_column,
        .xRowid = cursor_rowid,
    };

    return sqlite3_create_module(db, SQLITE_BATCH_TABLE, &module, batch);
}

int sqlite_batch_init(struct sqlite_batch *batch)
{
    *batch = (struct sqlite_batch){.next = SQLITE_BATCH_NONE};
    batch->rows = malloc(ROWS_MAX * sizeof *batch->rows);
    batch->payloads = malloc(PAYLOADS_MAX);
    batch->cells = calloc(EVENT_COLUMNS_MAX, sizeof *batch->cells);
    batch->buffer = malloc(sizeof *batch->buffer);
    if (batch->buffer)
        row_buffer_init(batch->buffer);
    if (!batch->rows || !batch->payloads || !batch->cells || !batch->buffer) {
        sqlite_batch_done(batch);
        return -ENOMEM;
    }
    return 0;
}

void sqlite_batch_done(struct sqlite_batch *batch)
{
    free(batch->rows);
    free(batch->payloads);
    free(batch->cells);
    if (batch->buffer)
        row_buffer_done(batch->buffer);
    free(batch->buffer);
    *batch = (struct sqlite_batch){0};
}

bool sqlite_batch_has_room(const struct sqlite_batch *batch, uint32_t size)
{
    return batch->n == 0 || (batch->n < ROWS_MAX && size <= PAYLOADS_MAX - batch->n_payloads);
}

bool sqlite_batch_add(struct sqlite_batch *batch, struct sqlite_chain *chain,
                      const struct event_row *from)
{
    struct sqlite_batch_row *row = &batch->rows[batch->n];
    uint32_t size = from->item->size;

    row->item = *from->item;
    row->row = *from;
    row->row.item = &row->item;
    row->next = SQLITE_BATCH_NONE;
    if (chain->first == SQLITE_BATCH_NONE)
        chain->first = batch->n;
    else
        batch->rows[chain->last].next = batch->n;
    chain->last = batch->n++;
    if (unlikely(size > PAYLOADS_MAX))
        return true;
    memcpy(batch->payloads + batch->n_payloads, from->item->payload, size);
    row->item.payload = batch->payloads + batch->n_payloads;
    batch->n_payloads += size;
    return false;
}
