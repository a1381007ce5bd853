/* SPDX-License-Identifier: MIT */
#pragma once

/* Follows a recording under way: indexes it again while it grows, as often as a share of one CPU permits, and once more
 * when it has ended. Only the last index is kept. */

#include <pthread.h>
#include <stdatomic.h>

#include "index/index.h"
#include "serve/trace_index.h"

/* Zeroed: not followed. */
struct serve_live {
    const struct serve_source *source;
    struct server *server;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    atomic_bool stops;
    struct index_summary shown;
    void (*note)(const char *text);
    bool started;
};

/* Begins to follow SOURCE in a thread, and publishes each index to SERVER, which shows one of SHOWN; both must outlive it.
 * NOTE is called in that thread with why the trace cannot be indexed once more; NULL: it is not. -errno. */
int serve_live_start(struct serve_live *live, const struct serve_source *source,
                     struct server *server, const struct index_summary *shown,
                     void (*note)(const char *text));
/* Ends it, also in the middle of an index. */
void serve_live_stop(struct serve_live *live);
