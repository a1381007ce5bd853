/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes a Parquet file. Rows are held in memory until they make a row group. Between row groups, no file is open. */

#include <zstd.h>

#include "base/error.h"
#include "base/text.h"
#include "tables/columns.h"

#define PARQUET_ROWS_MAX (1u << 17) /* in a row group */

struct parquet_column {
    const char *name; /* outlives the file */
    enum column_type type;
    bool nullable;
    struct text nulls;   /* nullable column: a byte for each row, 1 if it has a value */
    struct text values;  /* numbers of 64 bits; or the bytes of texts */
    struct text lengths; /* of texts, as u32 */
};

/* What all files share. */
struct parquet_writer {
    ZSTD_CCtx *zstd;
    uint32_t *indices; /* of a dictionary, one for each row */
    uint32_t *slots;   /* of the dictionary's hash table */
    struct text page, compressed;
};

struct parquet_file {
    struct parquet_column *columns; /* malloc()ed */
    unsigned n_columns;
    uint32_t n_rows;   /* held rows */
    size_t size;       /* held bytes */
    uint64_t n_total;  /* all rows */
    uint64_t offset;   /* bytes written */
    struct text group; /* metadata of the row groups */
    unsigned n_groups;
    char *path; /* malloc()ed */
};

struct parquet_fact {
    const char *key, *value;
};

/* -ENOMEM. Call parquet_writer_done() in any case. */
int parquet_writer_init(struct parquet_writer *writer);
void parquet_writer_done(struct parquet_writer *writer);

/* Adds CELL to column NUMBER. The caller adds a cell to each column, and increments n_rows after each row. */
void parquet_put(struct parquet_file *file, unsigned number, const struct value *cell);

/* Writes the held rows to the file, whose path is relative to the directory DIR. 0, or a negative errno. */
int parquet_flush(struct parquet_writer *writer, struct parquet_file *file, int dir);
/* Writes the held rows and the end of the file. */
int parquet_finish(struct parquet_writer *writer, struct parquet_file *file, int dir,
                   const struct parquet_fact *facts, unsigned n_facts);
void parquet_file_done(struct parquet_file *file);
