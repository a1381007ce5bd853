/* SPDX-License-Identifier: MIT */
/* A database of SQLite 3 with these tables; the user version is 1.
 *
 *   event     id INTEGER PRIMARY KEY, time_ns, class, cpu, pid, vcpu TEXT
 *             all events, numbered in the order of time
 *   NAME      id INTEGER PRIMARY KEY, time_ns, cpu, pid, vcpu TEXT, a column for each field
 *             the events of a class, with the same numbers
 *   class     id INTEGER PRIMARY KEY, source, event_group TEXT, name TEXT, table_name TEXT, format TEXT
 *   source    id INTEGER PRIMARY KEY, layer TEXT, format TEXT, path TEXT, clock TEXT, hz
 *   thread    source, pid, comm TEXT
 *   loss      id INTEGER PRIMARY KEY, time_ns, since_ns, source, cpu, lost, cause TEXT, skipped_bytes
 *             numbered among the events
 *
 * and a view of all events with their names, `events`. What is not known is NULL. SQLite has no
 * unsigned numbers of 64 bits: those from 2^63 on are stored as the negative ones of the same bits.
 * Strings are TEXT, raw memory BLOB. */

#include <string.h>
#include <strings.h>

#include "event/value.h"
#include "export/export.h"
#include "export/names.h"
#include "export/sqlite_file.h"

#define USER_VERSION 1

struct sqlite_class {
    const struct event_class *class;
    const char *name; /* of its table; NULL: none yet */
    struct sqlite_table table;
    unsigned source;
};

struct sqlite {
    struct export export;
    const struct export_options *options;
    struct sqlite_file file;
    struct export_names names;
    struct sqlite_class **classes; /* by class->index; NULL: no event yet */
    unsigned n_classes;
    struct sqlite_table events, losses;
    int64_t n;          /* events and losses */
    struct map threads; /* source and pid: the origin */
    uint64_t recent_thread;
    struct text scratch;
};

static const char *const own_names[] = {"event", "events", "class", "source", "thread", "loss"};
static const char *const own_columns[] = {"id", "time_ns", "cpu", "pid", "vcpu"};

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
    c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    db->classes[class->index] = c;
    c->class = class;
    c->source = source_of(db, class->origin);
    c->name = export_names_get(&db->names, class, NULL);
    return c->name ? c : NULL;
}

static void put_time(struct sqlite_row *row, const struct item *item, int64_t time)
{
    if (time == TIME_UNKNOWN)
        sqlite_row_null(row);
    else
        sqlite_row_integer(row, export_ns(item, time));
}

static void put_number(struct sqlite_row *row, int32_t v)
{
    if (v < 0)
        sqlite_row_null(row);
    else
        sqlite_row_integer(row, v);
}

static void put_vcpu(struct sqlite *db, const struct item *item)
{
    struct text *name = &db->scratch;

    if (likely(item->vcpu == VCPU_UNKNOWN)) {
        sqlite_row_null(&db->file.row);
        return;
    }
    name->next = name->start;
    if (item->origin->put_vcpu)
        item->origin->put_vcpu(item->origin, item->vcpu, name);
    else
        text_put_i64(name, item->vcpu);
    sqlite_row_text(&db->file.row, name->start, text_len(name));
}

static void put_value(struct sqlite_row *row, const struct field *field, const struct value *value)
{
    if (!value->present) {
        sqlite_row_null(row);
        return;
    }
    switch (field->type) {
    case FIELD_STRING: sqlite_row_text(row, value->s, strnlen(value->s, value->len)); break;
    case FIELD_BYTES: sqlite_row_blob(row, value->s, value->len); break;
    case FIELD_FLOAT: sqlite_row_real(row, value->u); break;
    default: sqlite_row_integer(row, value->i);
    }
}

/* Remembers that there is such a thread. */
static int note_thread(struct sqlite *db, unsigned source, const struct item *item)
{
    uint64_t key = (uint64_t)source << 32 | (uint32_t)item->pid;

    if (item->pid == PID_UNKNOWN || key == db->recent_thread)
        return 0;
    db->recent_thread = key;
    return map_get(&db->threads, key) ? 0 : map_put(&db->threads, key, (void *)item->origin);
}

static int put_event(struct sqlite *db, const struct item *item)
{
    const struct event_class *class = item->class;
    struct sqlite_row *row = &db->file.row;
    struct sqlite_class *c = class->index < db->n_classes ? db->classes[class->index] : NULL;
    struct value values[FIELDS_MAX];
    int r;

    if (unlikely(!c) && !(c = make_class(db, class)))
        return -ENOMEM;
    if (item->origin->task_name && (r = note_thread(db, c->source, item)) < 0)
        return r;
    sqlite_row_begin(row);
    sqlite_row_null(row);
    put_time(row, item, item->time);
    sqlite_row_integer(row, class->index);
    put_number(row, item->cpu);
    put_number(row, item->pid);
    put_vcpu(db, item);
    r = sqlite_put_row(&db->file, &db->events, db->n);
    if (r < 0)
        return r;
    sqlite_row_begin(row);
    sqlite_row_null(row);
    put_time(row, item, item->time);
    put_number(row, item->cpu);
    put_number(row, item->pid);
    put_vcpu(db, item);
    item_values(item, values);
    for (unsigned i = 0; i < class->n_fields; i++)
        put_value(row, &class->fields[i], &values[i]);
    return sqlite_put_row(&db->file, &c->table, db->n);
}

static int put_loss(struct sqlite *db, const struct item *item)
{
    struct sqlite_row *row = &db->file.row;
    const char *cause = item->cause == LOSS_UNREADABLE ? "unreadable" : "dropped";

    sqlite_row_begin(row);
    sqlite_row_null(row);
    put_time(row, item, item->time);
    put_time(row, item, item->since);
    sqlite_row_integer(row, source_of(db, item->origin));
    put_number(row, item->cpu);
    if (item->lost == LOST_UNKNOWN)
        sqlite_row_null(row);
    else
        sqlite_row_integer(row, (int64_t)item->lost);
    sqlite_row_text(row, cause, strlen(cause));
    sqlite_row_integer(row, item->skipped);
    return sqlite_put_row(&db->file, &db->losses, db->n);
}

static int failed(struct sqlite *db, int r)
{
    if (r == -ENOMEM)
        return export_no_memory(&db->export.fault);
    return fault_plain(&db->export.fault, r, db->options->path, "cannot write: %s", strerror(-r));
}

static int sqlite_put(struct export *export, const struct item *items, unsigned n)
{
    struct sqlite *db = container_of(export, struct sqlite, export);

    for (unsigned i = 0; i < n; i++) {
        int r;

        db->n++;
        r = likely(items[i].kind == ITEM_EVENT) ? put_event(db, &items[i])
                                                : put_loss(db, &items[i]);
        if (r < 0)
            return failed(db, r);
    }
    return db->file.out.error ? failed(db, db->file.out.error) : 0;
}

/* A name in double quotes. */
static void put_name(struct text *sql, const char *name)
{
    text_put_char(sql, '"');
    for (; *name; name++) {
        if (*name == '"')
            text_put_char(sql, '"');
        text_put_char(sql, *name);
    }
    text_put_char(sql, '"');
}

/* Whether one of the columns before field NUMBER is called as this field is. */
static bool is_taken(const struct event_class *class, unsigned number)
{
    const char *name = class->fields[number].name;

    for (unsigned i = 0; i < ARRAY_SIZE(own_columns); i++)
        if (strcasecmp(name, own_columns[i]) == 0)
            return true;
    for (unsigned i = 0; i < class->n_fields; i++)
        if (i != number && strcasecmp(name, class->fields[i].name) == 0)
            return true;
    return strncasecmp(name, "field_", 6) == 0;
}

/* The field's own name, `field_NAME` where that is taken, `field_NAME_NUMBER` where others have it. */
static void put_column(struct text *sql, const struct event_class *class, unsigned number)
{
    const struct field *field = &class->fields[number];
    struct text name = TEXT_IN_MEMORY;
    bool twice = false;

    for (unsigned i = 0; i < class->n_fields; i++)
        twice = twice || (i != number && strcasecmp(field->name, class->fields[i].name) == 0);
    if (is_taken(class, number))
        text_put_literal(&name, "field_");
    text_put_str(&name, field->name);
    if (twice)
        text_printf(&name, "_%u", number);
    text_put_char(&name, '\0');
    if (name.error)
        sql->error = name.error;
    else
        put_name(sql, name.start);
    text_done(&name);
    text_put_str(sql, field->type == FIELD_STRING  ? " TEXT"
                      : field->type == FIELD_BYTES ? " BLOB"
                      : field->type == FIELD_FLOAT ? " REAL"
                                                   : " INTEGER");
}

static int finish_class(struct sqlite *db, struct sqlite_class *c)
{
    struct text sql = TEXT_IN_MEMORY;
    int r = sqlite_table_finish(&db->file, &c->table);

    if (r == 0) {
        text_put_literal(&sql, "CREATE TABLE ");
        put_name(&sql, c->name);
        text_put_literal(&sql, "(id INTEGER PRIMARY KEY, time_ns INTEGER, cpu INTEGER, "
                               "pid INTEGER, vcpu TEXT");
        for (unsigned i = 0; i < c->class->n_fields; i++) {
            text_put_literal(&sql, ", ");
            put_column(&sql, c->class, i);
        }
        text_put_char(&sql, ')');
        r = sql.error ? -ENOMEM
                      : sqlite_put_schema(&db->file, "table", c->name, c->table.root, sql.start,
                                          text_len(&sql));
    }
    text_done(&sql);
    return r;
}

static void put_text(struct sqlite_row *row, const char *s)
{
    if (s)
        sqlite_row_text(row, s, strlen(s));
    else
        sqlite_row_null(row);
}

static int finish_table(struct sqlite *db, struct sqlite_table *table, const char *name,
                        const char *sql)
{
    int r = sqlite_table_finish(&db->file, table);

    return r < 0 ? r : sqlite_put_schema(&db->file, "table", name, table->root, sql, strlen(sql));
}

static int put_classes(struct sqlite *db)
{
    struct sqlite_row *row = &db->file.row;
    struct sqlite_table table = {0};
    int r = 0;

    for (unsigned i = 0; i < db->n_classes && r == 0; i++) {
        const struct sqlite_class *c = db->classes[i];

        if (!c)
            continue;
        sqlite_row_begin(row);
        sqlite_row_null(row);
        sqlite_row_integer(row, c->source);
        put_text(row, c->class->group);
        put_text(row, c->class->name);
        put_text(row, c->name);
        put_text(row, c->class->format);
        r = sqlite_put_row(&db->file, &table, i);
    }
    if (r == 0)
        r = finish_table(db, &table, "class",
                         "CREATE TABLE class(id INTEGER PRIMARY KEY, source INTEGER, "
                         "event_group TEXT, name TEXT, table_name TEXT, format TEXT)");
    sqlite_table_done(&table);
    return r;
}

static int put_sources(struct sqlite *db)
{
    const struct catalogue *catalogue = db->options->catalogue;
    struct sqlite_row *row = &db->file.row;
    struct sqlite_table table = {0};
    int r = 0;

    for (unsigned i = 0; i < catalogue->n_origins && r == 0; i++) {
        const struct origin *origin = catalogue->origins[i];

        sqlite_row_begin(row);
        sqlite_row_null(row);
        put_text(row, layer_name(origin->layer));
        put_text(row, origin->format);
        put_text(row, origin->path);
        put_text(row, origin->clock.name);
        if (origin->clock.hz)
            sqlite_row_integer(row, (int64_t)origin->clock.hz);
        else
            sqlite_row_null(row);
        r = sqlite_put_row(&db->file, &table, i);
    }
    if (r == 0)
        r = finish_table(db, &table, "source",
                         "CREATE TABLE source(id INTEGER PRIMARY KEY, layer TEXT, format TEXT, "
                         "path TEXT, clock TEXT, hz INTEGER)");
    sqlite_table_done(&table);
    return r;
}

static int put_threads(struct sqlite *db)
{
    struct sqlite_row *row = &db->file.row;
    struct sqlite_table table = {0};
    size_t iter = 0;
    uint64_t key;
    void *value;
    int64_t n = 0;
    int r = 0;

    while (r == 0 && map_next(&db->threads, &iter, &key, &value)) {
        const struct origin *origin = value;
        const char *name = origin->task_name(origin, (int32_t)(uint32_t)key);

        if (!name || !*name)
            continue;
        sqlite_row_begin(row);
        sqlite_row_integer(row, (int64_t)(key >> 32));
        sqlite_row_integer(row, (int32_t)(uint32_t)key);
        put_text(row, name);
        r = sqlite_put_row(&db->file, &table, ++n);
    }
    if (r == 0)
        r = finish_table(db, &table, "thread",
                         "CREATE TABLE thread(source INTEGER, pid INTEGER, comm TEXT)");
    sqlite_table_done(&table);
    return r;
}

static int finish(struct sqlite *db)
{
    static const char view[] =
        "CREATE VIEW events AS SELECT e.id, e.time_ns, s.layer, c.source, e.cpu, e.pid, t.comm, "
        "e.vcpu, c.event_group, c.name AS event FROM event e JOIN class c ON c.id = e.class "
        "JOIN source s ON s.id = c.source "
        "LEFT JOIN thread t ON t.source = c.source AND t.pid = e.pid";
    int r = finish_table(db, &db->events, "event",
                         "CREATE TABLE event(id INTEGER PRIMARY KEY, time_ns INTEGER, "
                         "class INTEGER, cpu INTEGER, pid INTEGER, vcpu TEXT)");

    if (r == 0)
        r = finish_table(db, &db->losses, "loss",
                         "CREATE TABLE loss(id INTEGER PRIMARY KEY, time_ns INTEGER, "
                         "since_ns INTEGER, source INTEGER, cpu INTEGER, lost INTEGER, "
                         "cause TEXT, skipped_bytes INTEGER)");
    if (r == 0)
        r = put_sources(db);
    if (r == 0)
        r = put_classes(db);
    if (r == 0)
        r = put_threads(db);
    for (unsigned i = 0; i < db->n_classes && r == 0; i++)
        if (db->classes[i])
            r = finish_class(db, db->classes[i]);
    if (r == 0)
        r = sqlite_put_schema(&db->file, "view", "events", 0, view, strlen(view));
    return r < 0 ? r : sqlite_file_finish(&db->file, USER_VERSION);
}

static int sqlite_finish(struct export *export)
{
    struct sqlite *db = container_of(export, struct sqlite, export);
    int r = finish(db);

    return r < 0 ? failed(db, r) : 0;
}

static void sqlite_free(struct export *export)
{
    struct sqlite *db = container_of(export, struct sqlite, export);

    for (unsigned i = 0; i < db->n_classes; i++) {
        if (db->classes[i])
            sqlite_table_done(&db->classes[i]->table);
        free(db->classes[i]);
    }
    free(db->classes);
    sqlite_table_done(&db->events);
    sqlite_table_done(&db->losses);
    map_done(&db->threads);
    export_names_done(&db->names);
    text_done(&db->scratch);
    sqlite_file_done(&db->file);
    free(db);
}

int export_sqlite_open(const struct export_options *options, struct export **ret_export,
                       struct fault *fault)
{
    static const struct export_ops ops = {
        .put = sqlite_put, .finish = sqlite_finish, .free = sqlite_free};
    struct sqlite *db = calloc(1, sizeof *db);
    int r;

    if (!db)
        return export_no_memory(fault);
    db->export.ops = &ops;
    db->options = options;
    db->names.fold = true;
    db->scratch = TEXT_IN_MEMORY;
    db->recent_thread = UINT64_MAX;
    r = sqlite_file_open(options->fd, &db->file);
    for (unsigned i = 0; i < ARRAY_SIZE(own_names) && r == 0; i++)
        r = export_names_reserve(&db->names, own_names[i]);
    if (r < 0) {
        sqlite_free(&db->export);
        return export_no_memory(fault);
    }
    *ret_export = &db->export;
    return 0;
}
