/* SPDX-License-Identifier: MIT */
/* strata serve: shows a trace to browsers, and to viewers that speak the Trace Server Protocol. */

#include "cmd/serve.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/size.h"
#include "cmd/cmd.h"
#include "cmd/serve_live.h"
#include "index/index.h"
#include "record/stop_signals.h"
#include "serve/serve.h"

#define MEMBER(m) offsetof(struct serve_options, m)

const struct option serve_pair_option_table[] = {
    {OPTION_STRINGS, 'p', "pair", "RULE", "also show the spans of RULE, as in strata latency",
     MEMBER(pairs)},
    {OPTION_STRINGS, 0, "pairs", "FILE", "the same for the rules of a file, one per line",
     MEMBER(files)},
    {OPTION_PARSED, 0, "index-cache-size", "SIZE",
     "remove the least recently used indexes of other\n"
     "traces beyond SIZE in all (1G)",
     MEMBER(index_cache_size), NULL, size_parse},
    {OPTION_END},
};

const struct option serve_listen_option_table[] = {
    {OPTION_STRING, 0, "listen", "ADDRESS",
     "HOST, PORT or HOST:PORT to listen on (this machine\n"
     "only, a free port)",
     MEMBER(listen)},
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
    strings_done(&options->pairs);
    strings_done(&options->files);
}

/* The server's address, and after # what the page opens with (src/serve/web/view/address.ts): ns since the begin. */
static void put_address(const struct server *server, const struct serve_source *source,
                        const struct index_summary *shown, bool is_ticks, struct text *ret)
{
    const struct time_limit *from = &source->options->from, *to = &source->options->to;
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

/* INDEX becomes the server's. */
static int run_server(struct server *server, struct serve_source *source, struct serve_index *index,
                      const struct serve_hooks *hooks)
{
    const struct server_options server_options = {
        .name = source->name.start,
        .paths = (const char *const *)source->paths,
        .n_paths = (unsigned)source->n,
        .trace_options = &source->trace_options,
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
        r = serve_live_start(&live, source, server, &shown);
    if (r < 0) {
        server_stop(server);
        stop_signals_close(&signals);
        return cli_print_failure(&error, r);
    }
    put_address(server, source, &shown, is_ticks, &address);
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
    if (status == EXIT_SUCCESS && source->options->open.strict && server_has_losses(server))
        status = EXIT_LOSSES;
    server_stop(server);
    if (hooks && hooks->stopped)
        hooks->stopped(hooks->arg);
    stop_signals_close(&signals);
    return status;
}

int serve_run(const char *verb, const struct serve_options *options, char **paths, int n,
              const struct serve_hooks *hooks)
{
    struct serve_source source;
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
    status = serve_source_init(verb, options, paths, n, &source);
    if (status == EXIT_SUCCESS && serve_source_key(&source, source.key) < 0)
        *source.key = '\0';
    if (status == EXIT_SUCCESS)
        status = serve_index_open(&source, &index);
    if (status == EXIT_SUCCESS)
        status = run_server(server, &source, &index, hooks);
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
