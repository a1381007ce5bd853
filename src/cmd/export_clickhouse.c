/* SPDX-License-Identifier: MIT */
#include "cmd/export_clickhouse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock_ns.h"
#include "cli/duration.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "trace/identity.h"

#define MEMBER(m) offsetof(struct clickhouse_options, m)

const struct cli_option clickhouse_option_table[] = {
    {OPTION_STRING, 0, "url", "URL", "server and database: http://HOST:8123/DATABASE", MEMBER(url),
     .page =
         "This is the server's HTTP interface; https works, too. A missing database is created.",
     .requires = "--to=clickhouse"},
    {OPTION_STRING, 0, "netrc-file", "FILE", "user and password, in the format of curl's .netrc",
     MEMBER(netrc_file), .default_text = "$CLICKHOUSE_USER, $CLICKHOUSE_PASSWORD",
     .requires = "--to=clickhouse"},
    {OPTION_STRING, 0, "ca-file", "FILE", "certificates that sign the server's certificate",
     MEMBER(ca_file), .default_text = "the system's", .requires = "--to=clickhouse"},
    {OPTION_PARSED, 0, "retry", "SECONDS", "keep retrying for SECONDS", MEMBER(retry), NULL,
     duration_parse, .default_text = "60",
     .page =
         "A request is retried if the server cannot be reached, is overloaded or gives no answer."},
    {OPTION_FLAG, 0, "replace", NULL, "first remove what the server has of this trace",
     MEMBER(replace), .page = "Distributed tables cannot do that; remove it on each shard.",
     .requires = "--to=clickhouse"},
    {OPTION_FLAG, 0, "print-schema", NULL, "print the SQL that makes the tables, and exit",
     MEMBER(print_schema), .page = "No trace is needed.", .requires = "--to=clickhouse"},
    {OPTION_STRING, 0, "cluster", "NAME", "make tables on all shards of a cluster", MEMBER(cluster),
     .page = "The rows are in tables TABLE_shard, with distributed tables over them by host.",
     .requires = "--print-schema"},
    {OPTION_END},
};

int clickhouse_check(const struct clickhouse_options *options, bool format_is, bool has_output)
{
    if (!format_is)
        return EXIT_SUCCESS;
    if (has_output)
        return cli_usage_error("export", "--output: clickhouse is a server; give --url");
    if (!options->url && !options->print_schema)
        return cli_usage_error("export", "--url=http://HOST:PORT/DATABASE is required");
    return EXIT_SUCCESS;
}

int clickhouse_print_schema(const struct clickhouse_options *options)
{
    const struct clickhouse_login login = {0};
    struct clickhouse *clickhouse = NULL;
    struct error error = {0};
    struct text out;
    int r;

    if (options->url && clickhouse_open(options->url, &login, &clickhouse, &error) < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    r = output_open(&out, OUTPUT_TEXT, (size_t)16 * 1024);
    if (r == 0) {
        clickhouse_put_schema(clickhouse ? clickhouse_database(clickhouse) : "traces",
                              options->cluster, &out);
        r = text_flush(&out);
        text_done(&out);
    }
    clickhouse_free(clickhouse);
    return r < 0 ? cli_output_error(r) : EXIT_SUCCESS;
}

static void report(void *arg, const char *text)
{
    (void)arg;
    cli_error("%s; trying again", text);
}

int clickhouse_request_init(struct clickhouse_request *request,
                            const struct clickhouse_options *options, char *const *paths, int n,
                            const struct text *variant, const volatile sig_atomic_t *stop)
{
    const char *user = getenv("CLICKHOUSE_USER"), *password = getenv("CLICKHOUSE_PASSWORD");
    struct error error = {0};

    *request = (struct clickhouse_request){
        .name = TEXT_IN_MEMORY,
        .settings = {.url = options->url,
                     .login = {.user = user && *user ? user : NULL,
                               .password = password && *password ? password : NULL,
                               .netrc_file = options->netrc_file,
                               .ca_file = options->ca_file},
                     .version = STRATA_VERSION,
                     .options = variant->start,
                     .replace = options->replace,
                     .retry_s = (unsigned)(options->retry / NSEC_PER_SEC),
                     .stop = stop,
                     .report = report},
    };
    request->settings.ret_is_complete = &request->is_complete;
    request->settings.ret_sent = &request->n_sent;
    request->settings.ret_found = &request->n_found;
    if (trace_identity((const char *const *)paths, (unsigned)n, request->trace, &error) < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    for (int i = 0; i < n; i++) {
        text_put_str(&request->name, i ? " " : "");
        text_put_str(&request->name, paths[i]);
    }
    text_put_char(&request->name, '\0');
    if (request->name.error || variant->error)
        return cli_no_memory();
    request->trace[CLICKHOUSE_TRACE_LEN] = '\0';
    request->settings.trace = request->trace;
    request->settings.name = request->name.start;
    return EXIT_SUCCESS;
}

void clickhouse_request_report(const struct clickhouse_request *request)
{
    if (request->is_complete)
        cli_message("strata: the server has all of this trace already; nothing was sent");
    else if (request->n_found > 0)
        cli_message("strata: %" PRIu64 " rows were sent, and %" PRIu64 " were there already",
                    request->n_sent, request->n_found);
    else
        cli_message("strata: %" PRIu64 " rows were sent", request->n_sent);
}

void clickhouse_request_done(struct clickhouse_request *request)
{
    text_done(&request->name);
}
