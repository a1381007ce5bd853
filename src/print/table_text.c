/* SPDX-License-Identifier: MIT */
/* Prints tables as text. A table that keeps its rows is laid out at its end: the widths of columns, and which columns
 * fit. */

#include <limits.h>
#include <string.h>

#include "base/printable.h"
#include "print/table_internal.h"

/* Longer names do not widen their column. */
#define NAME_WIDTH_MAX 40u

static void put_blanks(struct text *out, size_t n)
{
    while (n-- > 0)
        text_put_char(out, ' ');
}

/* The number of characters of S when printed. */
static size_t count_characters(const struct table *table, const char *s, size_t len)
{
    return printable_characters(s, len, table->out->passes);
}

/* ---- A line ---- */

struct line {
    struct table *table;
    bool has_cell, is_padded; /* about the previous cell */
    size_t blanks;            /* before the next cell; lines do not end with blanks */
};

static void put_cell(struct line *line, unsigned column, const char *s, size_t len)
{
    int declared = line->table->text.columns[column].width;
    size_t width = (size_t)(declared < 0 ? -declared : declared);
    size_t characters;

    while (len > 0 && declared <= 0 && s[len - 1] == ' ') /* of a sparkline */
        len--;
    characters = count_characters(line->table, s, len);
    if (len == 0 && declared == 0)
        return;
    if (line->has_cell && !line->is_padded)
        line->blanks += declared > 0 ? 1 : 2;
    if (declared > 0 && characters < width)
        line->blanks += width - characters;
    put_blanks(line->table->out, line->blanks);
    text_put(line->table->out, s, len);
    line->blanks = declared < 0 ? MAX(width, characters + 1) - characters : 0;
    line->has_cell = true;
    line->is_padded = declared < 0;
}

static void put_head(struct table *table)
{
    struct line line = {.table = table};
    bool empty = true;

    for (unsigned i = 0; i < table->text.n; i++)
        empty = empty && !*table->form.columns[table->text.order[i]].title;
    if (empty)
        return;
    for (unsigned i = 0; i < table->text.n; i++) {
        unsigned column = table->text.order[i];
        const char *title = table->form.columns[column].title;

        if (!table->text.columns[column].is_left_out)
            put_cell(&line, column, title, strlen(title));
    }
    text_put_char(table->out, '\n');
}

/* Returns what the line of a row has in COLUMN. */
static const char *make_cell(struct table *table, unsigned column, size_t *ret_len)
{
    if (table_has_cell(table, column) || table->form.columns[column].width == 0)
        return table_make_shown(table, column, ", ", ret_len);
    *ret_len = 1;
    return "-";
}

static void put_line(struct table *table)
{
    struct line line = {.table = table};

    for (unsigned i = 0; i < table->text.n; i++) {
        size_t len;
        const char *s = make_cell(table, table->text.order[i], &len);

        put_cell(&line, table->text.order[i], s, len);
    }
    text_put_char(table->out, '\n');
}

/* ---- Rows that are kept ---- */

static void keep_row(struct table *table)
{
    for (unsigned i = 0; i < table->text.n; i++) {
        unsigned column = table->text.order[i];
        unsigned *needed = &table->text.columns[column].needed;
        size_t len;
        const char *s = make_cell(table, column, &len);

        table->text.columns[column].has_value |= table_has_cell(table, column);
        *needed = (unsigned)MAX((size_t)*needed, count_characters(table, s, len));
        text_put(&table->kept, s, len);
        text_put_char(&table->kept, '\0');
    }
}

static void widen_columns(struct table *table)
{
    for (unsigned i = 0; i < table->text.n; i++) {
        unsigned column = table->text.order[i];
        const struct table_column *declared = &table->form.columns[column];
        unsigned *needed = &table->text.columns[column].needed;
        int *width = &table->text.columns[column].width;

        *needed = MAX(*needed, (unsigned)strlen(declared->title));
        if (declared->is_name)
            *needed = MIN(*needed, NAME_WIDTH_MAX);
        if (*width > 0)
            *width = MAX(*width, (int)*needed);
        else if (*width < 0)
            *width = MIN(*width, -(int)*needed - 2);
    }
}

/* The characters that COLUMN takes in a line. */
static unsigned width_of(const struct table *table, unsigned column)
{
    int width = table->text.columns[column].width;

    if (width < 0)
        return (unsigned)-width;
    return width > 0 ? (unsigned)width + 1 : table->text.columns[column].needed + 2;
}

static unsigned rank_of(const struct table *table, unsigned column)
{
    if (table->form.columns[column].is_name)
        return 0;
    return table->text.columns[column].has_value ? table->form.columns[column].rank : UINT_MAX;
}

/* Leaves out what does not fit, beginning with the most important columns. If any column is left out, columns without
 * values are, too. */
static void fit_columns(struct table *table)
{
    bool is_weighed[TABLE_COLUMNS_MAX] = {false};
    bool is_full = false;
    unsigned used = 0;

    for (unsigned n = 0; n < table->text.n; n++) {
        unsigned column = UINT_MAX;

        for (unsigned i = 0; i < table->text.n; i++) {
            unsigned other = table->text.order[i];

            if (!is_weighed[other] &&
                (column == UINT_MAX || rank_of(table, other) < rank_of(table, column)))
                column = other;
        }
        is_weighed[column] = true;
        if (rank_of(table, column) == 0 ||
            (used + width_of(table, column) <= table->form.line_width &&
             !(is_full && !table->text.columns[column].has_value)))
            used += width_of(table, column);
        else
            table->text.columns[column].is_left_out = is_full = true;
    }
    for (unsigned i = 0; i + 1 < table->text.n; i++) {
        bool *first = &table->text.columns[table->text.order[i]].is_left_out;
        bool *second = &table->text.columns[table->text.order[i + 1]].is_left_out;

        if (table->form.columns[table->text.order[i]].is_pair)
            *first = *second = *first || *second;
    }
}

static void put_kept_rows(struct table *table)
{
    const char *s = table->kept.start, *end = table->kept.next;

    while (s < end && !table->kept.error) {
        struct line line = {.table = table};

        for (unsigned i = 0; i < table->text.n; i++) {
            unsigned column = table->text.order[i];
            size_t len = strlen(s);

            if (!table->text.columns[column].is_left_out)
                put_cell(&line, column, s, len);
            s += len + 1;
        }
        text_put_char(table->out, '\n');
    }
}

static void put_left_out(struct table *table)
{
    bool any = false;

    for (unsigned i = 0; i < table->text.n; i++) {
        unsigned column = table->text.order[i];

        if (!table->text.columns[column].is_left_out)
            continue;
        text_put_str(table->out, any ? ", " : "--wide also shows ");
        text_put_safe_str(table->out, table->form.columns[column].title);
        any = true;
    }
    if (any)
        text_put_char(table->out, '\n');
}

/* ---- A line per cell ---- */

static size_t title_width(const struct table *table)
{
    size_t width = 0;

    for (unsigned i = 1; i < table->form.n; i++) {
        const struct table_column *column = &table->form.columns[i];
        const char *key;
        size_t at = 0;

        if (column->title)
            width = MAX(width, MAX(strlen(column->title), (size_t)MAX(column->width, 0)));
        if (!column->title || table->cells[i].kind != TABLE_CELL_PAIRS)
            continue;
        while ((key = table_next_string(table, i, &at))) {
            width = MAX(width, strlen(key));
            (void)table_next_string(table, i, &at);
        }
    }
    return width;
}

static void put_title(struct table *table, size_t width, const char *title)
{
    text_printf_safe(table->out, "  %-*s  ", (int)width, title);
}

static void put_record_pairs(struct table *table, size_t width, unsigned column)
{
    const char *key;
    size_t at = 0;

    while ((key = table_next_string(table, column, &at))) {
        put_title(table, width, key);
        text_put_safe_str(table->out, table_next_string(table, column, &at));
        text_put_char(table->out, '\n');
    }
}

static void put_record(struct table *table)
{
    size_t width = title_width(table);

    for (unsigned i = 0; i < table->form.n; i++) {
        const struct table_column *column = &table->form.columns[i];
        const char *s;
        size_t len;

        if (!column->title || !table_has_cell(table, i))
            continue;
        if (table->cells[i].kind == TABLE_CELL_PAIRS) {
            put_record_pairs(table, width, i);
            continue;
        }
        if (i > 0)
            put_title(table, width, column->title);
        s = table_make_shown(table, i, ", ", &len);
        text_put(table->out, s, len);
        text_put_char(table->out, '\n');
    }
}

/* ---- The table ---- */

void table_begin_text(struct table *table)
{
    for (unsigned names = 2; names-- > 0;)
        for (unsigned i = 0; i < table->form.n; i++)
            if (table->form.columns[i].title && table->form.columns[i].is_name == names)
                table->text.order[table->text.n++] = i;
    for (unsigned i = 0; i < table->form.n; i++)
        table->text.columns[i].width = table->form.columns[i].width;
}

void table_begin_text_rows(struct table *table)
{
    if (!table->form.records && !table->form.keeps_rows)
        put_head(table);
}

void table_put_text_row(struct table *table)
{
    if (table->form.records)
        put_record(table);
    else if (table->form.keeps_rows)
        keep_row(table);
    else
        put_line(table);
}

void table_end_text(struct table *table)
{
    if (!table->form.keeps_rows || !table->has_head)
        return;
    widen_columns(table);
    if (table->form.line_width > 0)
        fit_columns(table);
    put_head(table);
    put_kept_rows(table);
    put_left_out(table);
}
