/* SPDX-License-Identifier: MIT */
#pragma once

/* Keeps the page of a running recording up to date. A reader (live/reader.h) makes the recorder flush, and tells when
 * the files have grown and when the recording has ended. Then the trace is indexed again. Only the last index is kept.
 *
 * An index is built from the beginning of the trace, not extended. Engines end their open spans and states to write an
 * index, so they cannot continue. New data also change earlier results: times, because the clocks are compared again,
 * and the order, because events of late sources belong between others. The cost is bounded: at most a quarter of a CPU
 * per recording, because the reader rests three times as long as a build computes, and the memory of one build. So what
 * is shown is at most about four builds old. While no client uses the server (serve/audience.h), nothing is read. */

#include <pthread.h>
#include <stdatomic.h>

#include "index/index.h"
#include "serve/trace_index.h"

struct serve_live_reader;

/* Zeros follow nothing. */
struct serve_live {
    const struct serve_source *source;
    struct server *server;
    struct serve_live_reader *readers; /* of the traces that are being recorded */
    unsigned n_readers, n_running;
    pthread_t thread;
    int wakeup; /* an eventfd to stop it */
    atomic_bool stops;
    struct index_summary shown;
    void (*note)(const char *text);
    bool started;
};

/* Begins to follow SOURCE in a thread, and publishes each index to SERVER, which shows an index with the summary SHOWN.
 * SOURCE and SERVER must outlive it. NOTE is called in that thread with why the trace cannot be indexed again, and with
 * NULL when it can. A negative errno. */
int serve_live_start(struct serve_live *live, const struct serve_source *source,
                     struct server *server, const struct index_summary *shown,
                     void (*note)(const char *text));
/* Ends the thread, also while it builds an index. */
void serve_live_stop(struct serve_live *live);
