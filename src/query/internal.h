/* SPDX-License-Identifier: MIT */
#pragma once

/* What the tables of a query share. Functions of virtual tables return SQLite's codes; others 0 or a negative errno
 * with query->error. */

#include "base/arena.h"
#include "query/intervals.h"
#include "query/query.h"
#include "tables/sink.h"
#include "trace/trace.h"

/* The rows of a fixed table, sorted by up to two leading columns if they are integers. */
struct memory_rows {
    struct value **rows; /* each has all columns of its table */
    size_t n, room;
    unsigned n_sorted; /* number of columns by which they are sorted, 0 to 2 */
};

struct query {
    struct query_options options;
    sqlite3 *db;
    struct error error;   /* of the last table that failed */
    struct error problem; /* what ended a reading before the end of the trace */
    struct losses losses;
    struct trace *unused; /* open, at its beginning, or NULL */
    /* The reading that found the tables of events, or NULL before it. Its trace owns their classes. */
    struct trace *trace;
    struct sink *tables;
    const struct event_tables *events;
    bool in_ticks; /* as far as was read, the rate of a clock is unknown, and times are ticks */
    bool declares; /* a table is declaring its columns; no query does */
    struct arena arena; /* for rows */
    struct memory_rows rows[FIXED_TABLES];
    struct intervals *spans, *states, *paths; /* NULL until they are made */
    struct copy *copies;                      /* query/copies.h */
    sqlite3 *copies_db;                       /* NULL while there are no copies */
    unsigned n_copies;
    uint64_t n_items; /* of the trace; 0 if unknown */
};

/* Returns the trace, open at its beginning. The caller calls trace_free(). NULL with query->error. */
struct trace *query_take_trace(struct query *query);

static inline void query_note_run(const struct query *query, const struct trace *trace)
{
    if (query->options.progress)
        query->options.progress(query->options.progress_arg, trace);
}

static inline bool query_is_stopped(const struct query *query)
{
    return query->options.stopped && *query->options.stopped;
}

/* Handles ERROR, which ended a reading of the trace. 0 if the query is answered from what was read before. Otherwise
 * the error is not about the trace; it is moved to query->error. */
int query_reading_failed(struct query *query, const struct error *error);
/* Notes LOSSES of one reading of TRACE; TRACE NULL if it was not read. */
void query_note_losses(struct query *query, const struct trace *trace, struct losses *losses);

/* Gives all items of TRACE to SINK, and finishes it. *RET_FAILED: what ended the reading before the end. */
int query_read_all(struct query *query, struct trace *trace, struct sink *sink,
                   struct error *ret_failed);
/* Reads the trace so that the tables of events are known, and the rows of all fixed tables but those of spans and
 * states. */
int query_survey(struct query *query);
/* Makes the rows of TABLE_SPAN or TABLE_STATE. */
int query_make_intervals(struct query *query, enum fixed_table table);

/* As query_tables() and query_columns(), without reading the trace. */
void query_known_tables(const struct query *query, void (*put)(void *arg, const char *name),
                        void *arg);
int query_known_columns(struct query *query, const char *name,
                        void (*put)(void *arg, const char *column, const char *type), void *arg,
                        struct error *error);

/* Returns the name of thread PID of source SOURCE, from `thread`, or NULL. */
const struct value *query_thread_name(const struct query *query, unsigned source, int32_t pid);

/* Finds the rows whose first N sorted columns are KEYS (N at most n_sorted), from *RET_FIRST to before *RET_END. */
void memory_rows_find(const struct memory_rows *rows, const int64_t *keys, unsigned n,
                      size_t *ret_first, size_t *ret_end);
void memory_rows_sort(struct memory_rows *rows, enum fixed_table number);

/* Makes tables known. A code of SQLite. */
int memory_tables_register(struct query *query);
int interval_tables_register(struct query *query);
int path_table_register(struct query *query); /* path, blame */
/* Calls PUT for each table of this kind. */
void path_tables_foreach(void (*put)(void *arg, const char *name), void *arg);
int scan_tables_register(struct query *query);        /* event, events, events_json */
int scan_tables_register_events(struct query *query); /* after query_survey() */
int functions_register(struct query *query);
/* From here on, only reading is allowed. */
void guard_begin(struct query *query);

/* Passes query->error to SQLite as the table's error. Returns SQLITE_ERROR, SQLITE_NOMEM or SQLITE_INTERRUPT. */
int table_failed(struct query *query, sqlite3_vtab *table, int r);

/* Declares a table with COLUMNS by sqlite3_declare_vtab(). A code of SQLite. */
int declare_columns(struct query *query, const struct trace_column *columns, unsigned n);

/* The virtual table of a fixed table. */
struct fixed_vtab {
    sqlite3_vtab base;
    struct query *query;
    enum fixed_table number;
};

/* xConnect and xDisconnect of its module. */
int fixed_vtab_connect(sqlite3 *db, void *arg, int argc, const char *const *argv,
                       sqlite3_vtab **ret_table, char **ret_error);
int fixed_vtab_disconnect(sqlite3_vtab *base);
/* A code of SQLite. */
int fixed_vtab_register(struct query *query, enum fixed_table number,
                        const sqlite3_module *functions);
