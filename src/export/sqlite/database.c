/* SPDX-License-Identifier: MIT */
/* Calls of SQLite's library: opening, statements, errors. */
#include "export/sqlite/database.h"

#include <errno.h>
#include <string.h>

#include "tables/sql.h"

int sqlite_failed(struct sqlite *db, int code)
{
    int last = errno;
    int err = db->db ? sqlite3_system_errno(db->db) : 0;

    code &= 0xff;
    if (code == SQLITE_NOMEM)
        return export_no_memory(&db->sink.error);
    /* What fails while a transaction ends leaves no number but this. */
    if (!err)
        err = code == SQLITE_FULL ? ENOSPC : last;
    if ((code == SQLITE_FULL || code == SQLITE_IOERR) && err)
        return error_set(&db->sink.error, -err, db->options->name, "cannot write: %s",
                         strerror(err));
    return error_set(&db->sink.error, -EIO, db->options->name, "SQLite: %s",
                     db->db ? sqlite3_errmsg(db->db) : sqlite3_errstr(code));
}

int sqlite_execute(struct sqlite *db, const char *sql)
{
    int code = sqlite3_exec(db->db, sql, NULL, NULL, NULL);

    return code == SQLITE_OK ? 0 : sqlite_failed(db, code);
}

int sqlite_execute_text(struct sqlite *db, struct text *sql)
{
    int r;

    text_put(sql, "", 1);
    r = sql->error ? export_no_memory(&db->sink.error) : sqlite_execute(db, sql->start);
    text_done(sql);
    *sql = TEXT_IN_MEMORY;
    return r;
}

int sqlite_prepare(struct sqlite *db, const char *sql, sqlite3_stmt **ret)
{
    int code = sqlite3_prepare_v3(db->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);

    return code == SQLITE_OK ? 0 : sqlite_failed(db, code);
}

int sqlite_run(struct sqlite *db, sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);

    if (code != SQLITE_DONE)
        return sqlite_failed(db, code);
    sqlite3_reset(statement);
    return 0;
}

int sqlite_open_database(struct sqlite *db)
{
    /* Of the cache, 8 MB; each table needs at least a page of the file. */
    static const char start[] = "PRAGMA page_size = 8192; PRAGMA journal_mode = OFF;"
                                "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
                                "PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY; BEGIN";
    struct text sql = TEXT_IN_MEMORY;
    int code;
    int r;

    /* Fails harmlessly if this process has used SQLite before. */
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    code = sqlite3_open_v2(db->options->path, &db->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                           NULL);
    if (code == SQLITE_OK)
        code = sqlite_batch_register(&db->batch, db->db);
    if (code != SQLITE_OK)
        return sqlite_failed(db, code);
    r = sqlite_execute(db, start);
    if (r == 0) {
        text_printf(&sql, "PRAGMA user_version = %d", SQLITE_SCHEMA_VERSION);
        r = sqlite_execute_text(db, &sql);
    }
    for (unsigned i = 0; i < FIXED_TABLES && r == 0; i++)
        if (i != TABLE_EVENT) {
            sql_put_fixed_table(&sql, (enum fixed_table)i);
            r = sqlite_execute_text(db, &sql);
        }
    return r;
}
