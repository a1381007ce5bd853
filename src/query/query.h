/* SPDX-License-Identifier: MIT */
#pragma once

/* SQL over a trace: SQLite's virtual tables over the readers and engines. Nothing is imported.
 *
 *  - Tables of events and `event` are read from the trace each time, from the earliest time that the query asks for, and
 *    only the columns that it uses are decoded.
 *  - `span` and `state` are made once, when a query first needs them, and kept in a temporary file, with an index for
 *    each set of columns that a query looks them up by (query/intervals.h).
 *  - The other tables are kept in memory; they and the list of events need one reading of the trace.
 *
 * A query reads, and does nothing else (query/guard.c). Not thread-safe. */

#include <signal.h>
#include <sqlite3.h>

#include "analysis/coverage/losses.h"
#include "analysis/spans/span_rule.h"
#include "base/error.h"
#include "event/clock.h"

struct trace;
struct query;

struct query_options {
    /* Opens the trace again, from its beginning. NULL: failed, with ERROR. */
    struct trace *(*open)(void *arg, struct error *error);
    void *arg;
    struct trace *trace; /* is open already; the query frees it. Never NULL */
    /* Writes a duration for people to BUF, and returns it: what the function duration() does. */
    const char *(*duration)(char *buf, size_t size, const struct clock *clock, uint64_t ticks);
    unsigned (*origin_number)(
        void *arg, const struct origin *origin); /* as in struct tables_options; of `trace` */
    const char *temporary_dir;                   /* NULL: /var/tmp */
    const struct span_rule
        *rules; /* whose spans are in `span`; 0: all built-in ones. They outlive the query */
    unsigned n_rules;
    /* Is called with each run of items that is read; NULL: nothing. */
    void (*progress)(void *arg, const struct trace *trace);
    void *progress_arg;
    /* Is called after each reading with the hints of its readers (trace_hints()), the same ones several times; NULL: nothing. */
    void (*hint)(void *arg, const char *path, const char *hint);
    void *hint_arg;
    const volatile sig_atomic_t
        *stopped; /* not 0: a query fails with -EINTR; set by a signal's handler. May be NULL */
    bool errors;  /* times have bounds */
};

/* On failure options->trace stays the caller's. 0, or a negative errno with ERROR. */
int query_open(const struct query_options *options, struct query **ret_query, struct error *error);
void query_close(struct query *query);

/* Prepares the first statement of SQL. *RET_STATEMENT is NULL if there is none; *RET_TAIL is what follows. NAME and
 * LINE, from 1, are where SQL is from, for errors. The caller finalizes the statement. -EINVAL with ERROR. */
int query_prepare(struct query *query, const char *sql, const char *name, unsigned line,
                  sqlite3_stmt **ret_statement, const char **ret_tail, struct error *error);
/* 1: a row; 0: the end; -EINTR: stopped; a negative errno with ERROR. */
int query_step(struct query *query, sqlite3_stmt *statement, struct error *error);

/* Calls PUT for each table and view, fixed ones first. Reads the trace if needed. A negative errno with ERROR. */
int query_tables(struct query *query, void (*put)(void *arg, const char *name), void *arg,
                 struct error *error);
/* Calls PUT for each column of the table NAME, with its type ("INTEGER"). -ENOENT: no such table. */
int query_columns(struct query *query, const char *name,
                  void (*put)(void *arg, const char *column, const char *type), void *arg,
                  struct error *error);

/* What was lost, as far as queries have read. */
const struct losses *query_losses(const struct query *query);
/* What ended a reading of the trace before its end: answers are of what comes before. code 0: nothing. */
const struct error *query_problem(const struct query *query);

/* Queries that ship with Strata, ended by one without a name. */
struct named_query {
    const char *name, *about, *sql;
};
extern const struct named_query named_queries[];
