/* SPDX-License-Identifier: MIT */
/* The tables of events: each LAYER_NAME with its variants, and the tables of all events, `event` (also called `events`)
 * and `events_json`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "print/json.h"
#include "query/copies.h"
#include "query/scan_table.h"
#include "tables/sqlite_cell.h"

/* A table that is read so often in one query gets a copy (query/copies.h). */
#define STARTS_ENOUGH 8

/* SQLite's limit of columns. */
#define COLUMNS_MAX 1900

struct scan_cursor {
    sqlite3_vtab_cursor base;
    struct scan_table *table;
    struct scan scan;
    struct row_buffer buffer;
    unsigned n_starts;
    /* Used when rows come from a copy. */
    const struct copy *copy;
    sqlite3_stmt *statement; /* NULL if they do not */
    bool has_row;
};

/* ---- Columns ---- */

static int find_column(const struct scan_table *table, const char *name)
{
    for (unsigned i = 0; i < table->n_columns; i++)
        if (strcasecmp(table->columns[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* Adds the columns of VARIANT that the table lacks, and notes where all its columns are. */
static int add_variant(struct scan_table *table, const struct event_table *variant)
{
    const struct trace_table *of = &variant->table;
    struct variant_columns *variants =
        realloc(table->variants, (table->n_variants + 1) * sizeof *variants);
    struct trace_column *columns;

    if (!variants)
        return SQLITE_NOMEM;
    table->variants = variants;
    columns = realloc(table->columns, (table->n_columns + of->n_columns) * sizeof *columns);
    if (!columns)
        return SQLITE_NOMEM;
    table->columns = columns;
    for (unsigned i = 0; i < of->n_columns && table->n_columns < COLUMNS_MAX; i++)
        if (find_column(table, of->columns[i].name) < 0)
            table->columns[table->n_columns++] = of->columns[i];
    variants[table->n_variants++] = (struct variant_columns){.table = variant};
    return SQLITE_OK;
}

/* Call when all columns are known. If variants of a column have different types, the column has values of each. */
static int place_columns(struct scan_table *table)
{
    for (unsigned v = 0; v < table->n_variants; v++) {
        struct variant_columns *variant = &table->variants[v];

        variant->columns = malloc((table->n_columns + 1) * sizeof *variant->columns);
        if (!variant->columns)
            return SQLITE_NOMEM;
        for (unsigned i = 0; i < table->n_columns; i++) {
            int column = trace_table_column(&variant->table->table, table->columns[i].name);

            variant->columns[i] = (int16_t)column;
            if (column >= 0 && table->n_variants > 1 && i >= EVENT_FIELDS)
                table->columns[i].type = COLUMN_EITHER;
        }
    }
    return SQLITE_OK;
}

static int make_columns(struct scan_table *table, const struct scan_module *module)
{
    const struct trace_table *all = &fixed_tables[TABLE_EVENT];
    int code = SQLITE_OK;

    if (module->variant)
        code = add_variant(table, module->variant);
    else if (module->family)
        for (const struct event_table *variant = module->family->first;
             variant && code == SQLITE_OK; variant = variant->next_variant)
            code = add_variant(table, variant);
    if (module->family)
        return code == SQLITE_OK ? place_columns(table) : code;
    table->columns = malloc((all->n_columns + 1) * sizeof *table->columns);
    if (!table->columns)
        return SQLITE_NOMEM;
    memcpy(table->columns, all->columns, all->n_columns * sizeof *table->columns);
    table->n_columns = all->n_columns;
    if (module->fields)
        table->columns[table->n_columns++] =
            (struct trace_column){.name = "fields", .type = COLUMN_TEXT};
    return SQLITE_OK;
}

static int scan_disconnect(sqlite3_vtab *base)
{
    struct scan_table *table = container_of(base, struct scan_table, base);

    for (unsigned i = 0; i < table->n_variants; i++)
        free(table->variants[i].columns);
    free(table->variants);
    free(table->columns);
    free(table);
    return SQLITE_OK;
}

static int scan_connect(sqlite3 *db, void *arg, int argc, const char *const *argv,
                        sqlite3_vtab **ret_table, char **ret_error)
{
    const struct scan_module *module = arg;
    struct scan_table *table = calloc(1, sizeof *table);
    int code;

    (void)db;
    (void)argc;
    (void)argv;
    (void)ret_error;
    if (!table)
        return SQLITE_NOMEM;
    table->query = module->query;
    table->module = module;
    code = make_columns(table, module);
    if (code == SQLITE_OK)
        code = declare_columns(module->query, table->columns, table->n_columns);
    if (code != SQLITE_OK) {
        scan_disconnect(&table->base);
        return code;
    }
    *ret_table = &table->base;
    return SQLITE_OK;
}

/* ---- The cursor ---- */

static int scan_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor)
{
    struct scan_cursor *cursor = calloc(1, sizeof *cursor);

    if (!cursor)
        return SQLITE_NOMEM;
    cursor->table = container_of(base, struct scan_table, base);
    cursor->scan.query = cursor->table->query;
    row_buffer_init(&cursor->buffer);
    *ret_cursor = &cursor->base;
    return SQLITE_OK;
}

static int scan_close(sqlite3_vtab_cursor *base)
{
    struct scan_cursor *cursor = container_of(base, struct scan_cursor, base);

    query_scan_filter_clear(&cursor->scan.filter);
    query_scan_end(&cursor->scan);
    row_buffer_done(&cursor->buffer);
    sqlite3_finalize(cursor->statement);
    free(cursor);
    return SQLITE_OK;
}

static int read_cell(struct scan_cursor *cursor, unsigned column, enum column_type *ret_type,
                     struct value *ret_cell);

/* Fills a new copy with what the scan's filter selects. */
static int fill_copy(struct scan_cursor *cursor, uint64_t used, sqlite3_stmt *insert)
{
    struct scan_table *table = cursor->table;
    struct query *query = table->query;
    int r = query_scan_start(&cursor->scan);

    while (r == 0 && cursor->scan.item) {
        int parameter = 2;

        sqlite3_bind_int64(insert, 1, query_scan_rowid(&cursor->scan));
        for (unsigned i = 0; i < table->n_columns && r == 0; i++) {
            enum column_type type;
            struct value cell;

            if (!copy_uses(used, i))
                continue;
            r = read_cell(cursor, i, &type, &cell);
            /* The cells share a buffer: each is copied. */
            if (r == 0 && cell.present && cell.len > 0 && type != COLUMN_BLOB)
                sqlite3_bind_text64(insert, parameter++, cell.s, cell.len, SQLITE_TRANSIENT,
                                    SQLITE_UTF8);
            else if (r == 0)
                sqlite_bind_cell(insert, parameter++, type, &cell);
        }
        if (r == 0 && sqlite3_step(insert) != SQLITE_DONE)
            r = copies_failed(query);
        sqlite3_reset(insert);
        if (r == 0)
            r = query_scan_next(&cursor->scan);
    }
    query_scan_end(&cursor->scan);
    return r;
}

/* Puts the conditions on texts among the arguments, by which the rows of a copy are selected. */
static void put_constants(struct text *text, const char *plan, int argc, sqlite3_value **argv)
{
    for (int i = 0; i < argc; i++) {
        const char *term = plan + PLAN_USED + i * PLAN_TERM;
        sqlite3_value *each = NULL;

        if (!strchr("LGE", term[1]))
            continue;
        text_put(text, term, 2);
        if (term[0] != 'i')
            text_put_str(
                text, sqlite3_value_text(argv[i]) ? (const char *)sqlite3_value_text(argv[i]) : "");
        else
            for (int code = sqlite3_vtab_in_first(argv[i], &each); code == SQLITE_OK && each;
                 code = sqlite3_vtab_in_next(argv[i], &each)) {
                text_put_str(text, sqlite3_value_text(each) ? (const char *)sqlite3_value_text(each)
                                                            : "");
                text_put_char(text, '\n');
            }
        text_put_char(text, '\n');
    }
    text_put(text, "", 1);
}

/* Gets the copy with the rows; makes it if necessary. The filter has only the conditions on texts. */
static int get_copy(struct scan_cursor *cursor, const char *plan, int argc, sqlite3_value **argv,
                    const struct copy **ret_copy)
{
    struct scan_table *table = cursor->table;
    struct query *query = table->query;
    uint64_t used = strtoull((const char[]){plan[0], plan[1], plan[2], plan[3], plan[4], plan[5],
                                            plan[6], plan[7], plan[8], plan[9], plan[10], plan[11],
                                            plan[12], plan[13], plan[14], plan[15], '\0'},
                             NULL, 16);
    struct text constants = TEXT_IN_MEMORY;
    sqlite3_stmt *insert;
    struct copy *copy;
    int r;

    put_constants(&constants, plan, argc, argv);
    if (constants.error)
        return -ENOMEM;
    *ret_copy = copy_find(query, table->module, used, constants.start);
    if (*ret_copy) {
        text_done(&constants);
        return 0;
    }
    r = copy_begin(query, table->module, used, constants.start, table->columns, table->n_columns,
                   &copy, &insert);
    text_done(&constants);
    if (r == 0) {
        int end;

        r = fill_copy(cursor, used, insert);
        end = copy_end(query, copy, insert, r < 0);
        r = r < 0 ? r : end;
    }
    if (r == 0)
        *ret_copy = copy;
    return r;
}

/* Makes terms of the arguments by which rows of a copy are looked up. */
static unsigned make_terms(const char *plan, int argc, struct copy_term *terms, int *arguments)
{
    unsigned n = 0;

    for (int i = 0; i < argc; i++) {
        const char *term = plan + PLAN_USED + i * PLAN_TERM;

        if (term[0] == 'i' || strchr("LGE", term[1]))
            continue;
        terms[n].op = term[0] == '=' ? "=" : term[0] == '>' ? ">=" : "<=";
        terms[n].column = plan_column(term);
        arguments[n++] = i;
    }
    return n;
}

static int step_copy(struct scan_cursor *cursor)
{
    struct query *query = cursor->table->query;
    int code = sqlite3_step(cursor->statement);

    cursor->has_row = code == SQLITE_ROW;
    if (query_is_stopped(query))
        return -EINTR;
    return code == SQLITE_ROW || code == SQLITE_DONE ? 0 : copies_failed(query);
}

static int start_copy(struct scan_cursor *cursor, int number, const char *plan, int argc,
                      sqlite3_value **argv)
{
    struct query *query = cursor->table->query;
    const struct copy *copy;
    struct copy_term *terms = calloc((size_t)argc + 1, sizeof *terms);
    int *arguments = calloc((size_t)argc + 1, sizeof *arguments);
    unsigned n;
    int r = terms && arguments ? get_copy(cursor, plan, argc, argv, &copy) : -ENOMEM;

    if (r == 0) {
        n = make_terms(plan, argc, terms, arguments);
        if (cursor->copy != copy) {
            sqlite3_finalize(cursor->statement);
            cursor->statement = NULL;
            cursor->copy = copy;
            r = copy_prepare(query, copy, terms, n, number, &cursor->statement);
        } else {
            sqlite3_reset(cursor->statement);
        }
        for (unsigned i = 0; i < n && r == 0; i++)
            sqlite3_bind_value(cursor->statement, (int)i + 1, argv[arguments[i]]);
        if (r == 0)
            r = step_copy(cursor);
    }
    free(terms);
    free(arguments);
    return r;
}

static int scan_filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
                       sqlite3_value **argv)
{
    struct scan_cursor *cursor = container_of(base, struct scan_cursor, base);
    struct scan_table *table = cursor->table;
    struct scan_filter *filter = &cursor->scan.filter;
    bool copied = ++cursor->n_starts >= STARTS_ENOUGH;
    int r = 0;

    query_scan_filter_clear(filter);
    filter->family = table->module->family;
    filter->table = table->module->variant;
    filter->needs_ids = copied || strtoul((const char[]){plan[15], '\0'}, NULL, 16) & 1;
    for (int i = 0; i < argc && r == 0; i++) {
        const char *term = plan + PLAN_USED + i * PLAN_TERM;

        if (term[1] != '-' && (!copied || strchr("LGE", term[1])))
            r = scan_narrow(filter, term[0], term[1], argv[i]);
    }
    if (r == 0)
        r = copied ? start_copy(cursor, number, plan, argc, argv) : query_scan_start(&cursor->scan);
    return r < 0 ? table_failed(table->query, &table->base, r) : SQLITE_OK;
}

static int scan_advance(sqlite3_vtab_cursor *base)
{
    struct scan_cursor *cursor = container_of(base, struct scan_cursor, base);
    int r = cursor->statement ? step_copy(cursor) : query_scan_next(&cursor->scan);

    return r < 0 ? table_failed(cursor->table->query, &cursor->table->base, r) : SQLITE_OK;
}

static int scan_eof(sqlite3_vtab_cursor *base)
{
    const struct scan_cursor *cursor = container_of(base, struct scan_cursor, base);

    return cursor->statement ? !cursor->has_row : !cursor->scan.item;
}

/* The name of the event's thread as known at the end of the trace, like in the table `thread`. */
static int comm_cell(struct scan_cursor *cursor, struct value *ret_cell)
{
    struct query *query = cursor->table->query;
    const struct item *item = cursor->scan.item;
    const struct value *cell;
    const char *name;
    int r;

    *ret_cell = cell_null();
    if (!item->origin->comm) {
        name = item_task_name(item);
        if (name && *name)
            *ret_cell = cell_text(name);
        return 0;
    }
    r = query_survey(query);
    if (r < 0)
        return r;
    cell = query_thread_name(query, cursor->scan.source, item->pid);
    if (cell)
        *ret_cell = *cell;
    return 0;
}

static int fields_cell(struct scan_cursor *cursor, struct value *ret_cell)
{
    struct text *text = &cursor->buffer.text;

    text->next = text->start;
    json_put_fields(text, cursor->scan.item);
    if (text->error)
        return -ENOMEM;
    *ret_cell = cell_text_of(text->start, text_len(text));
    return 0;
}

/* Reads a cell of the scan's current event. What it points to lives until the next event. */
static int read_cell(struct scan_cursor *cursor, unsigned column, enum column_type *ret_type,
                     struct value *ret_cell)
{
    const struct scan_table *table = cursor->table;
    const struct scan *scan = &cursor->scan;
    const struct event_row row = {.table = scan->class->table,
                                  .item = scan->item,
                                  .id = scan->id,
                                  .source = scan->source,
                                  .errors = table->query->options.errors};
    const struct variant_columns *variant = table->variants;
    int place;

    if (!table->module->family) {
        *ret_type = table->columns[column].type;
        if (column == ALL_EVENT_COMM)
            return comm_cell(cursor, ret_cell);
        if (column == ALL_EVENT_COLUMNS)
            return fields_cell(cursor, ret_cell);
        return all_event_cell(&row, column, &cursor->buffer, ret_cell);
    }
    while (variant->table != row.table)
        variant++;
    place = variant->columns[column];
    *ret_cell = cell_null();
    *ret_type = COLUMN_INTEGER;
    if (place < 0)
        return 0;
    *ret_type = row.table->table.columns[place].type;
    return event_row_cell(&row, (unsigned)place, &cursor->buffer, ret_cell);
}

static int scan_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    struct scan_cursor *cursor = container_of(base, struct scan_cursor, base);
    enum column_type type;
    struct value cell;
    int r;

    if (cursor->statement) {
        int place = cursor->copy->places[column];

        if (place >= 0)
            sqlite3_result_value(context, sqlite3_column_value(cursor->statement, place));
        return SQLITE_OK;
    }
    r = read_cell(cursor, (unsigned)column, &type, &cell);
    if (r < 0)
        return table_failed(cursor->table->query, &cursor->table->base, r);
    /* SQLite may keep a text while the scan goes on. */
    sqlite_result_cell(context, type, &cell, SQLITE_TRANSIENT);
    return SQLITE_OK;
}

static int scan_row_number(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_id)
{
    const struct scan_cursor *cursor = container_of(base, struct scan_cursor, base);

    *ret_id = cursor->statement ? sqlite3_column_int64(cursor->statement, 0)
                                : query_scan_rowid(&cursor->scan);
    return SQLITE_OK;
}

/* ---- Registration ---- */

static const sqlite3_module module = {
    .xConnect = scan_connect,
    .xBestIndex = scan_best_index,
    .xDisconnect = scan_disconnect,
    .xOpen = scan_open,
    .xClose = scan_close,
    .xFilter = scan_filter,
    .xNext = scan_advance,
    .xEof = scan_eof,
    .xColumn = scan_column,
    .xRowid = scan_row_number,
};

static int add_module(struct query *query, const char *name, const struct event_family *family,
                      const struct event_table *variant, bool fields)
{
    struct scan_module *arg = arena_alloc(&query->arena, sizeof *arg);

    if (!arg)
        return SQLITE_NOMEM;
    *arg = (struct scan_module){query, family, variant, fields};
    return sqlite3_create_module(query->db, name, &module, arg);
}

int scan_tables_register(struct query *query)
{
    int code = add_module(query, fixed_tables[TABLE_EVENT].name, NULL, NULL, false);

    if (code == SQLITE_OK)
        code = add_module(query, "events", NULL, NULL, false);
    return code == SQLITE_OK ? add_module(query, "events_json", NULL, NULL, true) : code;
}

int scan_tables_register_events(struct query *query)
{
    int code = SQLITE_OK;

    for (const struct event_family *family = query->events->first_family;
         family && code == SQLITE_OK; family = family->next) {
        bool has_variants = family->first->next_variant;

        code = add_module(query, family->name, family, NULL, false);
        for (const struct event_table *table = family->first;
             has_variants && table && code == SQLITE_OK; table = table->next_variant)
            code = add_module(query, table->sql_name, family, table, false);
    }
    return code;
}
