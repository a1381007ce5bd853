/* SPDX-License-Identifier: MIT */
#include "serve/live_index.h"

#include <malloc.h>
#include <string.h>

#include "base/clock_ns.h"
#include "serve/serve.h"

/* How often the recording is looked at. */
#define POLL_NS NSEC_PER_SEC
/* After an index, this many times as long as it took nothing is done. */
#define IDLE_SHARE 3u

/* Until UNTIL, of CLOCK_MONOTONIC. False: it is to stop. */
static bool wait_until(struct serve_live *live, uint64_t until)
{
    const struct timespec time = {(time_t)(until / NSEC_PER_SEC), (long)(until % NSEC_PER_SEC)};
    int r = 0;

    pthread_mutex_lock(&live->lock);
    while (!atomic_load(&live->stops) && r == 0)
        r = pthread_cond_timedwait(&live->changed, &live->lock, &time);
    pthread_mutex_unlock(&live->lock);
    return !atomic_load(&live->stops);
}

static bool is_same(const struct index_summary *a, const struct index_summary *b)
{
    return a->begin == b->begin && a->end == b->end && a->n_events == b->n_events &&
           a->n_lost == b->n_lost && a->n_tracks == b->n_tracks && a->n_names == b->n_names &&
           a->error_ns == b->error_ns;
}

/* Indexes what there is, and shows it unless nothing is new. -errno with ERROR: what was shown before stays. */
static int renew(struct serve_live *live, bool is_live, struct error *error)
{
    struct serve_index index = {0};
    struct index_summary summary;
    int r = serve_index_renew(live->source, is_live, &live->stops, &index, error);

    if (r == 0) {
        summary = *index_summary(index.index);
        if (!is_live || !is_same(&summary, &live->shown))
            r = serve_index_publish(&index, live->server);
    }
    if (r == 0)
        live->shown = summary;
    serve_index_done(&index);
    /* What one index needed in memory is not kept for the next. */
    malloc_trim(0);
    return r;
}

static void finish(struct serve_live *live)
{
    struct error error = {0};
    char why[1024];
    int r = renew(live, false, &error);

    if (r == 0 || atomic_load(&live->stops))
        return;
    if (live->note) {
        if (error.code == 0)
            error_set(&error, r, NULL, "%s", error_text(r));
        error_print(&error, why, sizeof why);
        live->note(why);
    }
    server_set_ended(live->server);
}

/* The key is taken before the index is built, so that what is written meanwhile makes another. */
static void *follow(void *arg)
{
    struct serve_live *live = arg;
    char shown[INDEX_CACHE_KEY_SIZE] = "", key[INDEX_CACHE_KEY_SIZE];
    uint64_t next = 0;

    while (wait_until(live, clock_ns(CLOCK_MONOTONIC) + POLL_NS)) {
        uint64_t begin = clock_ns(CLOCK_MONOTONIC);
        struct error error = {0};

        if (!serve_source_is_live(live->source)) {
            finish(live);
            break;
        }
        if (begin < next || serve_source_key(live->source, key) < 0 || strcmp(key, shown) == 0)
            continue;
        /* A trace that cannot be read at this moment may be so at the next. */
        if (renew(live, true, &error) == 0)
            memcpy(shown, key, sizeof shown);
        next = clock_ns(CLOCK_MONOTONIC);
        next += (next - begin) * IDLE_SHARE;
    }
    return NULL;
}

int serve_live_start(struct serve_live *live, const struct serve_source *source,
                     struct server *server, const struct index_summary *shown,
                     void (*note)(const char *text))
{
    pthread_condattr_t attributes;
    int r;

    live->source = source;
    live->server = server;
    live->shown = *shown;
    live->note = note;
    pthread_mutex_init(&live->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&live->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    r = pthread_create(&live->thread, NULL, follow, live);
    live->started = r == 0;
    return -r;
}

void serve_live_stop(struct serve_live *live)
{
    if (!live->started)
        return;
    pthread_mutex_lock(&live->lock);
    atomic_store(&live->stops, true);
    pthread_cond_signal(&live->changed);
    pthread_mutex_unlock(&live->lock);
    pthread_join(live->thread, NULL);
    pthread_cond_destroy(&live->changed);
    pthread_mutex_destroy(&live->lock);
    live->started = false;
}
