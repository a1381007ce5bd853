/* SPDX-License-Identifier: MIT */
#include "query/copies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tables/sql.h"

int copies_failed(struct query *query)
{
    int code = query->copies_db ? sqlite3_errcode(query->copies_db) & 0xff : SQLITE_NOMEM;

    if (code == SQLITE_NOMEM)
        return error_set(&query->error, -ENOMEM, NULL, "out of memory");
    return error_set(&query->error, code == SQLITE_FULL ? -ENOSPC : -EIO,
                     query->options.temporary_dir, "cannot keep a copy of a table: %s",
                     sqlite3_errmsg(query->copies_db));
}

static int open_copies(struct query *query)
{
    static const char start[] = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                                "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -65536";

    if (query->copies_db)
        return 0;
    /* Without a name: a temporary file, once it is larger than the cache. */
    if (sqlite3_open_v2("", &query->copies_db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK ||
        sqlite3_exec(query->copies_db, start, NULL, NULL, NULL) != SQLITE_OK)
        return copies_failed(query);
    return 0;
}

/* Runs SQL, and frees it. */
static int execute(struct query *query, struct text *sql)
{
    int code;

    text_put(sql, "", 1);
    code = sql->error ? SQLITE_NOMEM : sqlite3_exec(query->copies_db, sql->start, NULL, NULL, NULL);
    text_done(sql);
    if (code == SQLITE_OK)
        return 0;
    return code == SQLITE_NOMEM ? error_set(&query->error, -ENOMEM, NULL, "out of memory")
                                : copies_failed(query);
}

static int prepare(struct query *query, struct text *sql, sqlite3_stmt **ret)
{
    int code;

    text_put(sql, "", 1);
    code = sql->error ? SQLITE_NOMEM
                      : sqlite3_prepare_v3(query->copies_db, sql->start, -1,
                                           SQLITE_PREPARE_PERSISTENT, ret, NULL);
    text_done(sql);
    return code == SQLITE_OK ? 0 : copies_failed(query);
}

const struct copy *copy_find(const struct query *query, const void *table, uint64_t used,
                             const char *constants)
{
    const struct copy *copy = query->copies;

    while (copy && !(copy->table == table && (copy->used & used) == used &&
                     strcmp(copy->constants, constants) == 0))
        copy = copy->next;
    return copy;
}

static void free_copy(struct copy *copy)
{
    if (copy) {
        free(copy->constants);
        free(copy->places);
    }
    free(copy);
}

void copies_done(struct query *query)
{
    while (query->copies) {
        struct copy *copy = query->copies;

        query->copies = copy->next;
        free_copy(copy);
    }
    sqlite3_close(query->copies_db);
}

int copy_begin(struct query *query, const void *table, uint64_t used, const char *constants,
               const struct trace_column *columns, unsigned n_columns, struct copy **ret_copy,
               sqlite3_stmt **ret_insert)
{
    struct copy *copy = calloc(1, sizeof *copy);
    struct text sql = TEXT_IN_MEMORY;
    int16_t n = 1;
    int r = open_copies(query);

    if (copy) {
        copy->constants = strdup(constants);
        copy->places = malloc((n_columns + 1) * sizeof *copy->places);
    }
    if (!copy || !copy->constants || !copy->places) {
        free_copy(copy);
        return error_set(&query->error, -ENOMEM, NULL, "out of memory");
    }
    copy->table = table;
    copy->used = used;
    copy->number = query->n_copies++;
    copy->n_places = n_columns;
    text_printf(&sql, "CREATE TABLE t%u(number", copy->number);
    for (unsigned i = 0; i < n_columns; i++) {
        copy->places[i] = copy_uses(used, i) ? n++ : -1;
        if (copy->places[i] >= 0)
            text_printf(&sql, ", c%u%s", i, sql_types[columns[i].type]);
    }
    text_put_literal(&sql, "); BEGIN");
    if (r == 0)
        r = execute(query, &sql);
    else
        text_done(&sql);
    if (r == 0) {
        sql = TEXT_IN_MEMORY;
        text_printf(&sql, "INSERT INTO t%u VALUES(?", copy->number);
        for (int16_t i = 1; i < n; i++)
            text_put_literal(&sql, ", ?");
        text_put_char(&sql, ')');
        r = prepare(query, &sql, ret_insert);
    }
    if (r < 0) {
        free_copy(copy);
        return r;
    }
    *ret_copy = copy;
    return 0;
}

int copy_end(struct query *query, struct copy *copy, sqlite3_stmt *insert, bool failed)
{
    struct text sql = TEXT_IN_MEMORY;
    int r;

    sqlite3_finalize(insert);
    text_put_literal(&sql, "COMMIT");
    if (failed) {
        struct error error = query->error;

        text_printf(&sql, "; DROP TABLE t%u", copy->number);
        (void)execute(query, &sql);
        query->error = error;
        free_copy(copy);
        return 0;
    }
    r = execute(query, &sql);
    if (r < 0) {
        free_copy(copy);
        return r;
    }
    copy->next = query->copies;
    query->copies = copy;
    return 0;
}

/* Makes an index of the columns that are compared for equality, then one column that is limited. */
static int make_index(struct query *query, const struct copy *copy, const struct copy_term *terms,
                      unsigned n)
{
    struct text sql = TEXT_IN_MEMORY, columns = TEXT_IN_MEMORY;
    const struct copy_term *limit = NULL;
    const char *between = "";
    int r;

    text_printf(&sql, "CREATE INDEX IF NOT EXISTS i%u", copy->number);
    for (unsigned i = 0; i < n; i++) {
        if (terms[i].op[0] != '=') {
            limit = &terms[i];
            continue;
        }
        text_printf(&sql, "_%u", terms[i].column);
        text_printf(&columns, "%sc%u", between, terms[i].column);
        between = ", ";
    }
    if (limit) {
        text_printf(&sql, "_%u", limit->column);
        text_printf(&columns, "%sc%u", between, limit->column);
    }
    text_printf(&sql, " ON t%u(%.*s)", copy->number, (int)text_len(&columns),
                columns.start ? columns.start : "");
    r = columns.error ? error_set(&query->error, -ENOMEM, NULL, "out of memory") : 0;
    text_done(&columns);
    if (r == 0 && n > 0)
        return execute(query, &sql);
    text_done(&sql);
    return r;
}

int copy_prepare(struct query *query, const struct copy *copy, const struct copy_term *terms,
                 unsigned n, bool ordered, sqlite3_stmt **ret_statement)
{
    struct text sql = TEXT_IN_MEMORY;
    int r = make_index(query, copy, terms, n);

    if (r < 0)
        return r;
    text_printf(&sql, "SELECT * FROM t%u", copy->number);
    for (unsigned i = 0; i < n; i++)
        text_printf(&sql, "%s c%u %s ?", i ? " AND" : " WHERE", terms[i].column, terms[i].op);
    if (ordered)
        text_put_literal(&sql, " ORDER BY rowid");
    return prepare(query, &sql, ret_statement);
}
