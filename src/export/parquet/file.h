/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes a Parquet file: rows are held until they make a row group. Between two row groups no descriptor is open. */

#include <zstd.h>

#include "base/error.h"
#include "base/text.h"
#include "tables/columns.h"

#define PARQUET_ROWS_MAX (1u << 17) /* of a row group */

struct parquet_column {
    const char *name; /* outlives the file */
    enum column_type type;
    bool nullable;
    struct text nulls;   /* a byte for each row: 1 if it has a value; of a nullable column */
    struct text values;  /* numbers of 64 bits; of texts, their bytes */
    struct text lengths; /* of texts: u32 each */
};

/* What all files share. */
struct parquet_writer {
    ZSTD_CCtx *zstd;
    uint32_t *indices; /* of a dictionary: one for each row */
    uint32_t *slots;   /* of its hash table */
    struct text page, compressed;
};

struct parquet_file {
    struct parquet_column *columns; /* malloc()ed */
    unsigned n_columns;
    uint32_t n_rows;   /* held */
    size_t size;       /* bytes held */
    uint64_t n_total;  /* rows */
    uint64_t offset;   /* bytes written */
    struct text group; /* metadata of the row groups */
    unsigned n_groups;
    char *path; /* malloc()ed */
};

struct parquet_fact {
    const char *key, *value;
};

/* -ENOMEM; parquet_writer_done() either way. */
int parquet_writer_init(struct parquet_writer *writer);
void parquet_writer_done(struct parquet_writer *writer);

/* Adds CELL to column NUMBER. The caller adds a cell to each column, and one to n_rows when the row is complete. */
void parquet_put(struct parquet_file *file, unsigned number, const struct value *cell);

/* Writes the rows that are held, relative to the directory DIR. 0, or a negative errno. */
int parquet_flush(struct parquet_writer *writer, struct parquet_file *file, int dir);
/* The same, and the end of the file. */
int parquet_finish(struct parquet_writer *writer, struct parquet_file *file, int dir,
                   const struct parquet_fact *facts, unsigned n_facts);
void parquet_file_done(struct parquet_file *file);
