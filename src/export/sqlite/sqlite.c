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
 * strata-export(1) tells what they mean. What is not known is NULL. SQLite has no unsigned numbers of 64
 * bits: those from 2^63 on are stored as the negative ones of the same bits.
 *
 * All is one transaction without a journal: a database that is not whole is thrown away. A table is only
 * ever appended to, so SQLite's cache holds the ends of the tables and no more, whatever the size. */

#include <sqlite3.h>
#include <string.h>
#include <strings.h>

#include "export/export.h"
#include "export/sqlite/tables.h"

/* Of a compound SELECT, where SQLite's limit is 500; and bytes of a statement, where it is a million. */
#define SELECTS_MAX 400
#define SQL_ENOUGH 400000

struct sqlite_class {
    const struct event_class *class;
    struct sqlite_class *next; /* in the order in which they came */
    struct sqlite_rows *rows;
    unsigned source; /* number of the class's origin */
    uint64_t n_events;
};

struct sqlite {
    struct sink sink;
    const struct export_options *options;
    sqlite3 *db;
    struct sqlite_batch batch;
    struct sqlite_tables tables;
    struct sqlite_class **classes; /* by class->index; NULL: no event yet */
    unsigned n_classes;
    struct sqlite_class *first, *last;
    sqlite3_stmt *loss;
    int64_t n; /* events and losses */
    uint64_t n_losses;
    struct map threads; /* by source and pid: the origin */
    uint64_t recent_thread;
};

/* What SQLite says of the last call that failed, as a fault. */
static int failed(struct sqlite *db, int code)
{
    int last = errno;
    int error = db->db ? sqlite3_system_errno(db->db) : 0;

    code &= 0xff;
    if (code == SQLITE_NOMEM)
        return export_no_memory(&db->sink.fault);
    /* What fails while a transaction ends leaves no number but this. */
    if (!error)
        error = code == SQLITE_FULL ? ENOSPC : last;
    if ((code == SQLITE_FULL || code == SQLITE_IOERR) && error)
        return fault_plain(&db->sink.fault, -error, db->options->name, "cannot write: %s",
                           strerror(error));
    return fault_plain(&db->sink.fault, -EIO, db->options->name, "SQLite: %s",
                       db->db ? sqlite3_errmsg(db->db) : sqlite3_errstr(code));
}

static int execute(struct sqlite *db, const char *sql)
{
    int code = sqlite3_exec(db->db, sql, NULL, NULL, NULL);

    return code == SQLITE_OK ? 0 : failed(db, code);
}

/* Runs SQL, which it frees. */
static int execute_text(struct sqlite *db, struct text *sql)
{
    int r;

    text_put(sql, "", 1);
    r = sql->error ? export_no_memory(&db->sink.fault) : execute(db, sql->start);
    text_done(sql);
    return r;
}

static int prepare(struct sqlite *db, const char *sql, sqlite3_stmt **ret)
{
    int code = sqlite3_prepare_v3(db->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);

    return code == SQLITE_OK ? 0 : failed(db, code);
}

/* Runs a statement that returns no rows, and makes it ready for the next time. */
static int run(struct sqlite *db, sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);

    if (code != SQLITE_DONE)
        return failed(db, code);
    sqlite3_reset(statement);
    return 0;
}

static void bind_text(sqlite3_stmt *statement, int column, const char *s)
{
    if (s)
        sqlite3_bind_text(statement, column, s, -1, SQLITE_STATIC);
    else
        sqlite3_bind_null(statement, column);
}

static void bind_number(sqlite3_stmt *statement, int column, int64_t v, bool known)
{
    if (known)
        sqlite3_bind_int64(statement, column, v);
    else
        sqlite3_bind_null(statement, column);
}

static unsigned source_of(const struct sqlite *db, const struct origin *origin)
{
    unsigned i = 0;

    while (db->options->catalogue->origins[i] != origin)
        i++;
    return i;
}

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
    *c = (struct sqlite_class){.class = class, .source = source_of(db, class->origin)};
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
        r = execute_text(db, &sql);
        if (r < 0)
            return r;
    }
    db->tables.unmade = NULL;
    return 0;
}

/* The statement that takes the columns which the events of ROWS have by now. */
static int make_insert(struct sqlite *db, struct sqlite_rows *rows)
{
    struct text sql = TEXT_IN_MEMORY;
    int r;

    sqlite3_finalize(rows->insert);
    rows->insert = NULL;
    sqlite_schema_put_insert(&sql, &rows->table, rows->columns, rows->source);
    text_put(&sql, "", 1);
    r = sql.error ? export_no_memory(&db->sink.fault) : prepare(db, sql.start, &rows->insert);
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
        r = run(db, rows->insert);
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
    return map_put(&db->threads, key, (void *)item->origin) < 0 ? export_no_memory(&db->sink.fault)
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
        return export_no_memory(&db->sink.fault);
    source = likely(item->origin == class->origin) ? c->source : source_of(db, item->origin);
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
    bind_number(loss, 2, item->time == TIME_UNKNOWN ? 0 : export_ns(item, item->time),
                item->time != TIME_UNKNOWN);
    bind_number(loss, 3, item->since == TIME_UNKNOWN ? 0 : export_ns(item, item->since),
                item->since != TIME_UNKNOWN);
    bind_number(loss, 4, item->error_ns, db->options->errors);
    sqlite3_bind_int64(loss, 5, source_of(db, item->origin));
    bind_number(loss, 6, item->cpu, item->cpu != CPU_UNKNOWN);
    bind_number(loss, 7, (int64_t)item->lost, item->lost != LOST_UNKNOWN);
    bind_text(loss, 8, item->cause == LOSS_UNREADABLE ? "unreadable" : "dropped");
    sqlite3_bind_int64(loss, 9, item->skipped);
    return run(db, loss);
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

static int put_sources(struct sqlite *db)
{
    const struct catalogue *catalogue = db->options->catalogue;
    sqlite3_stmt *s;
    int r = prepare(db, "INSERT INTO source VALUES(?, ?, ?, ?, ?, ?, ?)", &s);

    for (unsigned i = 0; i < catalogue->n_origins && r == 0; i++) {
        const struct origin *origin = catalogue->origins[i];

        sqlite3_bind_int64(s, 1, i);
        sqlite3_bind_int64(s, 2, export_origin_number(db->options, origin));
        bind_text(s, 3, layer_name(origin->layer));
        bind_text(s, 4, origin->format);
        bind_text(s, 5, origin->path);
        bind_text(s, 6, origin->clock.name);
        bind_number(s, 7, (int64_t)origin->clock.hz, origin->clock.hz);
        r = run(db, s);
    }
    sqlite3_finalize(s);
    return r;
}

static int put_value_name(struct sqlite *db, sqlite3_stmt *s, uint64_t value, const char *name)
{
    if (!name)
        return 0;
    sqlite3_bind_int64(s, 4, (int64_t)value);
    bind_text(s, 5, name);
    return run(db, s);
}

static int put_value_names(struct sqlite *db, sqlite3_stmt *s, const struct sqlite_class *c,
                           unsigned field)
{
    const struct value_names *names = c->class->fields[field].names;
    int r = 0;

    if (!names)
        return 0;
    sqlite3_bind_int64(s, 1, c->class->index);
    sqlite3_bind_int64(s, 2, field);
    sqlite3_bind_int64(s, 3, names->bits);
    for (uint32_t i = 0; i < names->n && r == 0; i++)
        r = put_value_name(db, s, i, names->names[i]);
    for (uint32_t i = 0; i < names->n_more && r == 0; i++)
        r = put_value_name(db, s, names->more[i].value, names->more[i].name);
    return r;
}

static int put_fields(struct sqlite *db, sqlite3_stmt *s, const struct sqlite_class *c)
{
    const struct event_class *class = c->class;
    int r = 0;

    sqlite3_bind_int64(s, 1, class->index);
    for (unsigned i = 0; i < class->n_fields && r == 0; i++) {
        sqlite3_bind_int64(s, 2, i);
        bind_text(s, 3, class->fields[i].name);
        bind_text(s, 4, c->rows->table.columns[i]);
        bind_text(s, 5, class->fields[i].c_type);
        sqlite3_bind_int64(s, 6, class->fields[i].hex || class->fields[i].type == FIELD_POINTER);
        r = run(db, s);
    }
    return r;
}

static int put_class(struct sqlite *db, sqlite3_stmt *s, const struct sqlite_class *c)
{
    const struct event_class *class = c->class;

    sqlite3_bind_int64(s, 1, class->index);
    bind_text(s, 2, layer_name(class->origin->layer));
    bind_text(s, 3, class->group);
    bind_text(s, 4, class->name);
    bind_text(s, 5, c->rows->event->name);
    bind_text(s, 6, c->rows->table.name);
    sqlite3_bind_int64(s, 7, (int64_t)c->n_events);
    bind_text(s, 8, class->format);
    return run(db, s);
}

static int put_classes(struct sqlite *db)
{
    sqlite3_stmt *class = NULL, *field = NULL, *name = NULL;
    int r = prepare(db, "INSERT INTO class VALUES(?, ?, ?, ?, ?, ?, ?, ?)", &class);

    if (r == 0)
        r = prepare(db, "INSERT INTO field VALUES(?, ?, ?, ?, ?, ?)", &field);
    if (r == 0)
        r = prepare(db, "INSERT INTO value_name VALUES(?, ?, ?, ?, ?)", &name);
    for (struct sqlite_class *c = db->first; c && r == 0; c = c->next) {
        r = put_class(db, class, c);
        if (r == 0)
            r = put_fields(db, field, c);
        for (unsigned i = 0; i < c->class->n_fields && r == 0; i++)
            r = put_value_names(db, name, c, i);
    }
    sqlite3_finalize(class);
    sqlite3_finalize(field);
    sqlite3_finalize(name);
    return r;
}

/* The names as they are known at the end. */
static int put_threads(struct sqlite *db)
{
    size_t iter = 0;
    sqlite3_stmt *s;
    uint64_t key;
    void *value;
    int r = prepare(db, "INSERT INTO thread VALUES(?, ?, ?)", &s);

    while (r == 0 && map_next(&db->threads, &iter, &key, &value)) {
        const struct origin *origin = value;
        int32_t pid = (int32_t)(uint32_t)key;
        const char *name = origin->task_name(origin, pid);

        if (!name || !*name)
            continue;
        sqlite3_bind_int64(s, 1, (int64_t)(key >> 32));
        sqlite3_bind_int64(s, 2, pid);
        bind_text(s, 3, name);
        r = run(db, s);
    }
    sqlite3_finalize(s);
    return r;
}

/* What the callers of the next two are told. */
struct told {
    struct sqlite *db;
    sqlite3_stmt *statement;
    int error;
};

static void tell_fact(void *arg, const char *key, const char *value)
{
    struct told *told = arg;

    bind_text(told->statement, 2, key);
    bind_text(told->statement, 3, value);
    if (told->error == 0)
        told->error = run(told->db, told->statement);
}

static int put_facts(struct sqlite *db)
{
    const struct export_about *about = db->options->about;
    const struct catalogue *catalogue = db->options->catalogue;
    struct told told = {.db = db};

    told.error = prepare(db, "INSERT INTO fact VALUES(?, ?, ?)", &told.statement);
    for (unsigned i = 0; about && i < catalogue->n_origins && told.error == 0; i++) {
        sqlite3_bind_int64(told.statement, 1, i);
        about->facts(about, catalogue->origins[i], tell_fact, &told);
    }
    sqlite3_finalize(told.statement);
    return told.error;
}

static void tell_problem(void *arg, const char *text)
{
    struct told *told = arg;

    bind_text(told->statement, 1, text);
    if (told->error == 0)
        told->error = run(told->db, told->statement);
}

static int put_problems(struct sqlite *db)
{
    struct told told = {.db = db};

    told.error = prepare(db, "INSERT INTO problem VALUES(?)", &told.statement);
    if (db->options->about && told.error == 0)
        db->options->about->problems(db->options->about, tell_problem, &told);
    sqlite3_finalize(told.statement);
    return told.error;
}

static int put_meta(struct sqlite *db)
{
    const struct catalogue *catalogue = db->options->catalogue;
    const struct clock *clock = catalogue->n_origins ? &catalogue->origins[0]->clock : NULL;
    sqlite3_stmt *s;
    int r = prepare(db,
                    "INSERT INTO meta VALUES('strata', ?), ('clock', ?), ('ticks_per_second', ?), "
                    "('events', ?), ('losses', ?)",
                    &s);

    if (r < 0)
        return r;
    bind_text(s, 1, STRATA_VERSION);
    bind_text(s, 2, clock ? clock->name : NULL);
    bind_number(s, 3, NANOSECONDS, clock && clock->hz);
    sqlite3_bind_int64(s, 4, db->n - (int64_t)db->n_losses);
    sqlite3_bind_int64(s, 5, (int64_t)db->n_losses);
    r = run(db, s);
    sqlite3_finalize(s);
    return r;
}

/* What a view selects from each of several tables. */
enum selected { SELECT_EVENTS, SELECT_JSON, SELECT_VARIANTS };

struct selection {
    enum selected what;
    struct sqlite_columns columns; /* SELECT_VARIANTS: of the tables of one event */
};

/* The selects of as many tables from *ROWS on as one statement has, which goes after them. */
static void put_selects(struct text *sql, const struct sqlite_rows **rows,
                        const struct selection *selection)
{
    for (unsigned i = 0; *rows && i < SELECTS_MAX && text_len(sql) < SQL_ENOUGH; i++) {
        text_put_str(sql, i ? " UNION ALL " : "");
        if (selection->what == SELECT_VARIANTS)
            sqlite_schema_put_variant(sql, &(*rows)->table, &selection->columns);
        else
            sqlite_schema_put_select(sql, &(*rows)->table, selection->what == SELECT_JSON);
        *rows = selection->what == SELECT_VARIANTS ? (*rows)->next_variant : (*rows)->next;
    }
}

/* A view that hides what takes more than one compound SELECT. */
static int make_part(struct sqlite *db, const struct sqlite_rows **rows,
                     const struct selection *selection, const char *name, struct text *from)
{
    struct text part = TEXT_IN_MEMORY, sql = TEXT_IN_MEMORY;

    text_put_str(&part, name);
    text_put(&part, "_part", sizeof "_part");
    name = part.error ? NULL : export_names_fresh(&db->tables.names, part.start);
    text_done(&part);
    if (!name)
        return export_no_memory(&db->sink.fault);
    sqlite_schema_put_view_start(&sql, name);
    put_selects(&sql, rows, selection);
    text_put_str(from, text_len(from) ? " UNION ALL SELECT * FROM " : "SELECT * FROM ");
    text_put_str(from, name);
    return execute_text(db, &sql);
}

/* Puts the selects of all tables from ROWS on, of what shall be called NAME. */
static int put_all(struct sqlite *db, const struct sqlite_rows *rows,
                   const struct selection *selection, const char *name, struct text *from)
{
    const struct sqlite_rows *rest = rows;
    int r = 0;

    put_selects(from, &rest, selection);
    if (rest) {
        from->next = from->start;
        while (rows && r == 0)
            r = make_part(db, &rows, selection, name, from);
    }
    text_put(from, "", 1);
    return r == 0 && from->error ? export_no_memory(&db->sink.fault) : r;
}

static int make_view(struct sqlite *db, bool fields)
{
    const struct selection selection = {.what = fields ? SELECT_JSON : SELECT_EVENTS};
    struct text from = TEXT_IN_MEMORY, sql = TEXT_IN_MEMORY;
    int r = 0;

    if (!db->tables.first)
        sqlite_schema_put_select(&from, NULL, fields);
    r = put_all(db, db->tables.first, &selection, fields ? "events_json" : "events", &from);
    if (r == 0) {
        sqlite_schema_put_view(&sql, from.start, fields);
        r = execute_text(db, &sql);
    }
    text_done(&from);
    return r;
}

/* Names the tables of the variants of EVENT, and makes the view of them. */
static int make_event_view(struct sqlite *db, struct sqlite_event *event)
{
    struct selection selection = {.what = SELECT_VARIANTS};
    struct text sql = TEXT_IN_MEMORY, from = TEXT_IN_MEMORY;
    int r = sqlite_tables_put_rename(&db->tables, event, &sql);

    for (struct sqlite_rows *rows = event->first; rows && r == 0; rows = rows->next_variant) {
        sqlite3_finalize(rows->insert);
        rows->insert = NULL;
        r = sqlite_schema_add_columns(&selection.columns, &rows->table);
    }
    r = r < 0 ? export_no_memory(&db->sink.fault) : execute_text(db, &sql);
    if (r == 0)
        r = put_all(db, event->first, &selection, event->name, &from);
    if (r == 0) {
        sql = TEXT_IN_MEMORY;
        sqlite_schema_put_view_start(&sql, event->name);
        text_put_str(&sql, from.start);
        r = execute_text(db, &sql);
    }
    text_done(&from);
    free(selection.columns.names);
    return r;
}

static int make_event_views(struct sqlite *db)
{
    int r = 0;

    for (struct sqlite_event *event = db->tables.first_event; event && r == 0; event = event->next)
        if (event->first->next_variant)
            r = make_event_view(db, event);
    return r;
}

static int sqlite_finish(struct sink *sink)
{
    struct sqlite *db = container_of(sink, struct sqlite, sink);
    int r = flush(db);

    if (r == 0)
        r = make_event_views(db);
    if (r == 0)
        r = put_sources(db);
    if (r == 0)
        r = put_classes(db);
    if (r == 0)
        r = put_threads(db);
    if (r == 0)
        r = put_meta(db);
    if (r == 0)
        r = put_facts(db);
    if (r == 0)
        r = put_problems(db);
    if (r == 0)
        r = make_view(db, false);
    if (r == 0)
        r = make_view(db, true);
    return r < 0 ? r : execute(db, "COMMIT");
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

static int open_database(struct sqlite *db)
{
    /* Of the cache, 8 MB; each table takes at least a page of the file. */
    static const char start[] = "PRAGMA page_size = 8192; PRAGMA journal_mode = OFF;"
                                "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
                                "PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY; BEGIN";
    struct text sql = TEXT_IN_MEMORY;
    int code;
    int r;

    /* Fails, and matters little, where somebody in this process has used SQLite before. */
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    code = sqlite3_open_v2(db->options->path, &db->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                           NULL);
    if (code == SQLITE_OK)
        code = sqlite_batch_register(&db->batch, db->db);
    if (code != SQLITE_OK)
        return failed(db, code);
    r = execute(db, start);
    if (r == 0) {
        text_printf(&sql, "PRAGMA user_version = %d", SQLITE_SCHEMA_VERSION);
        r = execute_text(db, &sql);
    }
    if (r == 0)
        r = execute(db, sqlite_schema_tables);
    return r < 0 ? r : prepare(db, "INSERT INTO loss VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", &db->loss);
}

int export_sqlite_open(const struct export_options *options, struct sink **ret_sink,
                       struct fault *fault)
{
    static const struct sink_ops ops = {
        .put = sqlite_put, .finish = sqlite_finish, .free = sqlite_free};
    struct sqlite *db = calloc(1, sizeof *db);
    int r;

    if (!db)
        return export_no_memory(fault);
    db->sink.ops = &ops;
    db->options = options;
    db->recent_thread = UINT64_MAX;
    r = sqlite_batch_init(&db->batch);
    db->batch.errors = options->errors;
    if (r == 0)
        r = sqlite_tables_init(&db->tables);
    if (r < 0)
        export_no_memory(&db->sink.fault);
    else
        r = open_database(db);
    if (r < 0) {
        *fault = db->sink.fault;
        sqlite_free(&db->sink);
        return r;
    }
    *ret_sink = &db->sink;
    return 0;
}
