/* SPDX-License-Identifier: MIT */
#pragma once

/* The inside of an exported database: what rows (sqlite.c) and the library's calls (database.c) share. A function that returns int returns 0, or a negative errno with the sink's error. */

#include "export/export.h"
#include "export/sqlite/batch.h"
#include "tables/sink.h"

/* Of `PRAGMA user_version`: goes up when a table or column goes or means something else. */
#define SQLITE_SCHEMA_VERSION 3

/* The events on their way into a table. */
struct sqlite_rows {
    struct event_table *table;
    struct sqlite_rows *next; /* in the order in which they came */
    const char *name;         /* of the table in the database */
    sqlite3_stmt *insert;     /* NULL: not made yet */
    struct sqlite_chain chain;
    unsigned source;  /* the number of the origin that most events have */
    unsigned columns; /* those that an event had so far (put_insert()) */
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
    sqlite3_stmt *inserts[FIXED_TABLES]; /* NULL: not made yet */
};

/* The error for CODE, which a call of SQLite returned. */
int sqlite_failed(struct sqlite *db, int code);

/* Opens the file, begins the transaction and makes the tables that every database has. */
int sqlite_open_database(struct sqlite *db);

int sqlite_execute(struct sqlite *db, const char *sql);
/* Runs SQL, which it frees. */
int sqlite_execute_text(struct sqlite *db, struct text *sql);

int sqlite_prepare(struct sqlite *db, const char *sql, sqlite3_stmt **ret);
/* Runs a statement that returns no rows, and makes it ready for the next time. */
int sqlite_run(struct sqlite *db, sqlite3_stmt *statement);
