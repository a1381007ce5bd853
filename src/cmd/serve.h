/* SPDX-License-Identifier: MIT */
#pragma once

/* What strata serve and strata view have in common: the index, the server, and its end. */

#include "cmd/walk.h"
#include "serve/trace_index.h"

struct serve_options {
    struct open_options open;
    struct serve_source_options source; /* its trace options are those of `open` */
    const char *listen;                 /* NULL: this machine only, a free port */
    struct time_limit from, to;         /* what the page opens with; not given: all */
};
#define SERVE_OPTIONS_DEFAULT                        \
    {                                                \
        .source.index_cache_size = UINT64_C(1) << 30 \
    }

void serve_options_done(struct serve_options *options);
/* --pair, --pairs and --index-cache-size; --listen. */
extern const struct cli_option serve_pair_option_table[], serve_listen_option_table[];

/* Serves the N traces PATHS until a signal ends it. STARTED, which may be NULL, is called once with the address; STOPPED,
 * too, at the end. An exit status; errors are printed. */
struct serve_hooks {
    void (*started)(void *arg, const char *address);
    void (*stopped)(void *arg);
    void *arg;
};
int serve_run(const char *verb, const struct serve_options *options, char **paths, int n,
              const struct serve_hooks *hooks);
