/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints the tables of commands: text for people; JSON, an object per row; comma-separated values (RFC 4180) with a
 * header line. A command declares the columns once, fills the cells of a row in any order, and ends the row. The
 * declaration also tells which formats have a column. Unknown values look the same in all tables. */

#include "base/text.h"
#include "print/json_writer.h"

enum table_format {
    TABLE_TEXT,
    TABLE_JSON,
    TABLE_CSV,
};
/* Their names in this order, terminated by NULL. */
extern const char *const table_formats[];

struct table_column {
    const char *title; /* in the text's heading; NULL: not in text */
    /* Width in text. Positive: right-aligned in `width` characters, after a blank. Negative: left-aligned, padded to
     * -`width` characters, which include the distance to the next column. 0: left-aligned, not padded. A left-aligned
     * column follows two blanks, unless the previous column is padded. */
    int width;
    const char *name; /* in CSV's header, and JSON's key; NULL: in neither */
    /* JSON: the member that contains it, with adjacent columns of the same object */
    const char *object;
    const char *key; /* JSON: the key; NULL: `name` */
    bool json_only, csv_only;
    bool is_name; /* text: names the row; printed before other columns, and never left out */
    /* Text: shown only together with the next column, and the next column only with this one. */
    bool is_pair;
    uint8_t rank;     /* text with limited width: columns with greater ranks are left out first */
    uint8_t decimals; /* of a real number in text */
};

#define TABLE_COLUMNS_MAX 320

struct table_form {
    const struct table_column *columns;
    unsigned n;
    /* Text has a block of lines `  TITLE  VALUE` per row, below the first column's value, instead of one line. Unknown
     * values have no line. */
    bool records;
    bool spreadsheet;     /* CSV: ' before a string that a spreadsheet would read as a formula */
    bool silent_if_empty; /* text without rows has no heading */
    /* table_end() writes the text. Columns are as wide as their contents, at least their `width`. */
    bool keeps_rows;
    /* With `keeps_rows`: the characters of a line; 0: unlimited. Columns that do not fit are left out, first columns
     * without values, then by rank. A line below the table names them. */
    unsigned line_width;
};

enum table_cell_kind {
    /* Not applicable: `-` in a column of text with a width, nothing elsewhere, no member in JSON. */
    TABLE_CELL_NONE,
    /* There is a value, but it is unknown: `?` in text, nothing in CSV, null in JSON. */
    TABLE_CELL_UNKNOWN,
    TABLE_CELL_STRING,
    TABLE_CELL_NUMBER, /* also true and false */
    TABLE_CELL_JSON,
    TABLE_CELL_LIST,  /* strings, each with a NUL */
    TABLE_CELL_PAIRS, /* keys and values, each with a NUL */
};

struct table {
    struct text *out; /* borrowed; the caller checks its error */
    enum table_format format;
    struct table_form form;
    bool has_head;
    /* On `out`; the rows go into the array that is open at the first row. */
    struct json_writer json;
    struct {
        enum table_cell_kind kind;
        size_t start, len; /* in `bytes` */
    } cells[TABLE_COLUMNS_MAX];
    unsigned open; /* the cell that is being written */
    struct {
        unsigned order[TABLE_COLUMNS_MAX]; /* columns, from left to right */
        unsigned n;
        struct {
            int width;       /* as in struct table_column */
            unsigned needed; /* characters of the longest cell in the kept rows */
            bool has_value, is_left_out;
        } columns[TABLE_COLUMNS_MAX];
    } text;
    struct text kept;    /* in memory: rows that wait for table_end(), each cell with a NUL */
    struct text bytes;   /* in memory: the cells of the row */
    struct text scratch; /* in memory: the shown form of a cell */
    struct json_writer cell_json;
};

/* The columns of FORM, at most TABLE_COLUMNS_MAX, outlive TABLE. */
void table_begin(struct table *table, struct text *out, enum table_format format,
                 const struct table_form *form);

/* Each function sets the cell of COLUMN, until the end of the row. Columns that the format does not have may be set,
 * too. */

/* The text that is put to the result before the next call is the cell: a string. It may contain control characters. */
struct text *table_cell(struct table *table, unsigned column);
/* S NULL: no cell. */
void table_str(struct table *table, unsigned column, const char *s);
void table_u64(struct table *table, unsigned column, uint64_t v);
void table_i64(struct table *table, unsigned column, int64_t v);
void table_bool(struct table *table, unsigned column, bool v);
/* Six digits; in text, the column's decimals. */
void table_real(struct table *table, unsigned column, double v);
/* Up to 15 digits; a string if it is not finite. */
void table_double(struct table *table, unsigned column, double v);
/* A list of strings: ["a","b"] in JSON, `a, b` in text, `a;b` in CSV. Add the strings directly after. */
void table_list(struct table *table, unsigned column);
void table_list_add(struct table *table, const char *s);
/* Keys and strings: {"key":"value"} in JSON, `key: value, …` in text (with `records`, a line each), `key: value;…` in
 * CSV. Add the pairs directly after. */
void table_pairs(struct table *table, unsigned column);
void table_pairs_add(struct table *table, const char *key, const char *value);
/* For a `json_only` column: what is written before the next call is the value. */
struct json_writer *table_json(struct table *table, unsigned column);

void table_unknown(struct table *table, unsigned column);

void table_end_row(struct table *table);
/* Writes the rest, and frees the table. 0, -ENOMEM. */
int table_end(struct table *table);
