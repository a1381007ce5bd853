/* SPDX-License-Identifier: MIT */
#pragma once

/* An exported database: what rows (sqlite.c) and the library's calls (database.c) share. Functions that return int
 * return 0, or a negative errno with the sink's error. */

#include "export/export.h"
#include "export/sqlite/batch.h"
#include "tables/sink.h"

/* `PRAGMA user_version`. Increment it when a table or column is removed or changes its meaning. */
#define SQLITE_SCHEMA_VERSION 3

/* Events that wait to be inserted into a table. */
struct sqlite_rows {
    struct event_table *table;
    struct sqlite_rows *next; /* in the order of their first events */
    const char *name;         /* of the table in the database */
    sqlite3_stmt *insert;     /* NULL before it is made */
    struct sqlite_chain chain;
    unsigned source;  /* number of the origin of most events */
    unsigned columns; /* columns that an event had so far (put_insert()) */
    unsigned insert_columns;
    bool made; /* the table is created */
};

struct sqlite {
    struct sink sink;
    const struct export_options *options;
    sqlite3 *db;
    struct sink *tables; /* makes the rows */
    struct sqlite_batch batch;
    struct arena arena;
    struct sqlite_rows *first, *last;
    sqlite3_stmt *inserts[FIXED_TABLES]; /* NULL before they are made */
};

/* Sets the error for CODE, the result of a call of SQLite. */
int sqlite_failed(struct sqlite *db, int code);

/* Opens the file, begins the transaction, and makes the tables that every database has. */
int sqlite_open_database(struct sqlite *db);

int sqlite_execute(struct sqlite *db, const char *sql);
/* Runs SQL and frees it. */
int sqlite_execute_text(struct sqlite *db, struct text *sql);

int sqlite_prepare(struct sqlite *db, const char *sql, sqlite3_stmt **ret);
/* Runs a statement that returns no rows, and resets it. */
int sqlite_run(struct sqlite *db, sqlite3_stmt *statement);
