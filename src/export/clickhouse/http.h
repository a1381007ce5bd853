/* SPDX-License-Identifier: MIT */
#pragma once

/* A client of ClickHouse's HTTP interface: queries, and inserts of blocks.
 *
 * A request that fails for a reason that may pass (the server cannot be reached, is overloaded, or gives no answer in
 * time) is the caller's to repeat: the function returns -EAGAIN. Whether an insert that failed so was carried out is not
 * known. All other failures are final. ERROR is filled in both cases, without the password.
 *
 * Not thread-safe. The first client of a process loads libcurl. */

#include "base/error.h"
#include "base/text.h"

struct clickhouse_login {
    const char *user;     /* NULL: the server's default */
    const char *password; /* or NULL */
    /* A file of user and password as curl and ftp have them, where a line for the host must be; NULL: none. */
    const char *netrc_file;
    const char *ca_file; /* certificates that sign the server's; NULL: the system's */
};

struct clickhouse;

/* URL: "http://HOST:PORT/DATABASE" or https, without user, query or fragment. The strings are copied. -EINVAL for another
 * URL, -ELIBACC without libcurl, -ENOMEM; with ERROR. */
int clickhouse_open(const char *url, const struct clickhouse_login *login, struct clickhouse **ret,
                    struct error *error);
void clickhouse_free(struct clickhouse *clickhouse);

/* Of the URL. "http://HOST:PORT". */
const char *clickhouse_server(const struct clickhouse *clickhouse);
const char *clickhouse_database(const struct clickhouse *clickhouse);

/* Runs SQL outside of the database where IN_DATABASE is false. RET_ANSWER, which the caller owns, gets the answer, cut at
 * 16 MiB; NULL: not wanted. */
int clickhouse_query(struct clickhouse *clickhouse, const char *sql, bool in_database,
                     struct text *ret_answer, struct error *error);

/* Sends DATA as the data of the INSERT that SQL is, and returns when it is written on all shards. ID identifies it: the
 * server refuses a second one while the first runs, and -EAGAIN is returned. */
int clickhouse_insert(struct clickhouse *clickhouse, const char *sql, const char *id,
                      const struct text *data, struct error *error);

/* Stops a running request: *STOP is not 0. For signal handlers; NULL: never. */
void clickhouse_stop_by(struct clickhouse *clickhouse, const volatile int *stop);
