/* SPDX-License-Identifier: MIT */
/* Writes a database by SQLite's library, with the tables of tables/columns.h.
 *
 *   LAYER_NAME   a table for each event: id INTEGER PRIMARY KEY, time_ns, error_ns, source, cpu, pid, vcpu, a column
 *                for each field, and one for its name. Where classes of an event have other fields: a view of
 *                LAYER_NAME_1, LAYER_NAME_2, …, the tables of these variants
 *   event        a view of all events, also called `events`; events_json has `fields` besides, an object of JSON
 *   span, state, loss, source, clock, thread, cpu, class, field, value_name, meta, fact, problem
 *
 * strata-export(1) describes them. Unknown values are NULL. SQLite has no unsigned 64-bit numbers, so numbers from 2^63
 * on are stored as the negative numbers with the same bits.
 *
 * The whole export is one transaction without a journal, because an incomplete database is thrown away. Rows are only
 * appended, so SQLite's cache holds only the ends of the tables, whatever the size. */

#include "export/sqlite/database.h"
#include "tables/sql.h"
#include "tables/sqlite_cell.h"

#define WANTED (TABLE_BIT(FIXED_TABLES) - 1)

static int add_rows(void *arg, struct event_table *table)
{
    struct sqlite *db = arg;
    struct sqlite_rows *rows = arena_alloc(&db->arena, sizeof *rows);

    if (!rows)
        return export_no_memory(&db->sink.error);
    *rows = (struct sqlite_rows){
        .table = table, .chain.first = SQLITE_BATCH_NONE, .source = UINT32_MAX};
    table->data = rows;
    *(db->last ? &db->last->next : &db->first) = rows;
    db->last = rows;
    return 0;
}

static int make_table(struct sqlite *db, struct sqlite_rows *rows)
{
    struct text sql = TEXT_IN_MEMORY;

    sql_put_event_table(&sql, rows->table, rows->table->table.name);
    rows->made = true;
    return sqlite_execute_text(db, &sql);
}

/* Puts the `INSERT` of a scan of the virtual table. Columns that no event had so far are NULL and not read, and
 * `source` is a constant, because a column of the virtual table costs 10 ns per row. */
static void put_insert(struct text *sql, const struct sqlite_rows *rows)
{
    unsigned columns = rows->columns | 1u << EVENT_ID | 1u << EVENT_TIME;

    text_put_literal(sql, "INSERT INTO ");
    sql_put_name(sql, rows->table->table.name);
    text_put_literal(sql, " SELECT c0");
    for (unsigned i = 1; i < rows->table->table.n_columns; i++)
        if (i >= EVENT_FIELDS || columns >> i & 1)
            text_printf(sql, ", c%u", i);
        else if (i == EVENT_SOURCE)
            text_printf(sql, ", %u", rows->source);
        else
            text_put_literal(sql, ", NULL");
    text_put_literal(sql, " FROM " SQLITE_BATCH_TABLE);
}

/* Makes the statement that inserts the columns which events of ROWS had so far. */
static int make_insert(struct sqlite *db, struct sqlite_rows *rows)
{
    struct text sql = TEXT_IN_MEMORY;
    int r;

    sqlite3_finalize(rows->insert);
    rows->insert = NULL;
    put_insert(&sql, rows);
    text_put(&sql, "", 1);
    r = sql.error ? export_no_memory(&db->sink.error)
                  : sqlite_prepare(db, sql.start, &rows->insert);
    text_done(&sql);
    rows->insert_columns = rows->columns;
    return r;
}

static int flush(struct sqlite *db)
{
    int r = 0;

    for (struct sqlite_rows *rows = db->first; rows && r == 0; rows = rows->next) {
        if (!rows->made)
            r = make_table(db, rows);
        if (r < 0 || rows->chain.first == SQLITE_BATCH_NONE)
            continue;
        if (!rows->insert || rows->insert_columns != rows->columns)
            r = make_insert(db, rows);
        if (r < 0)
            break;
        sqlite_batch_show(&db->batch, &rows->chain);
        r = sqlite_run(db, rows->insert);
        rows->chain.first = SQLITE_BATCH_NONE;
    }
    sqlite_batch_clear(&db->batch);
    return r;
}

/* Returns which of the optional columns the event has. */
static inline unsigned columns_of(const struct event_row *row, bool other)
{
    const struct item *item = row->item;

    return (unsigned)row->errors << EVENT_ERROR | (unsigned)other << EVENT_SOURCE |
           (unsigned)(item->cpu != CPU_UNKNOWN) << EVENT_CPU |
           (unsigned)(item->pid != PID_UNKNOWN) << EVENT_PID |
           (unsigned)(item->vcpu != VCPU_UNKNOWN) << EVENT_VCPU;
}

static int put_event(void *arg, const struct event_row *row)
{
    struct sqlite *db = arg;
    struct sqlite_rows *rows = row->table->data;
    int r = 0;

    if (unlikely(!sqlite_batch_has_room(&db->batch, row->item->size)))
        r = flush(db);
    if (r < 0)
        return r;
    if (unlikely(rows->source == UINT32_MAX))
        rows->source = row->source;
    rows->columns |= columns_of(row, row->source != rows->source);
    if (unlikely(sqlite_batch_add(&db->batch, &rows->chain, row)))
        return flush(db);
    return 0;
}

/* Makes the statement that inserts a row of a fixed table. */
static _cold_ int make_fixed_insert(struct sqlite *db, enum fixed_table number)
{
    const struct trace_table *table = &fixed_tables[number];
    struct text sql = TEXT_IN_MEMORY;
    int r;

    text_printf(&sql, "INSERT INTO %s VALUES(?", table->name);
    for (unsigned i = 1; i < table->n_columns; i++)
        text_put_literal(&sql, ", ?");
    text_put(&sql, ")", 2);
    r = sql.error ? export_no_memory(&db->sink.error)
                  : sqlite_prepare(db, sql.start, &db->inserts[number]);
    text_done(&sql);
    return r;
}

static int put_row(void *arg, enum fixed_table number, const struct value *cells)
{
    struct sqlite *db = arg;
    const struct trace_table *table = &fixed_tables[number];

    if (unlikely(!db->inserts[number])) {
        int r = make_fixed_insert(db, number);

        if (r < 0)
            return r;
    }
    for (unsigned i = 0; i < table->n_columns; i++)
        sqlite_bind_cell(db->inserts[number], (int)i + 1, table->columns[i].type, &cells[i]);
    return sqlite_run(db, db->inserts[number]);
}

/* Handles the result R of the sink of tables, with its error. */
static int check(struct sqlite *db, int r)
{
    if (r < 0 && !db->sink.error.code) {
        db->sink.error = *tables_sink_error(db->tables);
        if (!db->sink.error.code)
            (void)export_no_memory(&db->sink.error);
    }
    return r;
}

static int sqlite_put(struct sink *sink, const struct item *items, unsigned n)
{
    struct sqlite *db = container_of(sink, struct sqlite, sink);

    return check(db, sink_put(db->tables, items, n));
}

static int sqlite_begin_loss(struct sink *sink, const struct item *item)
{
    return sink_begin_loss(container_of(sink, struct sqlite, sink)->tables, item);
}

/* If an event has several variants, its name becomes their view's, so the first variant's table is renamed. */
static int rename_variants(struct sqlite *db)
{
    int r = 0;

    for (struct sqlite_rows *rows = db->first; rows && r == 0; rows = rows->next) {
        struct text sql = TEXT_IN_MEMORY;

        if (rows->table->sql_name == rows->table->table.name)
            continue;
        sqlite3_finalize(rows->insert);
        rows->insert = NULL;
        text_put_literal(&sql, "ALTER TABLE ");
        sql_put_name(&sql, rows->table->table.name);
        text_put_literal(&sql, " RENAME TO ");
        sql_put_name(&sql, rows->table->sql_name);
        r = sqlite_execute_text(db, &sql);
    }
    return r;
}

static int execute(void *arg, const char *sql)
{
    return sqlite_execute(arg, sql);
}

static int make_views(struct sqlite *db)
{
    struct event_tables *tables = tables_sink_events(db->tables);
    int r = rename_variants(db);

    if (r == 0)
        r = sql_make_variant_views(tables, execute, db);
    if (r == 0)
        r = sql_make_event_view(tables, "event", false, execute, db);
    if (r == 0)
        r = sqlite_execute(db, "CREATE VIEW events AS SELECT * FROM event");
    if (r == 0)
        r = sql_make_event_view(tables, "events_json", true, execute, db);
    return r;
}

static int sqlite_finish(struct sink *sink)
{
    struct sqlite *db = container_of(sink, struct sqlite, sink);
    int r = flush(db);

    if (r == 0)
        r = check(db, sink_finish(db->tables));
    if (r == 0)
        r = make_views(db);
    if (r == 0)
        return sqlite_execute(db, "COMMIT");
    return db->sink.error.code ? r : export_no_memory(&db->sink.error);
}

static void sqlite_free(struct sink *sink)
{
    struct sqlite *db = container_of(sink, struct sqlite, sink);

    for (unsigned i = 0; i < FIXED_TABLES; i++)
        sqlite3_finalize(db->inserts[i]);
    for (struct sqlite_rows *rows = db->first; rows; rows = rows->next)
        sqlite3_finalize(rows->insert);
    sqlite3_close(db->db);
    sink_free(db->tables);
    arena_done(&db->arena);
    sqlite_batch_done(&db->batch);
    free(db);
}

static int open_tables(struct sqlite *db)
{
    static const struct tables_ops ops = {.table = add_rows, .event = put_event, .row = put_row};
    struct tables_options options;

    export_tables_options(db->options, WANTED, &options);
    return tables_sink_open(&options, &ops, db, &db->tables, &db->sink.error);
}

int export_sqlite_open(const struct export_options *options, struct sink **ret_sink,
                       struct error *error)
{
    static const struct sink_ops ops = {.put = sqlite_put,
                                        .begin_loss = sqlite_begin_loss,
                                        .finish = sqlite_finish,
                                        .free = sqlite_free};
    struct sqlite *db = calloc(1, sizeof *db);
    int r;

    if (!db)
        return export_no_memory(error);
    db->sink.ops = &ops;
    db->options = options;
    r = sqlite_batch_init(&db->batch);
    if (r < 0)
        export_no_memory(&db->sink.error);
    if (r == 0)
        r = open_tables(db);
    if (r == 0)
        r = sqlite_open_database(db);
    if (r < 0) {
        *error = db->sink.error;
        sqlite_free(&db->sink);
        return r;
    }
    *ret_sink = &db->sink;
    return 0;
}
