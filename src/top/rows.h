/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes a screen as rows of plain text with attributes, for terminals and scripts. Escapes control characters in names
 * (base/printable.h), and cuts rows at the width of the screen. */

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
    size_t begin, len; /* in `text` */
    enum top_attribute attribute;
};

struct top_rows {
    struct text text; /* in memory */
    struct top_row *rows;
    unsigned n, room;
    unsigned width;  /* in columns; longer rows are cut */
    bool is_ascii;   /* only ASCII may be shown */
    struct text row; /* in memory: the current row, which is escaped when it ends */
};

/* Begins a new screen. */
void top_rows_begin(struct top_rows *rows, unsigned width, bool is_ascii);
void top_rows_done(struct top_rows *rows);
/* Ends the row that was put to rows->row. */
void top_rows_end_row(struct top_rows *rows, enum top_attribute attribute);
/* Makes one row. */
void top_rows_printf(struct top_rows *rows, enum top_attribute attribute, const char *format, ...)
    _printf_(3, 4);
/* Puts S, escaped, cut off or padded to COLUMNS. */
void top_put_cell(struct top_rows *rows, const char *s, unsigned columns);
/* -ENOMEM if a row is missing. */
int top_rows_error(const struct top_rows *rows);
/* Returns how many columns LEN bytes of S, escaped text, take, at most MAX. *RET_LEN: the number of bytes in them. */
unsigned top_columns(const char *s, size_t len, unsigned max, size_t *ret_len);
