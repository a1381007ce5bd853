/* SPDX-License-Identifier: MIT */
#include "tables/sql.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "base/macro.h"

/* A view has at most 2000 columns; the tables have the rest. */
#define VIEW_COLUMNS_MAX 1900
/* In older versions, an SQL function has at most 127 arguments. */
#define JSON_FIELDS_MAX 60
/* JSON uses the names of fields; longer names are replaced by the columns' names. */
#define NAME_MAX_LEN 255

/* The end of `CREATE TABLE` after the columns. */
static const struct {
    const char *keys, *options;
} constraints[FIXED_TABLES] = {
    [TABLE_LOSS] = {", PRIMARY KEY(id)", ""},
    [TABLE_SOURCE] = {", PRIMARY KEY(id)", ""},
    [TABLE_CLASS] = {", PRIMARY KEY(id)", ""},
    [TABLE_THREAD] = {", PRIMARY KEY(source, pid)", " WITHOUT ROWID"},
    [TABLE_CPU] = {", PRIMARY KEY(source, cpu)", " WITHOUT ROWID"},
    [TABLE_FIELD] = {", PRIMARY KEY(class, number)", " WITHOUT ROWID"},
    [TABLE_META] = {", PRIMARY KEY(key)", " WITHOUT ROWID"},
};

const char *const sql_types[COLUMN_TYPES] = {
    [COLUMN_INTEGER] = " INTEGER", [COLUMN_UNSIGNED] = " INTEGER", [COLUMN_REAL] = " REAL",
    [COLUMN_TEXT] = " TEXT",       [COLUMN_BLOB] = " BLOB",        [COLUMN_EITHER] = "",
};

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

void sql_put_name(struct text *sql, const char *name)
{
    put_quoted(sql, '"', name);
}

void sql_put_string(struct text *sql, const char *s)
{
    if (s)
        put_quoted(sql, '\'', s);
    else
        text_put_literal(sql, "NULL");
}

static void put_columns(struct text *sql, const struct trace_table *table, const char *name)
{
    text_put_literal(sql, "CREATE TABLE ");
    sql_put_name(sql, name);
    for (unsigned i = 0; i < table->n_columns; i++) {
        text_put_str(sql, i ? ", " : "(");
        sql_put_name(sql, table->columns[i].name);
        text_put_str(sql, sql_types[table->columns[i].type]);
    }
}

void sql_put_fixed_table(struct text *sql, enum fixed_table table)
{
    const struct trace_table *of = &fixed_tables[table];

    put_columns(sql, of, of->name);
    if (constraints[table].keys) {
        text_put_str(sql, constraints[table].keys);
        text_put_char(sql, ')');
        text_put_str(sql, constraints[table].options);
    } else {
        text_put_char(sql, ')');
    }
}

void sql_put_event_table(struct text *sql, const struct event_table *table, const char *name)
{
    put_columns(sql, &table->table, name);
    text_put_literal(sql, ", PRIMARY KEY(id))");
}

int sql_columns_add(struct sql_columns *columns, const struct event_table *table)
{
    const struct trace_table *of = &table->table;
    const char **bigger =
        realloc(columns->names, (columns->n + of->n_columns + 1) * sizeof *bigger);

    if (!bigger)
        return -ENOMEM;
    columns->names = bigger;
    for (unsigned i = EVENT_FIELDS; i < of->n_columns && columns->n < VIEW_COLUMNS_MAX; i++) {
        unsigned k = 0;

        while (k < columns->n && strcasecmp(bigger[k], of->columns[i].name) != 0)
            k++;
        if (k == columns->n)
            bigger[columns->n++] = of->columns[i].name;
    }
    return 0;
}

void sql_put_variant(struct text *sql, const struct event_table *table,
                     const struct sql_columns *columns)
{
    for (unsigned i = 0; i < EVENT_FIELDS; i++) {
        text_put_str(sql, i ? ", " : "SELECT ");
        text_put_str(sql, event_columns[i].name);
    }
    for (unsigned i = 0; i < columns->n; i++) {
        int column = trace_table_column(&table->table, columns->names[i]);

        text_put_literal(sql, ", ");
        if (column >= 0)
            sql_put_name(sql, table->table.columns[column].name);
        else
            text_put_literal(sql, "NULL");
        text_put_literal(sql, " AS ");
        sql_put_name(sql, columns->names[i]);
    }
    text_put_literal(sql, " FROM ");
    sql_put_name(sql, table->sql_name);
}

void sql_put_view_start(struct text *sql, const char *name)
{
    text_put_literal(sql, "CREATE VIEW ");
    sql_put_name(sql, name);
    text_put_literal(sql, " AS ");
}

/* Puts a field as JSON, like `strata report --format json` if SQLite can. Raw memory is a string of hexadecimal
 * digits. */
static void put_json_value(struct text *sql, const struct field *field, const char *column,
                           bool wide)
{
    switch (field->type) {
    case FIELD_BYTES:
        text_put_str(sql, field->element ? "json(" : "lower(hex(");
        sql_put_name(sql, column);
        text_put_str(sql, field->element ? ")" : "))");
        break;
    case FIELD_FLOAT:
        /* json_object() would write 15 digits, and Inf, which is not JSON. */
        text_put_literal(sql, "CASE WHEN ");
        sql_put_name(sql, column);
        text_put_literal(sql, "=9e999 THEN 'Infinity' WHEN ");
        sql_put_name(sql, column);
        text_put_literal(sql, "=-9e999 THEN '-Infinity' WHEN typeof(");
        sql_put_name(sql, column);
        text_put_literal(sql, ")='real' THEN json(printf('%!.17g',");
        sql_put_name(sql, column);
        text_put_literal(sql, ")) ELSE ");
        sql_put_name(sql, column);
        text_put_literal(sql, " END");
        break;
    case FIELD_UINT:
    case FIELD_POINTER:
        if (wide) {
            text_put_literal(sql, "iif(");
            sql_put_name(sql, column);
            text_put_literal(sql, "<0,json(printf('%u',");
            sql_put_name(sql, column);
            text_put_literal(sql, ")),");
            sql_put_name(sql, column);
            text_put_char(sql, ')');
            break;
        }
        sql_put_name(sql, column);
        break;
    default: sql_put_name(sql, column);
    }
}

/* Puts an expression. If there are too many fields for one object, several objects are joined. */
static void put_json(struct text *sql, const struct event_table *table)
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
            const char *column = table->table.columns[EVENT_FIELDS + i].name;
            const char *name = class->fields[i].name;

            text_put_str(sql, i > first ? "," : "");
            sql_put_string(sql, strlen(name) > NAME_MAX_LEN ? column : name);
            text_put_char(sql, ',');
            put_json_value(sql, &class->fields[i], column, table->wide[i]);
        }
        text_put_str(sql, n_objects > 1 ? "),'{}')" : ")");
    }
    if (n_objects > 1)
        text_put_literal(sql, "||'}'");
}

void sql_put_select(struct text *sql, const struct event_table *table, bool fields)
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
    sql_put_string(sql, layer_name(table->class->origin->layer));
    text_put_literal(sql, " AS layer, ");
    sql_put_string(sql, table->class->group);
    text_put_literal(sql, " AS event_group, ");
    sql_put_string(sql, table->class->name);
    text_put_literal(sql, " AS event");
    if (fields) {
        text_put_literal(sql, ", ");
        put_json(sql, table);
        text_put_literal(sql, " AS fields");
    }
    text_put_literal(sql, " FROM ");
    sql_put_name(sql, table->sql_name);
}

void sql_put_view(struct text *sql, const char *name, const char *from, bool fields)
{
    sql_put_view_start(sql, name);
    text_put_literal(sql,
                     "SELECT e.id, e.time_ns, e.error_ns, e.layer, e.source, e.cpu, e.pid, t.comm, "
                     "e.vcpu, e.event_group, e.event");
    text_put_str(sql, fields ? ", e.fields FROM (" : " FROM (");
    text_put_str(sql, from);
    text_put_literal(sql, ") e LEFT JOIN thread t ON t.source = e.source AND t.pid = e.pid");
}
