/* SPDX-License-Identifier: MIT */
#include "print/table_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/printable.h"
#include "print/csv.h"

const char *const table_formats[] = {"text", "json", "csv", NULL};

/* ---- Cells ---- */

static size_t cell_end(const struct table *table)
{
    return text_len(&table->bytes);
}

static void close_cell(struct table *table)
{
    if (table->open < table->form.n)
        table->cells[table->open].len = cell_end(table) - table->cells[table->open].start;
    table->open = table->form.n;
}

static struct text *open_cell(struct table *table, unsigned column, enum table_cell_kind kind)
{
    assert(column < table->form.n);
    close_cell(table);
    table->cells[column].kind = kind;
    table->cells[column].start = cell_end(table);
    table->open = column;
    return &table->bytes;
}

struct text *table_cell(struct table *table, unsigned column)
{
    return open_cell(table, column, TABLE_CELL_STRING);
}

void table_str(struct table *table, unsigned column, const char *s)
{
    if (s)
        text_put_str(table_cell(table, column), s);
}

void table_u64(struct table *table, unsigned column, uint64_t v)
{
    text_put_u64(open_cell(table, column, TABLE_CELL_NUMBER), v);
}

void table_i64(struct table *table, unsigned column, int64_t v)
{
    text_put_i64(open_cell(table, column, TABLE_CELL_NUMBER), v);
}

void table_bool(struct table *table, unsigned column, bool v)
{
    text_put_str(open_cell(table, column, TABLE_CELL_NUMBER), v ? "true" : "false");
}

void table_real(struct table *table, unsigned column, double v)
{
    struct text *cell;

    if (!isfinite(v))
        return;
    cell = open_cell(table, column, TABLE_CELL_NUMBER);
    if (table->format == TABLE_TEXT)
        text_printf(cell, "%.*f", (int)table->form.columns[column].decimals, v);
    else
        text_printf(cell, "%.6g", v);
}

void table_double(struct table *table, unsigned column, double v)
{
    if (isfinite(v))
        text_printf(open_cell(table, column, TABLE_CELL_NUMBER), "%.15g", v);
    else
        table_str(table, column, isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity");
}

void table_list(struct table *table, unsigned column)
{
    open_cell(table, column, TABLE_CELL_LIST);
}

void table_list_add(struct table *table, const char *s)
{
    text_put(&table->bytes, s, strlen(s) + 1);
}

void table_pairs(struct table *table, unsigned column)
{
    open_cell(table, column, TABLE_CELL_PAIRS);
}

void table_pairs_add(struct table *table, const char *key, const char *value)
{
    table_list_add(table, key);
    table_list_add(table, value);
}

struct json_writer *table_json(struct table *table, unsigned column)
{
    assert(table->form.columns[column].json_only);
    table->cell_json = (struct json_writer){
        .out = open_cell(table, column, TABLE_CELL_JSON),
    };
    return &table->cell_json;
}

void table_unknown(struct table *table, unsigned column)
{
    open_cell(table, column, TABLE_CELL_UNKNOWN);
}

static const char *cell_bytes(const struct table *table, unsigned column)
{
    return table->bytes.start ? table->bytes.start + table->cells[column].start : "";
}

/* ---- A cell as text ---- */

const char *table_next_string(const struct table *table, unsigned column, size_t *at)
{
    const char *s = cell_bytes(table, column) + *at;

    if (*at >= table->cells[column].len)
        return NULL;
    *at += strlen(s) + 1;
    return s;
}

static void put_strings(struct table *table, unsigned column, const char *between)
{
    bool pairs = table->cells[column].kind == TABLE_CELL_PAIRS;
    const char *s;
    size_t at = 0;

    while ((s = table_next_string(table, column, &at))) {
        if (text_len(&table->scratch) > 0)
            text_put_str(&table->scratch, between);
        text_put_safe_str(&table->scratch, s);
        if (!pairs)
            continue;
        text_put_literal(&table->scratch, ": ");
        text_put_safe_str(&table->scratch, table_next_string(table, column, &at));
    }
}

const char *table_make_shown(struct table *table, unsigned column, const char *between,
                             size_t *ret_len)
{
    static const char padding[TEXT_UNIT];

    table->scratch.next = table->scratch.start;
    switch (table->cells[column].kind) {
    case TABLE_CELL_LIST:
    case TABLE_CELL_PAIRS: put_strings(table, column, between); break;
    case TABLE_CELL_STRING:
        if (table->format == TABLE_CSV && table->form.spreadsheet &&
            csv_begins_formula(cell_bytes(table, column), table->cells[column].len))
            text_put_char(&table->scratch, '\'');
        text_put_safe(&table->scratch, cell_bytes(table, column), table->cells[column].len);
        break;
    case TABLE_CELL_NUMBER:
    case TABLE_CELL_JSON:
        text_put(&table->scratch, cell_bytes(table, column), table->cells[column].len);
        break;
    case TABLE_CELL_UNKNOWN:
        if (table->format == TABLE_TEXT)
            text_put_char(&table->scratch, '?');
        break;
    case TABLE_CELL_NONE: break;
    }
    *ret_len = text_len(&table->scratch);
    text_put(&table->scratch, padding, sizeof padding); /* for csv_put_cell() */
    if (!table->scratch.error)
        return table->scratch.start;
    *ret_len = 0;
    return padding;
}

/* ---- CSV ---- */

/* The name of a column, padded as csv_put_cell() requires. */
static const char *make_head(struct table *table, const char *name, size_t *ret_len)
{
    static const char padding[TEXT_UNIT];

    table->scratch.next = table->scratch.start;
    if (table->form.spreadsheet && csv_begins_formula(name, strlen(name)))
        text_put_char(&table->scratch, '\'');
    text_put_str(&table->scratch, name);
    *ret_len = text_len(&table->scratch);
    text_put(&table->scratch, padding, sizeof padding);
    if (!table->scratch.error)
        return table->scratch.start;
    *ret_len = 0;
    return padding;
}

static void put_csv(struct table *table, bool head)
{
    bool first = true;

    for (unsigned i = 0; i < table->form.n; i++) {
        const struct table_column *column = &table->form.columns[i];
        const char *s;
        size_t len;

        if (!column->name || column->json_only)
            continue;
        if (!first)
            text_put_char(table->out, ',');
        first = false;
        if (head)
            s = make_head(table, column->name, &len);
        else
            s = table_make_shown(table, i, ";", &len);
        csv_put_cell(table->out, s, len);
    }
    text_put_literal(table->out, "\r\n");
}

/* ---- JSON ---- */

static void write_strings(struct table *table, unsigned column)
{
    bool pairs = table->cells[column].kind == TABLE_CELL_PAIRS;
    struct json_writer *w = &table->json;
    const char *s;
    size_t at = 0;

    (pairs ? json_write_object : json_write_array)(w);
    while ((s = table_next_string(table, column, &at))) {
        if (pairs) {
            json_write_key(w, s);
            s = table_next_string(table, column, &at);
        }
        json_write_str(w, s);
    }
    json_write_end(w);
}

static void write_value(struct table *table, unsigned column)
{
    const char *bytes = cell_bytes(table, column);
    size_t len = table->cells[column].len;

    switch (table->cells[column].kind) {
    case TABLE_CELL_STRING: json_write_string(&table->json, bytes, len); break;
    case TABLE_CELL_NUMBER:
    case TABLE_CELL_JSON: json_write_raw(&table->json, bytes, len); break;
    case TABLE_CELL_LIST:
    case TABLE_CELL_PAIRS: write_strings(table, column); break;
    case TABLE_CELL_UNKNOWN: json_write_raw(&table->json, "null", 4); break;
    case TABLE_CELL_NONE: break;
    }
}

static void write_row(struct table *table)
{
    struct json_writer *w = &table->json;
    const char *object = NULL;

    json_write_object(w);
    for (unsigned i = 0; i < table->form.n; i++) {
        const struct table_column *column = &table->form.columns[i];

        if (!column->name || column->csv_only || !table_has_cell(table, i))
            continue;
        if (object && (!column->object || strcmp(object, column->object) != 0)) {
            json_write_end(w);
            object = NULL;
        }
        if (column->object && !object) {
            object = column->object;
            json_write_key(w, object);
            json_write_object(w);
        }
        json_write_key(w, column->key ? column->key : column->name);
        write_value(table, i);
    }
    if (object)
        json_write_end(w);
    json_write_end(w);
    if (w->depth == 0)
        text_put_char(table->out, '\n');
}

/* ---- The table ---- */

static void begin_rows(struct table *table)
{
    if (table->has_head)
        return;
    table->has_head = true;
    if (table->format == TABLE_CSV)
        put_csv(table, true);
    else if (table->format == TABLE_TEXT)
        table_begin_text_rows(table);
}

void table_begin(struct table *table, struct text *out, enum table_format format,
                 const struct table_form *form)
{
    assert(form->n <= TABLE_COLUMNS_MAX);
    *table = (struct table){.out = out,
                            .format = format,
                            .form = *form,
                            .json = {.out = out},
                            .open = form->n,
                            .bytes = TEXT_IN_MEMORY,
                            .scratch = TEXT_IN_MEMORY,
                            .kept = TEXT_IN_MEMORY};
    if (format == TABLE_TEXT)
        table_begin_text(table);
}

void table_end_row(struct table *table)
{
    close_cell(table);
    begin_rows(table);
    if (table->bytes.error)
        return;
    switch (table->format) {
    case TABLE_TEXT: table_put_text_row(table); break;
    case TABLE_JSON: write_row(table); break;
    case TABLE_CSV: put_csv(table, false); break;
    }
    memset(table->cells, 0, table->form.n * sizeof table->cells[0]);
    table->bytes.next = table->bytes.start;
}

int table_end(struct table *table)
{
    int r;

    if (table->format == TABLE_CSV || !table->form.silent_if_empty)
        begin_rows(table);
    if (table->format == TABLE_TEXT)
        table_end_text(table);
    r = table->bytes.error     ? table->bytes.error
        : table->scratch.error ? table->scratch.error
                               : table->kept.error;
    text_done(&table->kept);
    text_done(&table->bytes);
    text_done(&table->scratch);
    return r;
}
