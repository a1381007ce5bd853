/* SPDX-License-Identifier: MIT */
#pragma once

/* Keeps the page of a recording under way up to date: a reader (live/reader.h) has the recorder flush, and says when the files
 * have grown and when the recording has ended. The trace is then indexed again. Only the last index is kept.
 *
 * An index is built from the beginning of the trace, not extended. Its engines hold what is open, and end it to write an index,
 * so that they cannot go on. What comes also changes what was: times, as the clocks are compared again, and events of sources that were late,
 * which belong between others. The cost is bounded: at most a quarter of a CPU per recording, as the reader rests three times as
 * long as a build computes, and the memory of one build. So what is shown is at most about four builds old. While no client asks (serve/audience.h), nothing is read. */

#include <pthread.h>
#include <stdatomic.h>

#include "index/index.h"
#include "serve/trace_index.h"

struct serve_live_reader;

/* Zeroed: not followed. */
struct serve_live {
    const struct serve_source *source;
    struct server *server;
    struct serve_live_reader *readers; /* of the traces that are being recorded */
    unsigned n_readers, n_running;
    pthread_t thread;
    int wakeup; /* an eventfd: stop */
    atomic_bool stops;
    struct index_summary shown;
    void (*note)(const char *text);
    bool started;
};

/* Begins to follow SOURCE in a thread, and publishes each index to SERVER, which shows one of SHOWN; both must outlive it.
 * NOTE is called in that thread with why the trace cannot be indexed once more; NULL: it is not. A negative errno. */
int serve_live_start(struct serve_live *live, const struct serve_source *source,
                     struct server *server, const struct index_summary *shown,
                     void (*note)(const char *text));
/* Ends it, also in the middle of an index. */
void serve_live_stop(struct serve_live *live);
