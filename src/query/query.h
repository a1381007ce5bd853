/* SPDX-License-Identifier: MIT */
#pragma once

/* Runs SQL over a trace, by SQLite's virtual tables over the readers and engines. Nothing is imported.
 *
 *  - Tables of events and `event` are read from the trace each time, from the earliest time in the query on. Only the
 *    columns that the query uses are decoded.
 *  - `span` and `state` are made when a query first needs them, and kept in a temporary file. It has an index for each
 *    set of columns by which queries look up rows (query/intervals.h).
 *  - So is `path`, the segments of why intervals took so long. `blame` adds them up. Exports have neither.
 *  - The other tables are kept in memory. They and the list of events need one reading of the trace.
 *
 * A query can only read (query/guard.c). Not thread-safe. */

#include <signal.h>
#include <sqlite3.h>

#include "analysis/coverage/losses.h"
#include "analysis/spans/span_rule.h"
#include "base/error.h"
#include "event/clock.h"

struct trace;
struct query;

struct query_options {
    /* Opens the trace again, at its beginning. NULL with ERROR on failure. */
    struct trace *(*open)(void *arg, struct error *error);
    void *arg;
    struct trace *trace; /* open already; the query frees it. Never NULL */
    /* Writes a duration for people to BUF, and returns BUF: the SQL function duration(). */
    const char *(*duration)(char *buf, size_t size, const struct clock *clock, uint64_t ticks);
    unsigned (*origin_number)(
        void *arg, const struct origin *origin); /* as in struct tables_options, for `trace` */
    const char *temporary_dir;                   /* NULL: /var/tmp */
    /* Rules whose spans are in `span`; with 0 rules, all built-in ones. They outlive the query. */
    const struct span_rule *rules;
    unsigned n_rules;
    /* `path` explains the spans of the last N_GIVEN of these rules, or, with 0, requests to disks. */
    unsigned n_given;
    /* Called with each run of items that is read. May be NULL. */
    void (*progress)(void *arg, const struct trace *trace);
    void *progress_arg;
    /* Called after each reading with the hints of its readers (trace_hints()), so the same hint may come several times.
     * May be NULL. */
    void (*hint)(void *arg, const char *path, const char *hint);
    void *hint_arg;
    const volatile sig_atomic_t
        *stopped; /* if not 0, the query fails with -EINTR; a signal handler sets it. May be NULL */
    bool errors;  /* times have error bounds */
};

/* 0, or a negative errno with ERROR; then the caller keeps options->trace. */
int query_open(const struct query_options *options, struct query **ret_query, struct error *error);
void query_close(struct query *query);

/* Prepares the first statement of SQL. *RET_STATEMENT is NULL if there is none; *RET_TAIL is the rest of SQL. NAME and
 * LINE (from 1) say in errors where SQL is from. The caller finalizes the statement. -EINVAL with ERROR. */
int query_prepare(struct query *query, const char *sql, const char *name, unsigned line,
                  sqlite3_stmt **ret_statement, const char **ret_tail, struct error *error);
/* 1 for a row, 0 at the end; -EINTR if stopped; or a negative errno with ERROR. */
int query_step(struct query *query, sqlite3_stmt *statement, struct error *error);

/* Calls PUT for each table and view, fixed ones first. Reads the trace if needed. A negative errno with ERROR. */
int query_tables(struct query *query, void (*put)(void *arg, const char *name), void *arg,
                 struct error *error);
/* Calls PUT for each column of the table NAME, with its type ("INTEGER"). -ENOENT if there is no such table. */
int query_columns(struct query *query, const char *name,
                  void (*put)(void *arg, const char *column, const char *type), void *arg,
                  struct error *error);

/* The losses, as far as queries have read. */
const struct losses *query_losses(const struct query *query);
/* The error that ended a reading of the trace before its end; answers cover what was read before. Its code is 0 if
 * there was none. */
const struct error *query_problem(const struct query *query);

/* Queries that ship with Strata, terminated by an entry without a name. */
struct named_query {
    const char *name, *about, *sql;
};
extern const struct named_query named_queries[];
