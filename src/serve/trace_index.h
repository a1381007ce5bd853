/* SPDX-License-Identifier: MIT */
#pragma once

/* Gets the index of what is served: from the user's cache, or by building it. */

#include <stdatomic.h>

#include "analysis/spans/span_rules_user.h"
#include "base/strings.h"
#include "base/text.h"
#include "index/cache.h"
#include "trace/trace.h"

struct index;
struct server;

struct serve_source_options {
    const struct trace_options *trace;
    struct strings pairs, files; /* rules of spans, and files with rules */
    uint64_t index_cache_size;   /* in bytes */
};

/* What is served, and everything on which its index depends. */
struct serve_source {
    const struct serve_source_options *options;
    const char *const *paths;
    unsigned n_paths;
    struct text name; /* of the traces, with a NUL */
    struct span_rules_user pairs;
    struct text directory, settings; /* of the cache */
    char key[INDEX_CACHE_KEY_SIZE];  /* serve_source_key() before indexing */
};

/* OPTIONS and PATHS are borrowed. A negative errno with ERROR. Call serve_source_done() also after a failure. */
int serve_source_init(const struct serve_source_options *options, const char *const *paths,
                      unsigned n_paths, struct serve_source *ret, struct error *error);
void serve_source_done(struct serve_source *source);
/* True if it is being recorded. */
bool serve_source_is_live(const struct serve_source *source);
/* Gets a text that changes with the data of the traces: index_cache_data_key(). */
int serve_source_key(const struct serve_source *source, char ret_key[INDEX_CACHE_KEY_SIZE]);

struct serve_index {
    struct index *index;
    bool is_ticks;        /* the rate of its clock is unknown */
    bool live;            /* it has what was recorded so far, and is not cached */
    char clock[64];       /* of its times */
    unsigned n_missing;   /* sources that it lacks */
    bool has_losses;      /* as in struct server_data */
    struct strings notes; /* copies */
};

/* Reports about the first index to the user. Each may be NULL. */
struct serve_index_hooks {
    void (*note)(void *arg, const char *text);
    void (*opened)(void *arg, const struct trace *trace);
    void (*progress)(void *arg, uint64_t done, uint64_t total);
    void *arg;
};

/* Makes the first index. Waits for a recording to begin. A negative errno with ERROR. */
int serve_index_open(const struct serve_source *source, const struct serve_index_hooks *hooks,
                     struct serve_index *ret, struct error *error);
/* Makes a later index. -ECANCELED if STOPS becomes true. A negative errno with ERROR. */
int serve_index_renew(const struct serve_source *source, bool live, const atomic_bool *stops,
                      struct serve_index *ret, struct error *error);
/* Passes the index to SERVER. On -ENOMEM the caller keeps it. */
int serve_index_publish(struct serve_index *index, struct server *server);
void serve_index_done(struct serve_index *index);
