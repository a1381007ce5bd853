/* SPDX-License-Identifier: MIT */
#include "top/rows.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/printable.h"
#include "base/utf8.h"

/* Terminals show East Asian wide characters and emoji in two columns, and combining marks in none. An error here only
 * shifts the rest of the row by one column. */
static unsigned width_of(uint32_t c)
{
    static const struct {
        uint32_t first, last;
        unsigned width;
    } ranges[] = {
        {0x0300, 0x036f, 0},   {0x0483, 0x0489, 0},   {0x0591, 0x05bd, 0},   {0x064b, 0x065f, 0},
        {0x1100, 0x115f, 2},   {0x1ab0, 0x1aff, 0},   {0x1dc0, 0x1dff, 0},   {0x20d0, 0x20ff, 0},
        {0x2329, 0x232a, 2},   {0x2e80, 0x303e, 2},   {0x3041, 0xa4cf, 2},   {0xa960, 0xa97c, 2},
        {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},   {0xfe00, 0xfe0f, 0},   {0xfe10, 0xfe19, 2},
        {0xfe20, 0xfe2f, 0},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},
        {0x1f300, 0x1f64f, 2}, {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2},
    };

    for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return ranges[i].width;
    return 1;
}

unsigned top_columns(const char *s, size_t len, unsigned max, size_t *ret_len)
{
    unsigned columns = 0;
    size_t at = 0;

    while (at < len) {
        uint32_t character;
        size_t n = utf8_decode(s + at, len - at, &character);
        unsigned width = n > 0 ? width_of(character) : 1;

        if (columns + width > max)
            break;
        columns += width;
        at += MAX(n, (size_t)1);
    }
    *ret_len = at;
    return columns;
}

void top_rows_begin(struct top_rows *rows, unsigned width, bool is_ascii)
{
    rows->text.next = rows->text.start;
    rows->row.next = rows->row.start;
    rows->text.fd = rows->row.fd = -1;
    rows->n = 0;
    rows->width = width;
    rows->is_ascii = is_ascii;
}

void top_rows_done(struct top_rows *rows)
{
    text_done(&rows->text);
    text_done(&rows->row);
    free(rows->rows);
    *rows = (struct top_rows){0};
}

static unsigned flags_of(const struct top_rows *rows)
{
    return rows->is_ascii ? PRINTABLE_ASCII : 0;
}

void top_rows_end_row(struct top_rows *rows, enum top_attribute attribute)
{
    size_t begin = text_len(&rows->text), len;

    if (rows->n == rows->room) {
        unsigned room = MAX(rows->room * 2, 64u);
        struct top_row *more = realloc(rows->rows, room * sizeof *more);

        if (!more) {
            rows->text.error = -ENOMEM;
            return;
        }
        rows->rows = more;
        rows->room = room;
    }
    if (rows->row.start)
        printable_put(&rows->text, rows->row.start, text_len(&rows->row), flags_of(rows), true);
    rows->row.next = rows->row.start;
    if (rows->text.start) {
        const char *start = rows->text.start + begin;

        top_columns(start, text_len(&rows->text) - begin, rows->width, &len);
        while (len > 0 && start[len - 1] == ' ')
            len--;
        rows->text.next = rows->text.start + begin + len;
    } else {
        len = 0;
    }
    rows->rows[rows->n++] = (struct top_row){begin, len, attribute};
}

void top_rows_printf(struct top_rows *rows, enum top_attribute attribute, const char *format, ...)
{
    char line[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    text_put_str(&rows->row, line);
    top_rows_end_row(rows, attribute);
}

void top_put_cell(struct top_rows *rows, const char *s, unsigned columns)
{
    struct text safe = TEXT_IN_MEMORY;
    unsigned used = 0;
    size_t len = 0;

    printable_put(&safe, s, strlen(s), flags_of(rows), true);
    if (safe.start)
        used = top_columns(safe.start, text_len(&safe), columns, &len);
    if (len > 0)
        text_put(&rows->row, safe.start, len);
    for (; used < columns; used++)
        text_put_char(&rows->row, ' ');
    if (safe.error)
        rows->row.error = safe.error;
    text_done(&safe);
}

int top_rows_error(const struct top_rows *rows)
{
    return rows->text.error ? rows->text.error : rows->row.error;
}
