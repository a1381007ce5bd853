/* SPDX-License-Identifier: MIT */
/* strata serve: shows a trace to browsers, and to viewers that speak the Trace Server Protocol. */

#include "cmd/serve.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/progress.h"
#include "cli/size.h"
#include "cmd/cmd.h"
#include "cmd/span_rules.h"
#include "index/index.h"
#include "record/stop_signals.h"
#include "serve/live_index.h"
#include "serve/serve.h"

#define MEMBER(m) offsetof(struct serve_options, m)

const struct cli_option serve_pair_option_table[] = {
    {OPTION_STRINGS, 'p', "pair", "RULE", "also show the spans of RULE, as in strata latency",
     MEMBER(source.pairs), .page = "strata-latency(1) describes rules."},
    {OPTION_STRINGS, 0, "pairs", "FILE", "the same for the rules of a file, one per line",
     MEMBER(source.files)},
    {OPTION_PARSED, 0, "index-cache-size", "SIZE",
     "remove the least recently used indexes of other traces beyond SIZE in all",
     MEMBER(source.index_cache_size), NULL, size_parse, .default_text = "1G",
     .page =
         "This happens when an index is built. An index that was not used for 30 days is removed "
         "as "
         "well. The new index is never removed. A server continues to use a removed index "
         "that it has open."},
    {OPTION_END},
};

const struct cli_option serve_listen_option_table[] = {
    {OPTION_STRING, 0, "listen", "ADDRESS", "HOST, PORT or HOST:PORT to listen on", MEMBER(listen),
     .default_text = "this machine only, a free port",
     .page = "Port 0 is a free port, too. An IPv6 address with a port is in brackets."},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Server", serve_listen_option_table, 0},
    {"Timeline", serve_pair_option_table, 0},
    {"Reading", open_option_table, offsetof(struct serve_options, open)},
    {"Help", help_option_table, 0},
    {NULL},
};

const struct command serve_command = {
    .name = "serve",
    .summary = "show a trace to a browser, or to a viewer that speaks TSP",
    .operands = "PATH...",
    .about = "Serves the timeline of one or more traces by HTTP, and prints the address to\n"
             "open in a browser. The address has a secret part: without it, no other user of\n"
             "this machine and no other page in the browser can read the trace. Viewers that\n"
             "speak the Trace Server Protocol, as Eclipse Theia's and VS Code's, use the\n"
             "address followed by tsp/api. Ctrl-C ends the server.",
    .groups = groups,
    .examples = "  strata serve trace\n"
                "  strata serve --listen 8080 trace\n"
                "  ssh -L 8080:localhost:8080 host strata serve --listen 8080 trace",
};

void serve_options_done(struct serve_options *options)
{
    open_options_done(&options->open);
    strings_done(&options->source.pairs);
    strings_done(&options->source.files);
}

/* Puts the server's address, and after # what the page shows first (src/serve/web/view/address.ts): ns since the
 * begin. */
static void put_address(const struct server *server, const struct serve_options *options,
                        const struct index_summary *shown, bool is_ticks, struct text *ret)
{
    const struct time_limit *from = &options->from, *to = &options->to;
    uint64_t hz = is_ticks ? 0 : NANOSECONDS;
    int64_t begin = from->given ? time_limit_ticks(from, hz, shown->begin, false) : shown->begin;
    int64_t end = to->given ? time_limit_ticks(to, hz, shown->begin, false) : shown->end;

    text_put_str(ret, server_address(server));
    if (from->given || to->given) {
        begin = MIN(MAX(begin, shown->begin), shown->end);
        end = MAX(MIN(end, shown->end), begin);
        text_printf(ret, "#view=%" PRId64 "~%" PRId64, begin - shown->begin, end - shown->begin);
    }
    text_put_char(ret, '\0');
}

static int print_address(const char *address)
{
    int r;

    errno = 0;
    if (printf("%s\n", address) >= 0 && fflush(stdout) == 0)
        return EXIT_SUCCESS;
    r = errno ? -errno : -EIO;
    clearerr(stdout);
    return cli_output_error(r);
}

static void wait_for_signal(struct stop_signals *signals)
{
    struct pollfd p = {signals->fd, POLLIN, 0};
    struct stop_signal unused;

    while (stop_signals_read(signals, &unused) == 0)
        (void)poll(&p, 1, -1);
}

static bool has_changed(void *arg)
{
    const struct serve_source *source = arg;
    char key[INDEX_CACHE_KEY_SIZE];
    int r;

    if (!*source->key) /* it could not be said before */
        return false;
    r = serve_source_key(source, key);
    return r < 0 ? r == -ENOENT : strcmp(key, source->key) != 0;
}

static void print_note(const char *text)
{
    cli_error("%s", text);
}

/* The server takes ownership of INDEX. */
static int run_server(struct server *server, const struct serve_options *options,
                      struct serve_source *source, struct serve_index *index,
                      const struct serve_hooks *hooks)
{
    const struct server_options server_options = {
        .name = source->name.start,
        .paths = source->paths,
        .n_paths = source->n_paths,
        .trace_options = source->options->trace,
        /* A recording under way is indexed again when it changes. */
        .has_changed = index->live ? NULL : has_changed,
        .arg = source,
    };
    struct stop_signals signals = {.fd = -1};
    struct serve_live live = {0};
    struct error error = {0};
    const struct index_summary shown = *index_summary(index->index);
    _cleanup_(text_done) struct text address = TEXT_IN_MEMORY;
    bool is_live = index->live, is_ticks = index->is_ticks;
    int status;
    int r;

    /* Its threads have these blocked, too. */
    r = stop_signals_open(true, &signals);
    if (r == 0)
        r = serve_index_publish(index, server);
    if (r == 0)
        r = server_start(server, &server_options, &error);
    if (r == 0 && is_live)
        r = serve_live_start(&live, source, server, &shown, print_note);
    if (r < 0) {
        server_stop(server);
        stop_signals_close(&signals);
        return cli_print_failure(&error, r);
    }
    put_address(server, options, &shown, is_ticks, &address);
    status = address.error ? cli_print_failure(&error, -ENOMEM) : print_address(address.start);
    if (status == EXIT_SUCCESS) {
        if (server_is_public(server))
            cli_error("other machines can connect to this address, and what is sent to them is not "
                      "encrypted");
        if (hooks && hooks->started)
            hooks->started(hooks->arg, address.start);
        if (isatty(STDERR_FILENO))
            cli_error("Ctrl-C ends the server");
        wait_for_signal(&signals);
    }
    serve_live_stop(&live);
    if (status == EXIT_SUCCESS && options->open.strict && server_has_losses(server))
        status = EXIT_LOSSES;
    server_stop(server);
    if (hooks && hooks->stopped)
        hooks->stopped(hooks->arg);
    stop_signals_close(&signals);
    return status;
}

static void note(void *arg, const char *text)
{
    (void)arg;
    cli_error("%s", text);
}

static void report_opened(void *arg, const struct trace *trace)
{
    struct progress *progress = arg;

    walk_report_notes(trace);
    if (trace->hint)
        cli_error("%s", trace->hint);
    progress_start(progress, isatty(STDERR_FILENO));
}

static void show_progress(void *arg, uint64_t done, uint64_t total)
{
    struct progress *progress = arg;

    if (progress_is_due(progress))
        progress_show(progress, done, total);
}

/* Opens the index of SOURCE, with progress, notes and errors on the terminal. An exit status. */
static int open_index(const struct serve_source *source, struct serve_index *ret)
{
    struct progress progress = {0};
    const struct serve_index_hooks hooks = {note, report_opened, show_progress, &progress};
    struct error error = {0};
    int r = serve_index_open(source, &hooks, ret, &error);

    progress_erase(&progress);
    if (r >= 0)
        return EXIT_SUCCESS;
    (void)cli_print_failure(&error, r);
    if (r == -EBADMSG && !source->options->trace->reader.keep_going)
        cli_error("use --keep-going to skip what is damaged and show it as a loss");
    return EXIT_FAILURE;
}

int serve_run(const char *verb, const struct serve_options *options, char **paths, int n,
              const struct serve_hooks *hooks)
{
    struct serve_source_options source_options = options->source;
    struct trace_options trace_options;
    struct serve_source source = {0};
    struct serve_index index = {0};
    struct server *server;
    struct error error = {0};
    int status;
    int r;

    if (n == 0)
        return cli_usage_error(verb, "no trace file given");
    for (int i = 0; i < n; i++)
        if (strcmp(paths[i], "-") == 0)
            return cli_usage_error(
                verb,
                "standard input cannot be read again for its events; give the path of a file");
    r = server_open(options->listen, &server, &error);
    if (r < 0)
        return cli_print_failure(&error, r);
    open_options_apply(&options->open, &trace_options);
    source_options.trace = &trace_options;
    status = span_rules_check_syntax(verb, &source_options.pairs);
    if (status == EXIT_SUCCESS) {
        r = serve_source_init(&source_options, (const char *const *)paths, (unsigned)n, &source,
                              &error);
        status = r < 0 ? cli_print_failure(&error, r) : EXIT_SUCCESS;
    }
    if (status == EXIT_SUCCESS && serve_source_key(&source, source.key) < 0)
        *source.key = '\0';
    if (status == EXIT_SUCCESS)
        status = open_index(&source, &index);
    if (status == EXIT_SUCCESS)
        status = run_server(server, options, &source, &index, hooks);
    else
        server_stop(server);
    serve_index_done(&index);
    serve_source_done(&source);
    return status;
}

int cmd_serve(int argc, char **argv)
{
    struct serve_options options = SERVE_OPTIONS_DEFAULT;
    int status = EXIT_FAILURE;
    int n;

    if (options_parse(&serve_command, argc, argv, &options, &n, &status))
        status = serve_run("serve", &options, argv + 1, n, NULL);
    serve_options_done(&options);
    return status;
}
