/* SPDX-License-Identifier: MIT */
#include "print/table.h"

#include <string.h>

static const char *cell_text(const struct table *table)
{
    return table->cell.start ? table->cell.start : "";
}

static void put_text_cell(struct table *table)
{
    unsigned width = table->columns[table->at].width;
    size_t len = text_len(&table->cell);

    if (table->at > 0)
        text_put_str(table->out, width ? " " : "  ");
    for (size_t i = len; i < width; i++)
        text_put_char(table->out, ' ');
    text_put(table->out, cell_text(table), len);
}

static void put_csv_cell(struct table *table)
{
    const char *s = cell_text(table);
    size_t len = text_len(&table->cell);
    bool quoted = false;

    for (size_t i = 0; i < len && !quoted; i++)
        quoted = s[i] == '"' || s[i] == ',' || s[i] == '\n' || s[i] == '\r';
    if (table->at > 0)
        text_put_char(table->out, ',');
    if (!quoted) {
        text_put(table->out, s, len);
        return;
    }
    text_put_char(table->out, '"');
    for (size_t i = 0; i < len; i++) {
        if (s[i] == '"')
            text_put_char(table->out, '"');
        text_put_char(table->out, s[i]);
    }
    text_put_char(table->out, '"');
}

void table_next(struct table *table)
{
    if (table->format == TABLE_CSV)
        put_csv_cell(table);
    else
        put_text_cell(table);
    table->cell.next = table->cell.start;
    if (++table->at < table->n)
        return;
    text_put_str(table->out, table->format == TABLE_CSV ? "\r\n" : "\n");
    table->at = 0;
}

void table_begin(struct table *table, struct text *out, enum table_format format,
                 const struct table_column *columns, unsigned n)
{
    *table = (struct table){
        .out = out, .format = format, .columns = columns, .n = n, .cell = TEXT_IN_MEMORY};
    for (unsigned i = 0; i < n; i++) {
        text_put_str(&table->cell, columns[i].name);
        table_next(table);
    }
}

int table_end(struct table *table)
{
    int r = table->cell.error;

    text_done(&table->cell);
    return r;
}
