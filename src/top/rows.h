/* SPDX-License-Identifier: MIT */
#pragma once

/* A screen as rows of plain text, each with an attribute, for a terminal and for a script alike. What a terminal obeys in
 * names is escaped here (base/printable.h), and what is wider than the screen is cut off. */

#include "base/macro.h"
#include "base/text.h"

enum top_attribute {
    TOP_PLAIN,
    TOP_TITLE,    /* the first row */
    TOP_HEADING,  /* of columns */
    TOP_SELECTED, /* by the cursor */
    TOP_MESSAGE,
};

struct top_row {
    size_t begin, len; /* in TEXT */
    enum top_attribute attribute;
};

struct top_rows {
    struct text text; /* in memory */
    struct top_row *rows;
    unsigned n, room;
    unsigned width;  /* columns; what is beyond is cut off */
    bool is_ascii;   /* only ASCII may be shown */
    struct text row; /* in memory: the row that is being made, which is escaped when it ends */
};

/* Begins a screen anew. */
void top_rows_begin(struct top_rows *rows, unsigned width, bool is_ascii);
void top_rows_done(struct top_rows *rows);
/* Ends the row that was put to rows->row. */
void top_rows_end_row(struct top_rows *rows, enum top_attribute attribute);
/* One row. */
void top_rows_printf(struct top_rows *rows, enum top_attribute attribute, const char *format, ...)
    _printf_(3, 4);
/* Puts S, escaped, cut off or padded to COLUMNS of the screen. */
void top_put_cell(struct top_rows *rows, const char *s, unsigned columns);
/* -ENOMEM if a row is missing. */
int top_rows_error(const struct top_rows *rows);
/* How many columns of a screen LEN bytes of S, escaped text, have; up to MAX of them: *RET_LEN bytes. */
unsigned top_columns(const char *s, size_t len, unsigned max, size_t *ret_len);
