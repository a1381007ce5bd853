/* SPDX-License-Identifier: MIT */
#include "export/sqlite/schema.h"

#include <stdio.h>
#include <strings.h>

#include "base/macro.h"
#include "event/value.h"
#include "export/sqlite/batch.h"

const char sqlite_schema_tables[] =
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE problem(text TEXT);"
    "CREATE TABLE source(id INTEGER PRIMARY KEY, capture INTEGER, layer TEXT, format TEXT,"
    " path TEXT, clock TEXT, hz INTEGER);"
    "CREATE TABLE fact(source INTEGER, key TEXT, value TEXT);"
    "CREATE TABLE class(id INTEGER PRIMARY KEY, layer TEXT, event_group TEXT, event TEXT,"
    " name TEXT, table_name TEXT, events INTEGER, format TEXT);"
    "CREATE TABLE field(class INTEGER, number INTEGER, name TEXT, column_name TEXT, c_type TEXT,"
    " is_hex INTEGER, PRIMARY KEY(class, number)) WITHOUT ROWID;"
    "CREATE TABLE value_name(class INTEGER, field INTEGER, is_bit INTEGER, value INTEGER,"
    " name TEXT);"
    "CREATE TABLE thread(source INTEGER, pid INTEGER, comm TEXT, PRIMARY KEY(source, pid))"
    " WITHOUT ROWID;"
    "CREATE TABLE loss(id INTEGER PRIMARY KEY, time_ns INTEGER, since_ns INTEGER,"
    " error_ns INTEGER, source INTEGER, cpu INTEGER, lost INTEGER, cause TEXT, skipped_bytes "
    "INTEGER);";

const char *const sqlite_schema_names[] = {"class",  "events", "events_json", "fact",
                                           "field",  "loss",   "meta",        "problem",
                                           "source", "thread", "value_name",  NULL};

static const struct common_column {
    const char *name, *type;
} common[COLUMN_FIELDS] = {
    [COLUMN_ID] = {"id", " INTEGER PRIMARY KEY"},
    [COLUMN_TIME] = {"time_ns", " INTEGER"},
    [COLUMN_ERROR] = {"error_ns", " INTEGER"},
    [COLUMN_SOURCE] = {"source", " INTEGER"},
    [COLUMN_CPU] = {"cpu", " INTEGER"},
    [COLUMN_PID] = {"pid", " INTEGER"},
    [COLUMN_VCPU] = {"vcpu", ""},
};

/* Longer names of fields are cut: a statement may have a million bytes. */
#define NAME_MAX_LEN 255
/* A view has 2000 columns at most; the tables have what does not fit. */
#define VIEW_COLUMNS_MAX 1900
/* In older versions, an SQL function has at most 127 arguments. */
#define JSON_FIELDS_MAX 60

static bool is_taken(const char *const *columns, unsigned n, const char *name)
{
    for (unsigned i = 0; i < ARRAY_SIZE(common); i++)
        if (strcasecmp(name, common[i].name) == 0)
            return true;
    for (unsigned i = 0; i < n; i++)
        if (strcasecmp(name, columns[i]) == 0)
            return true;
    return false;
}

/* WANTED, or what is made of it. BUF is its own, of SIZE bytes. */
static void make_column(const char *const *columns, unsigned n, const char *wanted, char *buf,
                        size_t size)
{
    const char *before = is_taken(NULL, 0, wanted) ? "field_" : "";

    snprintf(buf, size, "%s%.*s", before, NAME_MAX_LEN, wanted);
    for (unsigned i = 2; is_taken(columns, n, buf); i++)
        snprintf(buf, size, "%s%.*s_%u", before, NAME_MAX_LEN, wanted, i);
}

const char **sqlite_schema_columns(struct arena *arena, const struct event_class *class)
{
    const char **columns = arena_alloc(arena, (class->n_fields + 1) * sizeof *columns);

    for (unsigned i = 0; columns && i < class->n_fields; i++) {
        size_t size = NAME_MAX_LEN + 24;
        char *name = arena_alloc(arena, size);

        if (!name)
            return NULL;
        make_column(columns, i, class->fields[i].name, name, size);
        columns[i] = name;
    }
    return columns;
}

static void put_quoted(struct text *sql, char quote, const char *s)
{
    text_put_char(sql, quote);
    for (; *s; s++) {
        if (*s == quote)
            text_put_char(sql, quote);
        text_put_char(sql, *s);
    }
    text_put_char(sql, quote);
}

static void put_name(struct text *sql, const char *name)
{
    put_quoted(sql, '"', name);
}

static void put_string(struct text *sql, const char *s)
{
    if (s)
        put_quoted(sql, '\'', s);
    else
        text_put_literal(sql, "NULL");
}

void sqlite_schema_put_table(struct text *sql, const struct sqlite_table *table)
{
    const struct event_class *class = table->class;

    text_put_literal(sql, "CREATE TABLE ");
    put_name(sql, table->name);
    for (unsigned i = 0; i < ARRAY_SIZE(common); i++) {
        text_put_str(sql, i ? ", " : "(");
        text_put_str(sql, common[i].name);
        text_put_str(sql, common[i].type);
    }
    for (unsigned i = 0; i < class->n_fields; i++) {
        enum field_type type = class->fields[i].type;

        text_put_literal(sql, ", ");
        put_name(sql, table->columns[i]);
        text_put_str(sql, type == FIELD_STRING  ? " TEXT"
                          : type == FIELD_BYTES ? (class->fields[i].element ? " TEXT" : " BLOB")
                          : type == FIELD_FLOAT ? " REAL"
                                                : " INTEGER");
    }
    text_put_char(sql, ')');
}

void sqlite_schema_put_rename(struct text *sql, const char *from, const char *to)
{
    text_put_literal(sql, "ALTER TABLE ");
    put_name(sql, from);
    text_put_literal(sql, " RENAME TO ");
    put_name(sql, to);
}

/* The number of the field of TABLE whose column is NAME, whatever the case; -1: none. */
static int column_of(const struct sqlite_table *table, const char *name)
{
    for (unsigned i = 0; i < table->class->n_fields; i++)
        if (strcasecmp(table->columns[i], name) == 0)
            return (int)i;
    return -1;
}

int sqlite_schema_add_columns(struct sqlite_columns *columns, const struct sqlite_table *table)
{
    const char **bigger =
        realloc(columns->names, (columns->n + table->class->n_fields + 1) * sizeof *bigger);

    if (!bigger)
        return -ENOMEM;
    columns->names = bigger;
    for (unsigned i = 0; i < table->class->n_fields && columns->n < VIEW_COLUMNS_MAX; i++) {
        unsigned k = 0;

        while (k < columns->n && strcasecmp(bigger[k], table->columns[i]) != 0)
            k++;
        if (k == columns->n)
            bigger[columns->n++] = table->columns[i];
    }
    return 0;
}

void sqlite_schema_put_variant(struct text *sql, const struct sqlite_table *table,
                               const struct sqlite_columns *columns)
{
    for (unsigned i = 0; i < ARRAY_SIZE(common); i++) {
        text_put_str(sql, i ? ", " : "SELECT ");
        text_put_str(sql, common[i].name);
    }
    for (unsigned i = 0; i < columns->n; i++) {
        int field = column_of(table, columns->names[i]);

        text_put_literal(sql, ", ");
        if (field >= 0)
            put_name(sql, table->columns[field]);
        else
            text_put_literal(sql, "NULL");
        text_put_literal(sql, " AS ");
        put_name(sql, columns->names[i]);
    }
    text_put_literal(sql, " FROM ");
    put_name(sql, table->name);
}

void sqlite_schema_put_view_start(struct text *sql, const char *name)
{
    text_put_literal(sql, "CREATE VIEW ");
    put_name(sql, name);
    text_put_literal(sql, " AS ");
}

void sqlite_schema_put_insert(struct text *sql, const struct sqlite_table *table, unsigned columns,
                              unsigned source)
{
    columns |= 1u << COLUMN_ID | 1u << COLUMN_TIME;
    text_put_literal(sql, "INSERT INTO ");
    put_name(sql, table->name);
    text_put_literal(sql, " SELECT c0");
    for (unsigned i = 1; i < COLUMN_FIELDS + table->class->n_fields; i++)
        if (i >= COLUMN_FIELDS || columns >> i & 1)
            text_printf(sql, ", c%u", i);
        else if (i == COLUMN_SOURCE)
            text_printf(sql, ", %u", source);
        else
            text_put_literal(sql, ", NULL");
    text_put_literal(sql, " FROM " SQLITE_BATCH_TABLE);
}

/* A field in JSON, as `strata report --format json` writes it where SQLite can: raw memory is one run of
 * hexadecimal digits. */
static void put_json_value(struct text *sql, const struct field *field, const char *column,
                           bool wide)
{
    switch (field->type) {
    case FIELD_BYTES:
        text_put_str(sql, field->element ? "json(" : "lower(hex(");
        put_name(sql, column);
        text_put_str(sql, field->element ? ")" : "))");
        break;
    case FIELD_FLOAT:
        /* json_object() would write 15 digits, and Inf, which is not JSON. */
        text_put_literal(sql, "CASE WHEN ");
        put_name(sql, column);
        text_put_literal(sql, "=9e999 THEN 'Infinity' WHEN ");
        put_name(sql, column);
        text_put_literal(sql, "=-9e999 THEN '-Infinity' WHEN typeof(");
        put_name(sql, column);
        text_put_literal(sql, ")='real' THEN json(printf('%!.17g',");
        put_name(sql, column);
        text_put_literal(sql, ")) ELSE ");
        put_name(sql, column);
        text_put_literal(sql, " END");
        break;
    case FIELD_UINT:
    case FIELD_POINTER:
        if (wide) {
            text_put_literal(sql, "iif(");
            put_name(sql, column);
            text_put_literal(sql, "<0,json(printf('%u',");
            put_name(sql, column);
            text_put_literal(sql, ")),");
            put_name(sql, column);
            text_put_char(sql, ')');
            break;
        }
        put_name(sql, column);
        break;
    default: put_name(sql, column);
    }
}

/* An expression. More fields than one object can have become several objects, joined. */
static void put_json(struct text *sql, const struct sqlite_table *table)
{
    const struct event_class *class = table->class;
    unsigned n_objects = (class->n_fields + JSON_FIELDS_MAX - 1) / JSON_FIELDS_MAX;

    if (class->n_fields == 0)
        text_put_literal(sql, "'{}'");
    for (unsigned o = 0; o < n_objects; o++) {
        unsigned first = o * JSON_FIELDS_MAX;

        if (n_objects > 1)
            text_put_str(sql, o ? "||','||trim(" : "'{'||trim(");
        text_put_literal(sql, "json_object(");
        for (unsigned i = first; i < MIN(first + JSON_FIELDS_MAX, class->n_fields); i++) {
            text_put_str(sql, i > first ? "," : "");
            put_string(sql, strlen(class->fields[i].name) > NAME_MAX_LEN ? table->columns[i]
                                                                         : class->fields[i].name);
            text_put_char(sql, ',');
            put_json_value(sql, &class->fields[i], table->columns[i], table->wide[i]);
        }
        text_put_str(sql, n_objects > 1 ? "),'{}')" : ")");
    }
    if (n_objects > 1)
        text_put_literal(sql, "||'}'");
}

void sqlite_schema_put_select(struct text *sql, const struct sqlite_table *table, bool fields)
{
    if (!table) {
        text_put_literal(
            sql,
            "SELECT NULL AS id, NULL AS time_ns, NULL AS error_ns, NULL AS source, NULL AS cpu, "
            "NULL AS pid, NULL AS vcpu, NULL AS layer, NULL AS event_group, "
            "NULL AS event");
        text_put_str(sql, fields ? ", NULL AS fields WHERE 0" : " WHERE 0");
        return;
    }
    text_put_literal(sql, "SELECT id, time_ns, error_ns, source, cpu, pid, vcpu, ");
    put_string(sql, layer_name(table->class->origin->layer));
    text_put_literal(sql, " AS layer, ");
    put_string(sql, table->class->group);
    text_put_literal(sql, " AS event_group, ");
    put_string(sql, table->class->name);
    text_put_literal(sql, " AS event");
    if (fields) {
        text_put_literal(sql, ", ");
        put_json(sql, table);
        text_put_literal(sql, " AS fields");
    }
    text_put_literal(sql, " FROM ");
    put_name(sql, table->name);
}

void sqlite_schema_put_view(struct text *sql, const char *from, bool fields)
{
    text_put_literal(sql, "CREATE VIEW ");
    text_put_str(sql, fields ? "events_json" : "events");
    text_put_literal(
        sql, " AS SELECT e.id, e.time_ns, e.error_ns, e.layer, e.source, e.cpu, e.pid, t.comm, "
             "e.vcpu, e.event_group, e.event");
    text_put_str(sql, fields ? ", e.fields FROM (" : " FROM (");
    text_put_str(sql, from);
    text_put_literal(sql, ") e LEFT JOIN thread t ON t.source = e.source AND t.pid = e.pid");
}
