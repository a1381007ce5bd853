/* SPDX-License-Identifier: MIT */
#pragma once

/* Settings of the export to ClickHouse, besides struct export_options. */

#include "export/clickhouse/http.h"
#include "export/export.h"

#define CLICKHOUSE_TRACE_LEN 16

struct clickhouse_settings {
    const char *url; /* "http://HOST:PORT/DATABASE" */
    struct clickhouse_login login;
    const char *trace;   /* CLICKHOUSE_TRACE_LEN hexadecimal digits that identify the trace */
    const char *name;    /* of the trace, for people */
    const char *version; /* of Strata */
    /* Text of all options that decide which rows the trace has. Another text is another variant of the trace. */
    const char *options;
    bool replace;     /* first removes the server's rows of the trace */
    unsigned retry_s; /* for so long a failed request is repeated */
    const volatile int *stop;
    void (*report)(void *arg, const char *text);
    void *report_arg;
    bool *ret_is_complete;          /* set by opening: the server has the whole trace */
    uint64_t *ret_sent, *ret_found; /* rows; added to by finishing */
};

/* Puts the statements that make the tables, for `--print-schema`. CLUSTER: makes them on the shards of a cluster; NULL:
 * on one server. */
void clickhouse_put_schema(const char *database, const char *cluster, struct text *out);
