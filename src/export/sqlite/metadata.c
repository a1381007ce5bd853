/* SPDX-License-Identifier: MIT */
/* The tables that say what the export is of: sources, classes, threads, facts and problems. */
#include "export/sqlite/database.h"

static int put_sources(struct sqlite *db)
{
    const struct catalogue *catalogue = db->options->catalogue;
    sqlite3_stmt *s;
    int r = sqlite_prepare(db, "INSERT INTO source VALUES(?, ?, ?, ?, ?, ?, ?)", &s);

    for (unsigned i = 0; i < catalogue->n_origins && r == 0; i++) {
        const struct origin *origin = catalogue->origins[i];

        sqlite3_bind_int64(s, 1, i);
        sqlite3_bind_int64(s, 2, export_origin_number(db->options, origin));
        sqlite_bind_text(s, 3, layer_name(origin->layer));
        sqlite_bind_text(s, 4, origin->format);
        sqlite_bind_text(s, 5, origin->path);
        sqlite_bind_text(s, 6, origin->clock.name);
        sqlite_bind_number(s, 7, (int64_t)origin->clock.hz, origin->clock.hz);
        r = sqlite_run(db, s);
    }
    sqlite3_finalize(s);
    return r;
}

static int put_value_name(struct sqlite *db, sqlite3_stmt *s, uint64_t value, const char *name)
{
    if (!name)
        return 0;
    sqlite3_bind_int64(s, 4, (int64_t)value);
    sqlite_bind_text(s, 5, name);
    return sqlite_run(db, s);
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
        sqlite_bind_text(s, 3, class->fields[i].name);
        sqlite_bind_text(s, 4, c->rows->table.columns[i]);
        sqlite_bind_text(s, 5, class->fields[i].c_type);
        sqlite3_bind_int64(s, 6, class->fields[i].hex || class->fields[i].type == FIELD_POINTER);
        r = sqlite_run(db, s);
    }
    return r;
}

static int put_class(struct sqlite *db, sqlite3_stmt *s, const struct sqlite_class *c)
{
    const struct event_class *class = c->class;

    sqlite3_bind_int64(s, 1, class->index);
    sqlite_bind_text(s, 2, layer_name(class->origin->layer));
    sqlite_bind_text(s, 3, class->group);
    sqlite_bind_text(s, 4, class->name);
    sqlite_bind_text(s, 5, c->rows->event->name);
    sqlite_bind_text(s, 6, c->rows->table.name);
    sqlite3_bind_int64(s, 7, (int64_t)c->n_events);
    sqlite_bind_text(s, 8, class->format);
    return sqlite_run(db, s);
}

static int put_classes(struct sqlite *db)
{
    sqlite3_stmt *class = NULL, *field = NULL, *name = NULL;
    int r = sqlite_prepare(db, "INSERT INTO class VALUES(?, ?, ?, ?, ?, ?, ?, ?)", &class);

    if (r == 0)
        r = sqlite_prepare(db, "INSERT INTO field VALUES(?, ?, ?, ?, ?, ?)", &field);
    if (r == 0)
        r = sqlite_prepare(db, "INSERT INTO value_name VALUES(?, ?, ?, ?, ?)", &name);
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
    int r = sqlite_prepare(db, "INSERT INTO thread VALUES(?, ?, ?)", &s);

    while (r == 0 && map_next(&db->threads, &iter, &key, &value)) {
        const struct origin *origin = value;
        int32_t pid = (int32_t)(uint32_t)key;
        const char *name = origin->task_name(origin, pid);

        if (!name || !*name)
            continue;
        sqlite3_bind_int64(s, 1, (int64_t)(key >> 32));
        sqlite3_bind_int64(s, 2, pid);
        sqlite_bind_text(s, 3, name);
        r = sqlite_run(db, s);
    }
    sqlite3_finalize(s);
    return r;
}

/* The insertion of facts or problems. */
struct insertion {
    struct sqlite *db;
    sqlite3_stmt *statement;
    int error;
};

static void insert_fact(void *arg, const char *key, const char *value)
{
    struct insertion *insertion = arg;

    sqlite_bind_text(insertion->statement, 2, key);
    sqlite_bind_text(insertion->statement, 3, value);
    if (insertion->error == 0)
        insertion->error = sqlite_run(insertion->db, insertion->statement);
}

static int put_facts(struct sqlite *db)
{
    const struct export_about *about = db->options->about;
    const struct catalogue *catalogue = db->options->catalogue;
    struct insertion insertion = {.db = db};

    insertion.error = sqlite_prepare(db, "INSERT INTO fact VALUES(?, ?, ?)", &insertion.statement);
    for (unsigned i = 0; about && i < catalogue->n_origins && insertion.error == 0; i++) {
        sqlite3_bind_int64(insertion.statement, 1, i);
        if (about->facts(about, catalogue->origins[i], insert_fact, &insertion) < 0 &&
            insertion.error == 0)
            insertion.error = export_no_memory(&db->sink.error);
    }
    sqlite3_finalize(insertion.statement);
    return insertion.error;
}

static void insert_problem(void *arg, const char *text)
{
    struct insertion *insertion = arg;

    sqlite_bind_text(insertion->statement, 1, text);
    if (insertion->error == 0)
        insertion->error = sqlite_run(insertion->db, insertion->statement);
}

static int put_problems(struct sqlite *db)
{
    struct insertion insertion = {.db = db};

    insertion.error = sqlite_prepare(db, "INSERT INTO problem VALUES(?)", &insertion.statement);
    if (db->options->about && insertion.error == 0)
        db->options->about->problems(db->options->about, insert_problem, &insertion);
    sqlite3_finalize(insertion.statement);
    return insertion.error;
}

static int put_meta(struct sqlite *db)
{
    const struct catalogue *catalogue = db->options->catalogue;
    const struct clock *clock = catalogue->n_origins ? &catalogue->origins[0]->clock : NULL;
    sqlite3_stmt *s;
    int r = sqlite_prepare(
        db,
        "INSERT INTO meta VALUES('strata', ?), ('clock', ?), ('ticks_per_second', ?), "
        "('events', ?), ('losses', ?)",
        &s);

    if (r < 0)
        return r;
    sqlite_bind_text(s, 1, STRATA_VERSION);
    sqlite_bind_text(s, 2, clock ? clock->name : NULL);
    sqlite_bind_number(s, 3, NANOSECONDS, clock && clock->hz);
    sqlite3_bind_int64(s, 4, db->n - (int64_t)db->n_losses);
    sqlite3_bind_int64(s, 5, (int64_t)db->n_losses);
    r = sqlite_run(db, s);
    sqlite3_finalize(s);
    return r;
}

int sqlite_put_metadata(struct sqlite *db)
{
    static int (*const tables[])(struct sqlite * db) = {put_sources, put_classes, put_threads,
                                                        put_meta,    put_facts,   put_problems};
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(tables) && r == 0; i++)
        r = tables[i](db);
    return r;
}
