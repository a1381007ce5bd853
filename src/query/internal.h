/* SPDX-License-Identifier: MIT */
#pragma once

/* The inside of a query: what its tables share. Functions of virtual tables return SQLite's codes; others 0 or a
 * negative errno with query->error. */

#include "base/arena.h"
#include "query/intervals.h"
#include "query/query.h"
#include "tables/sink.h"
#include "trace/trace.h"

/* Rows of a fixed table, sorted by the first columns if they are integers. */
struct memory_rows {
    struct value **rows; /* each of its table's columns */
    size_t n, room;
    unsigned n_sorted; /* by how many columns: 0 to 2 */
};

struct query {
    struct query_options options;
    sqlite3 *db;
    struct error error;   /* of the table that failed last */
    struct error problem; /* what ended a reading before the end */
    struct losses losses;
    struct trace *unused; /* open, at its beginning; or NULL */
    /* The reading that found the tables of events; NULL: there was none yet. The trace holds their classes. */
    struct trace *trace;
    struct sink *tables;
    const struct event_tables *events;
    bool in_ticks;      /* the rate of a clock is not known: times are ticks, as far as was read */
    bool declares;      /* a table declares its columns: not a query's doing */
    struct arena arena; /* of rows */
    struct memory_rows rows[FIXED_TABLES];
    struct intervals *spans, *states; /* NULL: not made yet */
    struct copy *copies;              /* query/copies.h */
    sqlite3 *copies_db;               /* NULL: there are none yet */
    unsigned n_copies;
    uint64_t n_items; /* of the trace; 0: not known */
};

/* The trace, open at its beginning; trace_free() is the caller's. NULL with query->error. */
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

/* Keeps ERROR, which ended a reading of the trace. 0: what was read until then is answered from; else it says nothing
 * of the trace, and is in query->error. */
int query_reading_failed(struct query *query, const struct error *error);
/* LOSSES of the records of one reading of TRACE; NULL: it was not read. */
void query_note_losses(struct query *query, const struct trace *trace, struct losses *losses);

/* Reads the trace so that the tables of events are known, and the rows of all fixed tables but those of spans and
 * states. */
int query_survey(struct query *query);
/* Makes the rows of TABLE_SPAN or TABLE_STATE. */
int query_make_intervals(struct query *query, enum fixed_table table);

/* As query_tables() and query_columns(), of what is known without reading the trace. */
void query_known_tables(const struct query *query, void (*put)(void *arg, const char *name),
                        void *arg);
int query_known_columns(struct query *query, const char *name,
                        void (*put)(void *arg, const char *column, const char *type), void *arg,
                        struct error *error);

/* Row of `thread`: the name of thread PID of source SOURCE. NULL: none. */
const struct value *query_thread_name(const struct query *query, unsigned source, int32_t pid);

/* The first of the rows whose sorted columns are KEYS (N of them, at most n_sorted), and the end of those. */
void memory_rows_find(const struct memory_rows *rows, const int64_t *keys, unsigned n,
                      size_t *ret_first, size_t *ret_end);
void memory_rows_sort(struct memory_rows *rows, enum fixed_table number);

/* Makes tables known. A code of SQLite. */
int memory_tables_register(struct query *query);
int interval_tables_register(struct query *query);
int scan_tables_register(struct query *query);        /* event, events, events_json */
int scan_tables_register_events(struct query *query); /* after query_survey() */
int functions_register(struct query *query);
/* Denies all but reading. */
void guard_begin(struct query *query);

/* The error of a table, for SQLite's message: query->error. Returns SQLITE_ERROR, or SQLITE_NOMEM, SQLITE_INTERRUPT. */
int table_failed(struct query *query, sqlite3_vtab *table, int r);

/* `CREATE TABLE` with COLUMNS, for sqlite3_declare_vtab(). A code of SQLite. */
int declare_columns(struct query *query, const struct trace_column *columns, unsigned n);

/* The virtual table of a fixed table. */
struct fixed_vtab {
    sqlite3_vtab base;
    struct query *query;
    enum fixed_table number;
};

/* Of its module FUNCTIONS: xConnect and xDisconnect. */
int fixed_vtab_connect(sqlite3 *db, void *arg, int argc, const char *const *argv,
                       sqlite3_vtab **ret_table, char **ret_error);
int fixed_vtab_disconnect(sqlite3_vtab *base);
/* A code of SQLite. */
int fixed_vtab_register(struct query *query, enum fixed_table number,
                        const sqlite3_module *functions);
