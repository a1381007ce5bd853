/* SPDX-License-Identifier: MIT */
#pragma once

/* What strata serve and strata view share: the index, the server, and its end. */

#include "cmd/walk.h"
#include "serve/trace_index.h"

struct serve_options {
    struct open_options open;
    struct serve_source_options source; /* its trace options are those of `open` */
    const char *listen;                 /* NULL: only this machine, a free port */
    struct time_limit from, to; /* the time that the page shows first; everything if not given */
};
#define SERVE_OPTIONS_DEFAULT                        \
    {                                                \
        .source.index_cache_size = UINT64_C(1) << 30 \
    }

void serve_options_done(struct serve_options *options);
/* --pair, --pairs and --index-cache-size; --listen. */
extern const struct cli_option serve_pair_option_table[], serve_listen_option_table[];

/* Serves the N traces PATHS until a signal ends it. Calls STARTED (may be NULL) once with the address, and STOPPED (may
 * be NULL) at the end. An exit status; errors are printed. */
struct serve_hooks {
    void (*started)(void *arg, const char *address);
    void (*stopped)(void *arg);
    void *arg;
};
int serve_run(const char *verb, const struct serve_options *options, char **paths, int n,
              const struct serve_hooks *hooks);
