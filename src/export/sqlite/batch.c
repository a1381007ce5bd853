/* SPDX-License-Identifier: MIT */
#include "export/sqlite/batch.h"

#include <math.h>
#include <string.h>

#include "base/macro.h"
#include "export/export.h"
#include "print/json.h"

#define ROWS_MAX 8192
#define PAYLOADS_MAX ((size_t)224 * 1024)

struct sqlite_batch_row {
    struct item item;
    int64_t id;
    uint32_t source;
    uint32_t next; /* of its class, or SQLITE_BATCH_NONE */
};

struct batch_table {
    sqlite3_vtab base;
    struct sqlite_batch *batch;
};

struct batch_cursor {
    sqlite3_vtab_cursor base;
    struct sqlite_batch *batch;
    const struct sqlite_batch_row *row; /* NULL: after the last */
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
    for (unsigned i = 1; i < SQLITE_BATCH_COLUMNS; i++)
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

/* There is one way to read it: from first to last. */
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

static void cursor_go(struct batch_cursor *cursor, uint32_t to)
{
    struct sqlite_batch *batch = cursor->batch;

    cursor->row = to == SQLITE_BATCH_NONE ? NULL : &batch->rows[to];
    if (cursor->row)
        item_values(&cursor->row->item, batch->values);
}

static int cursor_filter(sqlite3_vtab_cursor *base, int number, const char *name, int argc,
                         sqlite3_value **argv)
{
    struct batch_cursor *cursor = container_of(base, struct batch_cursor, base);

    (void)number;
    (void)name;
    (void)argc;
    (void)argv;
    cursor_go(cursor, cursor->batch->next);
    return SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *base)
{
    struct batch_cursor *cursor = container_of(base, struct batch_cursor, base);

    cursor_go(cursor, cursor->row->next);
    return SQLITE_OK;
}

static int cursor_eof(sqlite3_vtab_cursor *base)
{
    return !container_of(base, struct batch_cursor, base)->row;
}

static void result_vcpu(sqlite3_context *context, struct sqlite_batch *batch,
                        const struct item *item)
{
    struct text *name = &batch->vcpu;

    if (!item->origin->put_vcpu) {
        sqlite3_result_int(context, item->vcpu);
        return;
    }
    name->next = name->start;
    item->origin->put_vcpu(item->origin, item->vcpu, name);
    if (name->error)
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_text(context, name->start, (int)text_len(name), SQLITE_STATIC);
}

/* An array of numbers is a list of JSON. */
static void result_list(sqlite3_context *context, const struct field *field,
                        const struct value *value)
{
    struct text list = TEXT_IN_MEMORY;

    json_put_value(&list, field, value);
    if (list.error)
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_text64(context, list.start, text_len(&list), SQLITE_TRANSIENT, SQLITE_UTF8);
    text_done(&list);
}

static void result_value(sqlite3_context *context, const struct field *field,
                         const struct value *value)
{
    double real;

    if (!value->present)
        return;
    switch (field->type) {
    case FIELD_STRING:
        sqlite3_result_text64(context, value->s, strnlen(value->s, value->len), SQLITE_STATIC,
                              SQLITE_UTF8);
        break;
    case FIELD_BYTES:
        if (field->element > 0)
            result_list(context, field, value);
        else
            sqlite3_result_blob64(context, value->s, value->len, SQLITE_STATIC);
        break;
    case FIELD_FLOAT:
        memcpy(&real, &value->u, sizeof real);
        /* SQLite has no NaN: it would be NULL, as what is not there. */
        if (isnan(real))
            sqlite3_result_text(context, "NaN", -1, SQLITE_STATIC);
        else
            sqlite3_result_double(context, real);
        break;
    default: sqlite3_result_int64(context, value->i);
    }
}

/* A column for which no result is set is NULL. */
static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    struct batch_cursor *cursor = container_of(base, struct batch_cursor, base);
    const struct item *item = &cursor->row->item;

    if (likely(column >= COLUMN_FIELDS)) {
        unsigned i = (unsigned)column - COLUMN_FIELDS;

        if (i < item->class->n_fields)
            result_value(context, &item->class->fields[i], &cursor->batch->values[i]);
        return SQLITE_OK;
    }
    switch (column) {
    case COLUMN_ID: sqlite3_result_int64(context, cursor->row->id); break;
    case COLUMN_TIME:
        if (item->time != TIME_UNKNOWN)
            sqlite3_result_int64(context, export_ns(item, item->time));
        break;
    case COLUMN_ERROR:
        if (cursor->batch->errors)
            sqlite3_result_int64(context, item->error_ns);
        break;
    case COLUMN_SOURCE: sqlite3_result_int64(context, cursor->row->source); break;
    case COLUMN_CPU:
        if (item->cpu != CPU_UNKNOWN)
            sqlite3_result_int(context, item->cpu);
        break;
    case COLUMN_PID:
        if (item->pid != PID_UNKNOWN)
            sqlite3_result_int(context, item->pid);
        break;
    case COLUMN_VCPU:
        if (item->vcpu != VCPU_UNKNOWN)
            result_vcpu(context, cursor->batch, item);
        break;
    default: break;
    }
    return SQLITE_OK;
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_id)
{
    *ret_id = container_of(base, struct batch_cursor, base)->row->id;
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
    *batch = (struct sqlite_batch){.next = SQLITE_BATCH_NONE, .vcpu = TEXT_IN_MEMORY};
    batch->rows = malloc(ROWS_MAX * sizeof *batch->rows);
    batch->payloads = malloc(PAYLOADS_MAX);
    if (!batch->rows || !batch->payloads) {
        sqlite_batch_done(batch);
        return -ENOMEM;
    }
    return 0;
}

void sqlite_batch_done(struct sqlite_batch *batch)
{
    free(batch->rows);
    free(batch->payloads);
    text_done(&batch->vcpu);
    *batch = (struct sqlite_batch){.vcpu = TEXT_IN_MEMORY};
}

bool sqlite_batch_has_room(const struct sqlite_batch *batch, uint32_t size)
{
    return batch->n == 0 || (batch->n < ROWS_MAX && size <= PAYLOADS_MAX - batch->n_payloads);
}

bool sqlite_batch_add(struct sqlite_batch *batch, struct sqlite_chain *chain, int64_t id,
                      unsigned source, const struct item *item)
{
    struct sqlite_batch_row *row = &batch->rows[batch->n];

    row->item = *item;
    row->id = id;
    row->source = source;
    row->next = SQLITE_BATCH_NONE;
    if (chain->first == SQLITE_BATCH_NONE)
        chain->first = batch->n;
    else
        batch->rows[chain->last].next = batch->n;
    chain->last = batch->n++;
    if (unlikely(item->size > PAYLOADS_MAX))
        return true;
    memcpy(batch->payloads + batch->n_payloads, item->payload, item->size);
    row->item.payload = batch->payloads + batch->n_payloads;
    batch->n_payloads += item->size;
    return false;
}
