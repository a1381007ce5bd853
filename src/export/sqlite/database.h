/* SPDX-License-Identifier: MIT */
#pragma once

/* The inside of an exported database: what rows (sqlite.c), the tables that describe the export (metadata.c) and the
 * views (views.c) share. A function that returns int returns 0, or a negative errno with the sink's error. */

#include <sqlite3.h>

#include "export/export.h"
#include "export/sqlite/tables.h"

struct sqlite_class {
    const struct event_class *class;
    struct sqlite_class *next; /* in the order in which they came */
    struct sqlite_rows *rows;
    unsigned source; /* number of the class's origin */
    uint64_t n_events;
};

struct sqlite {
    struct sink sink;
    const struct export_options *options;
    sqlite3 *db;
    struct sqlite_batch batch;
    struct sqlite_tables tables;
    struct sqlite_class **classes; /* by class->index; NULL: no event yet */
    unsigned n_classes;
    struct sqlite_class *first, *last;
    sqlite3_stmt *loss;
    int64_t n; /* events and losses */
    uint64_t n_losses;
    struct map threads; /* by source and pid: the origin */
    uint64_t recent_thread;
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
/* NULL, and a number that is not KNOWN, are NULL. S must live until the statement has run. */
void sqlite_bind_text(sqlite3_stmt *statement, int column, const char *s);
void sqlite_bind_number(sqlite3_stmt *statement, int column, int64_t v, bool known);

/* The number of ORIGIN in the table `source`. */
unsigned sqlite_source_of(const struct sqlite *db, const struct origin *origin);

/* Writes the tables source, class, field, value_name, thread, meta, fact and problem. */
int sqlite_put_metadata(struct sqlite *db);

/* Makes the view of each event that has several tables. Names the tables, so it comes before the metadata. */
int sqlite_make_event_views(struct sqlite *db);
/* Makes the views `events` and `events_json`. */
int sqlite_make_views(struct sqlite *db);
