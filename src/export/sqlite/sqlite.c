/* SPDX-License-Identifier: MIT */
/* A database of SQLite 3, written by SQLite's own library.
 *
 *   LAYER_NAME   a table for each event: id INTEGER PRIMARY KEY, time_ns, error_ns, source, cpu, pid, vcpu, and a
 *                column for each field. Ids number all events and losses in the order of time. Where classes of an
 *                event have other fields: a view of LAYER_NAME_1, LAYER_NAME_2, …, the tables of these variants
 *   events       a view of all events: id, time_ns, error_ns, layer, source, cpu, pid, comm, vcpu, event_group,
 *                event; events_json has `fields` besides, an object of JSON
 *   loss         id, time_ns, since_ns, error_ns, source, cpu, lost, cause, skipped_bytes
 *   source       id, capture, layer, format, path, clock, hz
 *   class        id, layer, event_group, event, name, table_name, events, format
 *   field        class, number, name, column_name, c_type, is_hex
 *   value_name   class, field, is_bit, value, name
 *   thread       source, pid, comm
 *   meta         key, value;   fact   source, key, value;   problem   text
 *
 * strata-export(1) describes them. Unknown values are NULL. SQLite has no unsigned numbers of 64
 * bits: those from 2^63 on are stored as the negative ones of the same bits.
 *
 * All is one transaction without a journal: a database that is not whole is thrown away. A table is only
 * ever appended to, so SQLite's cache holds the ends of the tables and no more, whatever the size. */

#include "export/sqlite/database.h"

#include <string.h>

static _cold_ struct sqlite_class *make_class(struct sqlite *db, const struct event_class *class)
{
    struct sqlite_class *c;

    if (class->index >= db->n_classes) {
        unsigned n = MAX(class->index + 1, 2 * db->n_classes);
        struct sqlite_class **bigger = realloc(db->classes, n * sizeof *bigger);

        if (!bigger)
            return NULL;
        memset(bigger + db->n_classes, 0, (n - db->n_classes) * sizeof *bigger);
        db->classes = bigger;
        db->n_classes = n;
    }
    c = arena_alloc(&db->tables.names.arena, sizeof *c);
    if (!c)
        return NULL;
    *c = (struct sqlite_class){.class = class, .source = sqlite_source_of(db, class->origin)};
    c->rows = sqlite_tables_get(&db->tables, class, c->source);
    if (!c->rows)
        return NULL;
    *(db->last ? &db->last->next : &db->first) = c;
    db->last = c;
    db->classes[class->index] = c;
    return c;
}

static int make_tables(struct sqlite *db)
{
    for (struct sqlite_rows *rows = db->tables.unmade; rows; rows = rows->next) {
        struct text sql = TEXT_IN_MEMORY;
        int r;

        sqlite_schema_put_table(&sql, &rows->table);
        r = sqlite_execute_text(db, &sql);
        if (r < 0)
            return r;
    }
    db->tables.unmade = NULL;
    return 0;
}

/* The statement that inserts the columns which the events of ROWS have so far. */
static int make_insert(struct sqlite *db, struct sqlite_rows *rows)
{
    struct text sql = TEXT_IN_MEMORY;
    int r;

    sqlite3_finalize(rows->insert);
    rows->insert = NULL;
    sqlite_schema_put_insert(&sql, &rows->table, rows->columns, rows->source);
    text_put(&sql, "", 1);
    r = sql.error ? export_no_memory(&db->sink.error)
                  : sqlite_prepare(db, sql.start, &rows->insert);
    text_done(&sql);
    rows->insert_columns = rows->columns;
    return r;
}

static int flush(struct sqlite *db)
{
    int r = make_tables(db);

    for (struct sqlite_rows *rows = db->tables.first; rows && r == 0; rows = rows->next) {
        if (rows->chain.first == SQLITE_BATCH_NONE)
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

/* Remembers that there is such a thread. */
static int note_thread(struct sqlite *db, unsigned source, const struct item *item)
{
    uint64_t key = (uint64_t)source << 32 | (uint32_t)item->pid;

    if (item->pid == PID_UNKNOWN || key == db->recent_thread)
        return 0;
    db->recent_thread = key;
    if (map_get(&db->threads, key))
        return 0;
    return map_put(&db->threads, key, (void *)item->origin) < 0 ? export_no_memory(&db->sink.error)
                                                                : 0;
}

/* Which columns ITEM has that not every event does. */
static inline unsigned columns_of(const struct sqlite *db, const struct item *item, bool other)
{
    return (unsigned)db->options->errors << COLUMN_ERROR | (unsigned)other << COLUMN_SOURCE |
           (unsigned)(item->cpu != CPU_UNKNOWN) << COLUMN_CPU |
           (unsigned)(item->pid != PID_UNKNOWN) << COLUMN_PID |
           (unsigned)(item->vcpu != VCPU_UNKNOWN) << COLUMN_VCPU;
}

static int put_event(struct sqlite *db, const struct item *item)
{
    const struct event_class *class = item->class;
    struct sqlite_class *c = class->index < db->n_classes ? db->classes[class->index] : NULL;
    struct sqlite_rows *rows;
    unsigned source;
    int r = 0;

    if (unlikely(!c) && !(c = make_class(db, class)))
        return export_no_memory(&db->sink.error);
    source = likely(item->origin == class->origin) ? c->source : sqlite_source_of(db, item->origin);
    if (item->origin->task_name)
        r = note_thread(db, source, item);
    if (r == 0 && unlikely(!sqlite_batch_has_room(&db->batch, item->size)))
        r = flush(db);
    if (r < 0)
        return r;
    c->n_events++;
    rows = c->rows;
    rows->columns |= columns_of(db, item, source != rows->source);
    if (unlikely(sqlite_batch_add(&db->batch, &rows->chain, db->n, source, item)))
        return flush(db);
    return 0;
}

static int put_loss(struct sqlite *db, const struct item *item)
{
    sqlite3_stmt *loss = db->loss;

    db->n_losses++;
    sqlite3_bind_int64(loss, 1, db->n);
    sqlite_bind_number(loss, 2, item->time == TIME_UNKNOWN ? 0 : export_ns(item, item->time),
                       item->time != TIME_UNKNOWN);
    sqlite_bind_number(loss, 3, item->since == TIME_UNKNOWN ? 0 : export_ns(item, item->since),
                       item->since != TIME_UNKNOWN);
    sqlite_bind_number(loss, 4, item->error_ns, db->options->errors);
    sqlite3_bind_int64(loss, 5, sqlite_source_of(db, item->origin));
    sqlite_bind_number(loss, 6, item->cpu, item->cpu != CPU_UNKNOWN);
    sqlite_bind_number(loss, 7, (int64_t)item->lost, item->lost != LOST_UNKNOWN);
    sqlite_bind_text(loss, 8, item->cause == LOSS_UNREADABLE ? "unreadable" : "dropped");
    sqlite3_bind_int64(loss, 9, item->skipped);
    return sqlite_run(db, loss);
}

static int sqlite_put(struct sink *sink, const struct item *items, unsigned n)
{
    struct sqlite *db = container_of(sink, struct sqlite, sink);

    for (unsigned i = 0; i < n; i++) {
        int r;

        db->n++;
        r = likely(items[i].kind == ITEM_EVENT) ? put_event(db, &items[i])
                                                : put_loss(db, &items[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

static int sqlite_finish(struct sink *sink)
{
    struct sqlite *db = container_of(sink, struct sqlite, sink);
    int r = flush(db);

    if (r == 0)
        r = sqlite_make_event_views(db);
    if (r == 0)
        r = sqlite_put_metadata(db);
    if (r == 0)
        r = sqlite_make_views(db);
    return r < 0 ? r : sqlite_execute(db, "COMMIT");
}

static void sqlite_free(struct sink *sink)
{
    struct sqlite *db = container_of(sink, struct sqlite, sink);

    sqlite3_finalize(db->loss);
    sqlite_tables_done(&db->tables);
    sqlite3_close(db->db);
    free(db->classes);
    map_done(&db->threads);
    sqlite_batch_done(&db->batch);
    free(db);
}

int export_sqlite_open(const struct export_options *options, struct sink **ret_sink,
                       struct error *error)
{
    static const struct sink_ops ops = {
        .put = sqlite_put, .finish = sqlite_finish, .free = sqlite_free};
    struct sqlite *db = calloc(1, sizeof *db);
    int r;

    if (!db)
        return export_no_memory(error);
    db->sink.ops = &ops;
    db->options = options;
    db->recent_thread = UINT64_MAX;
    r = sqlite_batch_init(&db->batch);
    db->batch.errors = options->errors;
    if (r == 0)
        r = sqlite_tables_init(&db->tables);
    if (r < 0)
        export_no_memory(&db->sink.error);
    else
        r = sqlite_open_database(db);
    if (r < 0) {
        *error = db->sink.error;
        sqlite_free(&db->sink);
        return r;
    }
    *ret_sink = &db->sink;
    return 0;
}
