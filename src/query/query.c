/* SPDX-License-Identifier: MIT */
#include "query/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/copies.h"
#include "query/internal.h"
#include "query/nearest.h"
#include "tables/sql.h"

static int no_memory(struct error *error)
{
    return error_set(error, -ENOMEM, NULL, "out of memory");
}

/* Steps of SQLite's virtual machine between two checks. */
#define STEPS_PER_LOOK 1000

static int is_stopped(void *arg)
{
    return query_is_stopped(arg);
}

static int open_database(struct query *query)
{
    int code =
        sqlite3_open_v2(":memory:", &query->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_MEMORY, NULL);

    if (code == SQLITE_OK)
        code = memory_tables_register(query);
    if (code == SQLITE_OK)
        code = interval_tables_register(query);
    if (code == SQLITE_OK)
        code = path_table_register(query);
    if (code == SQLITE_OK)
        code = scan_tables_register(query);
    if (code == SQLITE_OK)
        code = functions_register(query);
    if (code == SQLITE_OK) {
        guard_begin(query);
        sqlite3_progress_handler(query->db, STEPS_PER_LOOK, is_stopped, query);
    }
    return code;
}

int query_open(const struct query_options *options, struct query **ret_query, struct error *error)
{
    struct query *query = calloc(1, sizeof *query);

    if (!query)
        return no_memory(error);
    query->options = *options;
    if (!query->options.temporary_dir)
        query->options.temporary_dir = "/var/tmp";
    if (open_database(query) != SQLITE_OK) {
        query_close(query);
        return no_memory(error);
    }
    query->unused = options->trace;
    query->in_ticks = trace_is_in_ticks(options->trace);
    *ret_query = query;
    return 0;
}

void query_close(struct query *query)
{
    if (!query)
        return;
    sqlite3_close(query->db);
    copies_done(query);
    sink_free(query->tables);
    trace_free(query->trace);
    trace_free(query->unused);
    if (query->spans)
        intervals_done(query->spans);
    if (query->states)
        intervals_done(query->states);
    if (query->paths)
        intervals_done(query->paths);
    free(query->spans);
    free(query->states);
    free(query->paths);
    for (unsigned i = 0; i < FIXED_TABLES; i++)
        free(query->rows[i].rows);
    arena_done(&query->arena);
    free(query);
}

struct trace *query_take_trace(struct query *query)
{
    struct trace *trace = query->unused;

    query->unused = NULL;
    error_clear(&query->error);
    return trace ? trace : query->options.open(query->options.arg, &query->error);
}

int query_reading_failed(struct query *query, const struct error *error)
{
    if (!error_is_shortage(error->code)) {
        if (query->problem.code == 0)
            query->problem = *error;
        return 0;
    }
    query->error = *error;
    return error->code;
}

void query_note_losses(struct query *query, const struct trace *trace, struct losses *losses)
{
    for (unsigned i = 0; trace && i < trace->catalogue.n_origins; i++)
        losses_add_recorded(losses, trace->catalogue.origins[i], false);
    if (losses->n > query->losses.n || !losses_any(&query->losses))
        query->losses = *losses;
    if (trace && query->options.hint)
        trace_hints(trace, query->options.hint, query->options.hint_arg);
}

/* Puts the error at LINE of NAME, with what was probably meant. OFFSET: its place in SQL; negative if unknown. */
static int put_syntax_error(const char *message, const char *near, const char *sql, int offset,
                            const char *name, unsigned line, struct error *error)
{
    bool is_table = strncmp(message, "no such table", 13) == 0;
    const char *quote = near ? "'?" : "";
    const char *hint = near       ? "; did you mean '"
                       : is_table ? "; 'SELECT name FROM class' lists the events"
                                  : "";
    const char *start = sql;

    near = near ? near : "";
    if (offset < 0 || strlen(sql) < (size_t)offset)
        return error_set(error, -EINVAL, name, "%s%s%s%s", message, hint, near, quote);
    for (const char *p = sql; p < sql + offset; p++)
        if (*p == '\n') {
            line++;
            start = p + 1;
        }
    return error_on_line(error, -EINVAL, name, line, "column %d: %s%s%s%s",
                         (int)(sql + offset - start) + 1, message, hint, near, quote);
}

/* Reports an error in SQL. It begins at LINE of NAME. */
static int syntax_error(struct query *query, const char *sql, const char *name, unsigned line,
                        struct error *error)
{
    int offset = sqlite3_error_offset(query->db);
    _cleanup_free_ char *message = strdup(sqlite3_errmsg(query->db));
    struct nearest nearest = {0};
    int r;

    if (!message)
        return no_memory(error);
    r = put_syntax_error(message, nearest_find(&nearest, query, message, sql), sql, offset, name,
                         line, error);
    nearest_done(&nearest);
    return r;
}

/* True if the statement may become valid when the tables of events are known. */
static bool may_be_event_table(const struct query *query, int code)
{
    return code == SQLITE_ERROR && !query->events &&
           strncmp(sqlite3_errmsg(query->db), "no such table", 13) == 0;
}

int query_prepare(struct query *query, const char *sql, const char *name, unsigned line,
                  sqlite3_stmt **ret_statement, const char **ret_tail, struct error *error)
{
    int code = sqlite3_prepare_v2(query->db, sql, -1, ret_statement, ret_tail);

    if (may_be_event_table(query, code)) {
        int r = query_survey(query);

        if (r < 0) {
            *error = query->error;
            return r;
        }
        code = sqlite3_prepare_v2(query->db, sql, -1, ret_statement, ret_tail);
    }
    if (code == SQLITE_OK)
        return 0;
    return code == SQLITE_NOMEM ? no_memory(error) : syntax_error(query, sql, name, line, error);
}

int query_step(struct query *query, sqlite3_stmt *statement, struct error *error)
{
    int code;

    error_clear(&query->error);
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        return 1;
    if (code == SQLITE_DONE)
        return 0;
    if ((code & 0xff) == SQLITE_INTERRUPT || query_is_stopped(query))
        return -EINTR;
    if (query->error.code) {
        *error = query->error;
        return error->code;
    }
    if ((code & 0xff) == SQLITE_NOMEM)
        return no_memory(error);
    return error_set(error, -EINVAL, NULL, "%s", sqlite3_errmsg(query->db));
}

void query_known_tables(const struct query *query, void (*put)(void *arg, const char *name),
                        void *arg)
{
    for (unsigned i = 0; i < FIXED_TABLES; i++)
        put(arg, fixed_tables[i].name);
    path_tables_foreach(put, arg);
    for (unsigned i = 0; reserved_table_names[i]; i++)
        put(arg, reserved_table_names[i]);
    for (const struct event_family *family = query->events ? query->events->first_family : NULL;
         family; family = family->next) {
        put(arg, family->name);
        for (const struct event_table *table = family->first; table && family->first->next_variant;
             table = table->next_variant)
            put(arg, table->sql_name);
    }
}

int query_tables(struct query *query, void (*put)(void *arg, const char *name), void *arg,
                 struct error *error)
{
    int r = query_survey(query);

    if (r < 0)
        *error = query->error;
    else
        query_known_tables(query, put, arg);
    return r;
}

int query_known_columns(struct query *query, const char *name,
                        void (*put)(void *arg, const char *column, const char *type), void *arg,
                        struct error *error)
{
    struct text sql = TEXT_IN_MEMORY;
    sqlite3_stmt *statement = NULL;
    int code = SQLITE_NOMEM;

    text_put_literal(&sql, "SELECT * FROM ");
    sql_put_name(&sql, name);
    text_put(&sql, "", 1);
    if (!sql.error)
        code = sqlite3_prepare_v2(query->db, sql.start, -1, &statement, NULL);
    text_done(&sql);
    if (code != SQLITE_OK)
        return code == SQLITE_NOMEM
                   ? no_memory(error)
                   : error_set(error, -ENOENT, NULL, "%s", sqlite3_errmsg(query->db));
    for (int i = 0; i < sqlite3_column_count(statement); i++)
        put(arg, sqlite3_column_name(statement, i), sqlite3_column_decltype(statement, i));
    sqlite3_finalize(statement);
    return 0;
}

int query_columns(struct query *query, const char *name,
                  void (*put)(void *arg, const char *column, const char *type), void *arg,
                  struct error *error)
{
    int r = query_survey(query);

    if (r < 0) {
        *error = query->error;
        return r;
    }
    return query_known_columns(query, name, put, arg, error);
}

const struct losses *query_losses(const struct query *query)
{
    return &query->losses;
}

const struct error *query_problem(const struct query *query)
{
    return &query->problem;
}

int table_failed(struct query *query, sqlite3_vtab *table, int r)
{
    char text[sizeof(struct error) + 64];

    if (r == -ENOMEM)
        return SQLITE_NOMEM;
    if (r == -EINTR)
        return SQLITE_INTERRUPT;
    if (!query->error.code)
        (void)error_set(&query->error, r, NULL, "%s", error_text(r));
    error_print(&query->error, text, sizeof text);
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("%s", text);
    return SQLITE_ERROR;
}
