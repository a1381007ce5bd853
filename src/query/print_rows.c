/* SPDX-License-Identifier: MIT */
/* Prints the rows of a query by the table printer. The first rows are held back to find the widths of columns. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/macro.h"
#include "query/print_rows.h"

#define HELD_ROWS 500
#define HELD_BYTES ((size_t)4 << 20)
#define WIDTH_MAX 60

/* A row that is held back. */
struct held_row {
    struct held_row *next;
    sqlite3_value *values[];
};

struct printing {
    struct table table;
    struct table_column *columns;
    char **names;
    unsigned n;
    struct held_row *first, *last;
    unsigned n_held;
    size_t held_bytes;
    struct {
        unsigned width;
        bool has_text;
    } * widths;
};

static bool is_taken(const struct printing *printing, unsigned n, const char *name)
{
    for (unsigned i = 0; i < n; i++)
        if (strcasecmp(printing->names[i], name) == 0)
            return true;
    return false;
}

/* Makes the columns. Each name is on one line and unique, because JSON uses names as keys. */
static int make_columns(struct printing *printing, sqlite3_stmt *statement)
{
    for (unsigned i = 0; i < printing->n; i++) {
        const char *wanted = sqlite3_column_name(statement, (int)i);
        size_t size = (wanted ? strlen(wanted) : 0) + 12;
        char *name = malloc(size);

        if (!wanted || !name) {
            free(name);
            return -ENOMEM;
        }
        printing->names[i] = name;
        snprintf(name, size, "%s", wanted);
        for (unsigned k = 2; is_taken(printing, i, name); k++)
            snprintf(name, size, "%s_%u", wanted, k);
        for (char *p = name; *p; p++)
            *p = iscntrl((unsigned char)*p) ? ' ' : *p;
        printing->columns[i] = (struct table_column){.title = name, .name = name};
    }
    return 0;
}

static void free_printing(struct printing *printing)
{
    while (printing->first) {
        struct held_row *row = printing->first;

        printing->first = row->next;
        for (unsigned i = 0; i < printing->n; i++)
            sqlite3_value_free(row->values[i]);
        free(row);
    }
    for (unsigned i = 0; printing->names && i < printing->n; i++)
        free(printing->names[i]);
    free(printing->names);
    free(printing->columns);
    free(printing->widths);
}

static void put_cell(struct table *table, unsigned column, sqlite3_value *value)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes;
    struct text *cell;
    int n;

    switch (sqlite3_value_type(value)) {
    case SQLITE_NULL: return;
    case SQLITE_INTEGER: table_i64(table, column, sqlite3_value_int64(value)); return;
    case SQLITE_FLOAT: table_double(table, column, sqlite3_value_double(value)); return;
    case SQLITE_TEXT:
        bytes = sqlite3_value_text(value);
        cell = table_cell(table, column);
        if (bytes)
            text_put(cell, (const char *)bytes, (size_t)sqlite3_value_bytes(value));
        return;
    default: break;
    }
    bytes = sqlite3_value_blob(value);
    n = sqlite3_value_bytes(value);
    cell = table_cell(table, column);
    for (int i = 0; i < n; i++) {
        text_put_char(cell, digits[bytes[i] >> 4]);
        text_put_char(cell, digits[bytes[i] & 15]);
    }
}

/* The approximate width of VALUE in characters. */
static unsigned width_of(sqlite3_value *value)
{
    char number[40];
    int n;

    switch (sqlite3_value_type(value)) {
    case SQLITE_NULL: return 1;
    case SQLITE_INTEGER:
        return (unsigned)snprintf(number, sizeof number, "%lld",
                                  (long long)sqlite3_value_int64(value));
    case SQLITE_FLOAT:
        return (unsigned)snprintf(number, sizeof number, "%.17g", sqlite3_value_double(value));
    case SQLITE_BLOB: n = 2 * sqlite3_value_bytes(value); break;
    default: n = sqlite3_value_bytes(value);
    }
    return n > WIDTH_MAX ? WIDTH_MAX : (unsigned)n;
}

static int hold_row(struct printing *printing, sqlite3_stmt *statement)
{
    struct held_row *row = calloc(1, sizeof *row + printing->n * sizeof(sqlite3_value *));

    if (!row)
        return -ENOMEM;
    *(printing->last ? &printing->last->next : &printing->first) = row;
    printing->last = row;
    printing->n_held++;
    for (unsigned i = 0; i < printing->n; i++) {
        sqlite3_value *value = sqlite3_column_value(statement, (int)i);
        int type = sqlite3_value_type(value);

        row->values[i] = sqlite3_value_dup(value);
        if (!row->values[i])
            return -ENOMEM;
        printing->held_bytes += (size_t)sqlite3_value_bytes(row->values[i]);
        printing->widths[i].width = MAX(printing->widths[i].width, width_of(row->values[i]));
        printing->widths[i].has_text |= type == SQLITE_TEXT || type == SQLITE_BLOB;
    }
    return 0;
}

/* Begins the table with the held rows. */
static void release_rows(struct printing *printing, const struct query_printing *options)
{
    const struct table_form form = {
        .columns = printing->columns, .n = printing->n, .spreadsheet = options->spreadsheet};

    for (unsigned i = 0; i < printing->n; i++) {
        struct table_column *column = &printing->columns[i];
        unsigned width = MAX(printing->widths[i].width, (unsigned)strlen(column->title));

        if (!printing->widths[i].has_text)
            column->width = (int)MIN(width + (i > 0), 40u);
        else if (i + 1 < printing->n)
            column->width = -(int)(MIN(width, (unsigned)WIDTH_MAX) + 2);
    }
    if (options->begin)
        options->begin(options->arg);
    table_begin(&printing->table, options->out, options->format, &form);
    for (const struct held_row *row = printing->first; row; row = row->next) {
        for (unsigned i = 0; i < printing->n; i++)
            put_cell(&printing->table, i, row->values[i]);
        table_end_row(&printing->table);
    }
}

static int print_rows(struct printing *printing, const struct query_printing *options,
                      sqlite3_stmt *statement, struct error *error)
{
    bool holds = options->format == TABLE_TEXT;
    int r;

    if (!holds)
        release_rows(printing, options);
    while ((r = query_step(options->query, statement, error)) > 0 && !options->out->error) {
        if (holds) {
            r = hold_row(printing, statement);
            if (r < 0)
                break;
            if (printing->n_held < HELD_ROWS && printing->held_bytes < HELD_BYTES)
                continue;
            release_rows(printing, options);
            holds = false;
            continue;
        }
        for (unsigned i = 0; i < printing->n; i++)
            put_cell(&printing->table, i, sqlite3_column_value(statement, (int)i));
        table_end_row(&printing->table);
    }
    /* A query that failed at once has no answer, not even an empty one. */
    if (holds && (r == 0 || printing->n_held > 0)) {
        release_rows(printing, options);
        holds = false;
    }
    if (!holds && table_end(&printing->table) < 0 && r == 0)
        r = -ENOMEM;
    return r > 0 ? 0 : r;
}

int query_print_rows(const struct query_printing *options, sqlite3_stmt *statement,
                     struct error *error)
{
    struct printing printing = {.n = (unsigned)sqlite3_column_count(statement)};
    int r;

    if (printing.n > TABLE_COLUMNS_MAX)
        return error_set(error, -EINVAL, NULL, "%u columns; at most %d can be shown", printing.n,
                         TABLE_COLUMNS_MAX);
    printing.names = calloc(printing.n + 1, sizeof *printing.names);
    printing.columns = calloc(printing.n + 1, sizeof *printing.columns);
    printing.widths = calloc(printing.n + 1, sizeof *printing.widths);
    r = printing.names && printing.columns && printing.widths ? make_columns(&printing, statement)
                                                              : -ENOMEM;
    if (r == 0)
        r = print_rows(&printing, options, statement, error);
    free_printing(&printing);
    return r == -ENOMEM ? error_set(error, -ENOMEM, NULL, "out of memory") : r;
}
