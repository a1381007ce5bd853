/* SPDX-License-Identifier: MIT */
#pragma once

/* Tables of the commands: text for people; JSON, an object per row; comma-separated values (RFC 4180) with a header
 * line. A command declares the columns once, fills the cells of a row in any order, and ends the row; the
 * declaration also says which formats have the column; an unknown value looks the same in all tables. */

#include "base/text.h"
#include "print/json_writer.h"

enum table_format {
    TABLE_TEXT,
    TABLE_JSON,
    TABLE_CSV,
};
/* Their names in this order, then NULL. */
extern const char *const table_formats[];

struct table_column {
    const char *title; /* in the text's heading; NULL: the text has no such column */
    /* In the text. Positive: aligned right in `width` characters, after a blank. Negative: aligned left, padded to
     * -`width` characters, which include the distance to the next column. 0: aligned left, not padded. A column that
     * is aligned left follows two blanks, unless the column before it is padded. */
    int width;
    const char *name;   /* in CSV's header, and JSON's key; NULL: neither has such a column */
    const char *object; /* JSON: within the member of this name, with its neighbours of the same */
    const char *key;    /* JSON: the key; NULL: NAME */
    bool json_only, csv_only;
    bool is_name; /* text: says what a row is of: stands before the others, and is never left out */
    bool is_pair; /* text: is not shown without the column after it, nor that without this one */
    uint8_t rank; /* text, of a line that is limited: the greater, the sooner it is left out */
    uint8_t decimals; /* of a real number in the text */
};

#define TABLE_COLUMNS_MAX 320

struct table_form {
    const struct table_column *columns;
    unsigned n;
    /* The text is a block of lines per row, `  TITLE  VALUE`, with the first column's value above them, in place of
     * a line per row. Values that are not known have no line. */
    bool records;
    bool spreadsheet;     /* CSV: ' before a string that a spreadsheet would run as a formula */
    bool silent_if_empty; /* the text has no heading if there is no row */
    /* The text is written by table_end(): columns are as wide as what is in them, and not narrower than their `width`. */
    bool keeps_rows;
    /* With `keeps_rows`: how many characters a line may have; 0: any number. Columns that do not fit are left out:
     * those without a value first, then by their rank. A line below the table names them. */
    unsigned line_width;
};

enum table_cell_kind {
    TABLE_CELL_NONE, /* `-` in a text's column of some width, nothing elsewhere, no member in JSON */
    TABLE_CELL_UNKNOWN, /* there is a value, which the trace does not tell: `?`, nothing in CSV, null in JSON */
    TABLE_CELL_STRING,
    TABLE_CELL_NUMBER, /* true and false, too */
    TABLE_CELL_JSON,
    TABLE_CELL_LIST,  /* strings, each with its NUL */
    TABLE_CELL_PAIRS, /* keys and values, each with its NUL */
};

struct table {
    struct text *out; /* borrowed; the caller checks its error */
    enum table_format format;
    struct table_form form;
    bool has_head;
    struct json_writer json; /* of OUT; the rows go into the array that is open at the first row */
    struct {
        enum table_cell_kind kind;
        size_t start, len; /* in BYTES */
    } cells[TABLE_COLUMNS_MAX];
    unsigned open; /* the cell that grows */
    struct {
        unsigned order[TABLE_COLUMNS_MAX]; /* columns, from left to right */
        unsigned n;
        struct {
            int width;       /* as in struct table_column */
            unsigned needed; /* characters of the longest cell of rows that are kept */
            bool has_value, is_left_out;
        } columns[TABLE_COLUMNS_MAX];
    } text;
    struct text kept;    /* in memory: rows that wait for table_end(), each cell with its NUL */
    struct text bytes;   /* in memory: the cells of the row */
    struct text scratch; /* in memory: a cell as it is shown */
    struct json_writer cell_json;
};

/* FORM's columns, at most TABLE_COLUMNS_MAX, outlive TABLE. */
void table_begin(struct table *table, struct text *out, enum table_format format,
                 const struct table_form *form);

/* Each sets the cell of a COLUMN, which lasts to the end of the row. A column may be set that the format has not. */

/* What is put to the returned text before the next call is the cell: a string. What a terminal obeys may be in it. */
struct text *table_cell(struct table *table, unsigned column);
/* NULL: there is none. */
void table_str(struct table *table, unsigned column, const char *s);
void table_u64(struct table *table, unsigned column, uint64_t v);
void table_i64(struct table *table, unsigned column, int64_t v);
void table_bool(struct table *table, unsigned column, bool v);
/* Six digits, in the text the column's decimals. */
void table_real(struct table *table, unsigned column, double v);
/* Up to 15 digits; a string if it is not finite. */
void table_double(struct table *table, unsigned column, double v);
/* A list of strings: ["a","b"], `a, b` in text, `a;b` in CSV. The items follow at once. */
void table_list(struct table *table, unsigned column);
void table_list_add(struct table *table, const char *s);
/* Keys and strings: {"key":"value"}, `key: value, …` in text (in records a line each), `key: value;…` in CSV. The
 * pairs follow at once. */
void table_pairs(struct table *table, unsigned column);
void table_pairs_add(struct table *table, const char *key, const char *value);
/* For a column that is `json_only`: what is written before the next call is the value. */
struct json_writer *table_json(struct table *table, unsigned column);

void table_unknown(struct table *table, unsigned column);

void table_end_row(struct table *table);
/* Writes what is missing, and frees. 0, -ENOMEM. */
int table_end(struct table *table);
