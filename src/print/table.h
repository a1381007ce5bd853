/* SPDX-License-Identifier: MIT */
#pragma once

/* Tables of the commands: text in columns, or comma-separated values (RFC 4180) with a header line. */

#include "base/text.h"

enum table_format {
    TABLE_TEXT,
    TABLE_CSV,
};

struct table_column {
    const char *name; /* in the header */
    /* Text: at least so wide, flush right, after a blank; 0: as wide as it is, flush left, after two blanks. */
    unsigned width;
};

struct table {
    struct text *out;
    enum table_format format;
    const struct table_column *columns;
    unsigned n;
    unsigned at;      /* the column of the next cell */
    struct text cell; /* in memory; what is put here goes to the next cell */
};

/* COLUMNS, N of them, outlive TABLE. Writes the header. */
void table_begin(struct table *table, struct text *out, enum table_format format,
                 const struct table_column *columns, unsigned n);
/* Writes what is in table->cell and empties it. After the last column the line ends. */
void table_next(struct table *table);
/* 0, -ENOMEM. */
int table_end(struct table *table);
