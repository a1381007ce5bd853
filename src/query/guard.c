/* SPDX-License-Identifier: MIT */
/* Permits queries only to read the trace: no other database, no file, no extension, no change. */
#include <string.h>
#include <strings.h>

#include "query/internal.h"

static bool is_listed(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcasecmp(*names, name) == 0)
            return true;
    return false;
}

static int authorize(void *arg, int action, const char *first, const char *second,
                     const char *database, const char *trigger)
{
    const struct query *query = arg;
    static const char *const pragmas[] = {"table_info", "table_xinfo", "function_list",
                                          "compile_options", NULL};
    static const char *const functions[] = {"load_extension", "fts3_tokenizer", "writefile",
                                            "readfile",       "edit",           NULL};

    (void)database;
    (void)trigger;
    if (query->declares)
        return SQLITE_OK;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_PRAGMA: return is_listed(pragmas, first) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_FUNCTION: return second && is_listed(functions, second) ? SQLITE_DENY : SQLITE_OK;
    default: return SQLITE_DENY;
    }
}

void guard_begin(struct query *query)
{
    sqlite3 *db = query->db;

    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_set_authorizer(db, authorize, query);
}
