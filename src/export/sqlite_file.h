/* SPDX-License-Identifier: MIT */
#pragma once

/* Database files of SQLite 3, written from first page to last by one who only appends rows; a tenth of
 * the time that its library takes to insert them. The byte tables stand in sqlite_file.c. */

#include "base/text.h"

struct sqlite_level;

/* A table that grows. Zeroed: empty. */
struct sqlite_table {
    struct sqlite_level *leaf;
    struct sqlite_level *levels[8]; /* above the leaves; NULL: not needed yet */
    int64_t last;                   /* rowid of the last row */
    uint32_t root;                  /* once it is finished */
};

/* A row that is being put together. */
struct sqlite_row {
    struct text types; /* varints */
    struct text body;
};

struct sqlite_file {
    int fd;           /* borrowed */
    struct text out;  /* all pages behind the first */
    uint32_t n_pages; /* that have numbers */
    struct sqlite_table schema;
    int64_t n_schema;
    struct sqlite_row row; /* for the caller, too */
};

/* FD: an empty file, at its start. -ENOMEM. */
int sqlite_file_open(int fd, struct sqlite_file *ret);
void sqlite_file_done(struct sqlite_file *file);

static inline void sqlite_row_begin(struct sqlite_row *row)
{
    row->types.next = row->types.start;
    row->body.next = row->body.start;
}

/* Columns in order; an INTEGER PRIMARY KEY is a null. */
void sqlite_row_null(struct sqlite_row *row);
void sqlite_row_integer(struct sqlite_row *row, int64_t v);
void sqlite_row_real(struct sqlite_row *row, uint64_t bits);
void sqlite_row_text(struct sqlite_row *row, const char *s, size_t len);
void sqlite_row_blob(struct sqlite_row *row, const void *p, size_t len);

/* Appends file->row to TABLE; ROWID is higher than all before. -ENOMEM. */
int sqlite_put_row(struct sqlite_file *file, struct sqlite_table *table, int64_t rowid);

/* Writes what is left of TABLE, frees it, and sets its root. -ENOMEM. */
int sqlite_table_finish(struct sqlite_file *file, struct sqlite_table *table);
void sqlite_table_done(struct sqlite_table *table);

/* Lists a table or view in the schema; TYPE "table" or "view" (ROOT 0). -ENOMEM. */
int sqlite_put_schema(struct sqlite_file *file, const char *type, const char *name, uint32_t root,
                      const char *sql, size_t len);

/* Writes what is left, and the first page. An errno. */
int sqlite_file_finish(struct sqlite_file *file, uint32_t user_version);
