/* SPDX-License-Identifier: MIT */
#pragma once

/* The index of what is served: from the user's cache, or built. */

#include <stdatomic.h>

#include "cmd/pairs.h"
#include "cmd/serve.h"
#include "index/cache.h"

struct index;
struct server;

/* What is served, and all that its index depends on. */
struct serve_source {
    const struct serve_options *options;
    char **paths;
    int n;
    struct text name; /* of the traces, ended by a NUL */
    struct trace_options trace_options;
    struct pairs pairs;
    struct text directory, settings; /* of the cache */
    char key[INDEX_CACHE_KEY_SIZE];  /* serve_source_key() before it was indexed */
};

/* OPTIONS and PATHS are borrowed. An exit status; errors are printed. serve_source_done() also after a failure. */
int serve_source_init(const char *verb, const struct serve_options *options, char **paths, int n,
                      struct serve_source *ret);
void serve_source_done(struct serve_source *source);
/* True if it is being recorded. */
bool serve_source_is_live(const struct serve_source *source);
/* A text that changes with the traces: index_cache_key(). */
int serve_source_key(const struct serve_source *source, char ret_key[INDEX_CACHE_KEY_SIZE]);

struct serve_index {
    struct index *index;
    bool is_ticks;        /* the rate of its clock is unknown */
    bool live;            /* of what has been recorded so far; it is not kept */
    char clock[64];       /* that its times are of */
    unsigned n_missing;   /* sources that it has not */
    bool has_losses;      /* as in struct server_data */
    struct strings notes; /* copies */
};

/* The first one, with progress, notes and errors on the terminal. An exit status. */
int serve_index_open(const struct serve_source *source, struct serve_index *ret);
/* A later one; prints nothing. STOPS becomes true: -ECANCELED. A negative errno with ERROR. */
int serve_index_renew(const struct serve_source *source, bool live, const atomic_bool *stops,
                      struct serve_index *ret, struct error *error);
/* Hands the index over to SERVER. -ENOMEM: it stays. */
int serve_index_publish(struct serve_index *index, struct server *server);
void serve_index_done(struct serve_index *index);
