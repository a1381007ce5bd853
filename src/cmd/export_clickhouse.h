/* SPDX-License-Identifier: MIT */
#pragma once

/* The options of `strata export --to=clickhouse`, and the settings that they make. */

#include "base/clock_ns.h"
#include "cli/options.h"
#include "cmd/walk.h"
#include "export/clickhouse/clickhouse.h"
#include "trace/identity.h"

struct clickhouse_options {
    const char *url, *netrc_file, *ca_file, *cluster;
    uint64_t retry; /* in ns */
    bool replace, print_schema;
};

#define CLICKHOUSE_RETRY_NS (60 * NSEC_PER_SEC)

extern const struct cli_option clickhouse_option_table[];

/* The request for one trace. */
struct clickhouse_request {
    struct clickhouse_settings settings;
    char trace[TRACE_IDENTITY_SIZE];
    struct text name;
    bool is_complete;
    uint64_t n_sent, n_found;
};

/* Checks which options are combined. FORMAT_IS: the format is clickhouse. An exit status; errors are printed. */
int clickhouse_check(const struct clickhouse_options *options, bool format_is, bool has_output);
/* Prints the statements that make the tables. An exit status. */
int clickhouse_print_schema(const struct clickhouse_options *options);

/* Prepares to send the trace that was opened from PATHS. VARIANT (borrowed, with a NUL): all other options that decide
 * which rows there are. An exit status. */
int clickhouse_request_init(struct clickhouse_request *request,
                            const struct clickhouse_options *options, char *const *paths, int n,
                            const struct text *variant, const volatile sig_atomic_t *stop);
/* Prints how many rows were sent. */
void clickhouse_request_report(const struct clickhouse_request *request);
void clickhouse_request_done(struct clickhouse_request *request);
