/* SPDX-License-Identifier: MIT */
/* What the virtual tables of fixed tables share: connecting and disconnecting. */
#include <stdlib.h>

#include "query/internal.h"
#include "tables/sql.h"

struct fixed_module {
    struct query *query;
    enum fixed_table number;
};

int declare_columns(struct query *query, const struct trace_column *columns, unsigned n)
{
    struct text sql = TEXT_IN_MEMORY;
    int code;

    text_put_literal(&sql, "CREATE TABLE t(");
    for (unsigned i = 0; i < n; i++) {
        text_put_str(&sql, i ? ", " : "");
        sql_put_name(&sql, columns[i].name);
        text_put_str(&sql, sql_types[columns[i].type]);
    }
    text_put(&sql, ")", 2);
    query->declares = true;
    code = sql.error ? SQLITE_NOMEM : sqlite3_declare_vtab(query->db, sql.start);
    query->declares = false;
    text_done(&sql);
    return code;
}

int fixed_vtab_connect(sqlite3 *db, void *arg, int argc, const char *const *argv,
                       sqlite3_vtab **ret_table, char **ret_error)
{
    const struct fixed_module *module = arg;
    const struct trace_table *columns = &fixed_tables[module->number];
    struct fixed_vtab *table;
    int code = declare_columns(module->query, columns->columns, columns->n_columns);

    (void)db;
    (void)argc;
    (void)argv;
    (void)ret_error;
    if (code != SQLITE_OK)
        return code;
    table = calloc(1, sizeof *table);
    if (!table)
        return SQLITE_NOMEM;
    table->query = module->query;
    table->number = module->number;
    *ret_table = &table->base;
    return SQLITE_OK;
}

int fixed_vtab_disconnect(sqlite3_vtab *base)
{
    free(container_of(base, struct fixed_vtab, base));
    return SQLITE_OK;
}

int fixed_vtab_register(struct query *query, enum fixed_table number,
                        const sqlite3_module *functions)
{
    struct fixed_module *module = arena_alloc(&query->arena, sizeof *module);

    if (!module)
        return SQLITE_NOMEM;
    *module = (struct fixed_module){query, number};
    return sqlite3_create_module(query->db, fixed_tables[number].name, functions, module);
}
