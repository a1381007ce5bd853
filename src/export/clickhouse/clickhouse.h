/* SPDX-License-Identifier: MIT */
#pragma once

/* What the export to ClickHouse needs besides struct export_options. */

#include "export/clickhouse/http.h"
#include "export/export.h"

#define CLICKHOUSE_TRACE_LEN 16

struct clickhouse_settings {
    const char *url; /* "http://HOST:PORT/DATABASE" */
    struct clickhouse_login login;
    const char *trace;   /* CLICKHOUSE_TRACE_LEN hexadecimal digits: the same for the same trace */
    const char *name;    /* of the trace, for people */
    const char *version; /* of Strata */
    /* All that decides which rows are made of the trace: another text is another variant of it. */
    const char *options;
    bool replace;     /* remove what the server has of the trace first */
    unsigned retry_s; /* how long a request is tried again */
    const volatile int *stop;
    void (*report)(void *arg, const char *text);
    void *report_arg;
    bool *ret_is_complete;          /* set when it is opened: the server has all of the trace */
    uint64_t *ret_sent, *ret_found; /* rows; added to when it is finished */
};

/* The statements that make the tables, for `--print-schema`; CLUSTER: on the shards of a cluster; NULL: on one server. */
void clickhouse_put_schema(const char *database, const char *cluster, struct text *out);
