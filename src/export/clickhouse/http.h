/* SPDX-License-Identifier: MIT */
#pragma once

/* A client of ClickHouse's HTTP interface: queries, and inserts of blocks.
 *
 * If a request fails for a reason that may pass (the server is unreachable or overloaded, or does not answer in time),
 * the function returns -EAGAIN, and the caller repeats it. It is unknown whether such an insert was carried out. All
 * other failures are final. ERROR is always filled, without the password.
 *
 * Not thread-safe. The first client of a process loads libcurl. */

#include "base/error.h"
#include "base/text.h"

struct clickhouse_login {
    const char *user;     /* NULL: the server's default */
    const char *password; /* or NULL */
    /* File of users and passwords in the format of curl and ftp. It must have a line for the host. May be NULL. */
    const char *netrc_file;
    const char *ca_file; /* certificates that sign the server's certificate; NULL: the system's */
};

struct clickhouse;

/* URL: "http://HOST:PORT/DATABASE" or https, without user, query or fragment. The strings are copied. -EINVAL for another
 * URL, -ELIBACC without libcurl, -ENOMEM; with ERROR. */
int clickhouse_open(const char *url, const struct clickhouse_login *login, struct clickhouse **ret,
                    struct error *error);
void clickhouse_free(struct clickhouse *clickhouse);

/* Parts of the URL: "http://HOST:PORT" and the database. */
const char *clickhouse_server(const struct clickhouse *clickhouse);
const char *clickhouse_database(const struct clickhouse *clickhouse);

/* Runs SQL, in the URL's database if IN_DATABASE. RET_ANSWER, which the caller owns, gets the answer, cut at 16 MiB;
 * may be NULL. */
int clickhouse_query(struct clickhouse *clickhouse, const char *sql, bool in_database,
                     struct text *ret_answer, struct error *error);

/* Sends DATA as the data of the INSERT in SQL, and returns when all shards have written it. ID identifies the insert.
 * While it runs, the server refuses another one with the same ID; then this returns -EAGAIN. */
int clickhouse_insert(struct clickhouse *clickhouse, const char *sql, const char *id,
                      const struct text *data, struct error *error);

/* Stops running requests when *STOP is not 0, which a signal handler may set. NULL: never. */
void clickhouse_stop_by(struct clickhouse *clickhouse, const volatile int *stop);
