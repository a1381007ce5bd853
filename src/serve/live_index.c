/* SPDX-License-Identifier: MIT */
#include "serve/live_index.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "live/reader.h"
#include "serve/audience.h"
#include "serve/serve.h"
#include "trace/directory.h"

#define PERIOD_NS NSEC_PER_SEC
#define REST 3u /* of a CPU, a quarter at most is used */

struct serve_live_reader {
    struct serve_live *live;
    const char *path; /* as the user gave it */
    char *dir;
    struct live_consumer consumer;
    struct live_reader *reader; /* NULL if the recording has ended */
    bool is_behind;             /* it has not read since clients are back */
};

static bool is_same(const struct index_summary *a, const struct index_summary *b)
{
    return a->begin == b->begin && a->end == b->end && a->n_events == b->n_events &&
           a->n_lost == b->n_lost && a->n_tracks == b->n_tracks && a->n_names == b->n_names &&
           a->error_ns == b->error_ns;
}

/* Indexes what there is, and shows it if there is something new. A negative errno with ERROR; then the earlier data
 * stay. */
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

/* What cannot be read now may be readable a period later. */
static int grown(void *arg, bool is_last)
{
    struct serve_live_reader *reader = arg;
    struct serve_live *live = reader->live;
    struct error error = {0};

    live->n_running -= is_last;
    if (live->n_running == 0)
        finish(live);
    else if (renew(live, true, &error) < 0)
        return -EAGAIN;
    return 0;
}

static bool is_recorded(void *arg)
{
    const struct serve_live_reader *reader = arg;

    return trace_is_live(&reader->path, 1, reader->live->source->options->trace->runtime_dir);
}

/* ---- Readers ---- */

static int open_reader(struct serve_live_reader *reader)
{
    const struct live_settings settings = {
        .dir = reader->dir,
        .consumer = &reader->consumer,
        .from = (int64_t)clock_ns(CLOCK_MONOTONIC),
        .period_ns = PERIOD_NS,
        .rest = REST,
        .is_recorded = is_recorded,
        .is_recorded_arg = reader,
    };

    reader->consumer = (struct live_consumer){.arg = reader, .grown = grown};
    return live_reader_new(&settings, &reader->reader);
}

static int open_readers(struct serve_live *live)
{
    const struct serve_source *source = live->source;

    live->readers = calloc(source->n_paths, sizeof *live->readers);
    if (!live->readers)
        return -ENOMEM;
    for (unsigned i = 0; i < source->n_paths; i++) {
        struct serve_live_reader *reader = &live->readers[live->n_readers];

        *reader = (struct serve_live_reader){.live = live, .path = source->paths[i]};
        if (source->n_paths > 1 && !is_recorded(reader))
            continue;
        reader->dir = directory_of_manifest(reader->path);
        if (!reader->dir)
            reader->dir = strdup(reader->path);
        live->n_readers++;
        if (!reader->dir || open_reader(reader) < 0)
            return -ENOMEM;
    }
    live->n_running = live->n_readers;
    return 0;
}

static void close_readers(struct serve_live *live)
{
    for (unsigned i = 0; i < live->n_readers; i++) {
        live_reader_free(live->readers[i].reader);
        free(live->readers[i].dir);
    }
    free(live->readers);
    live->readers = NULL;
    live->n_readers = 0;
}

/* Waits until a reader has something to do, or until it must stop. */
static int wait_for_readers(const struct serve_live *live)
{
    struct pollfd *fds = calloc(live->n_readers + (size_t)1, sizeof *fds);
    uint64_t now = clock_ns(CLOCK_MONOTONIC), due = UINT64_MAX, ns;
    struct timespec time;

    if (!fds)
        return -ENOMEM;
    for (unsigned i = 0; i < live->n_readers; i++) {
        const struct live_reader *reader = live->readers[i].reader;

        fds[i] = (struct pollfd){reader ? live_reader_fd(reader) : -1, POLLIN, 0};
        due = reader ? MIN(due, live_reader_due(reader)) : due;
    }
    fds[live->n_readers] = (struct pollfd){live->wakeup, POLLIN, 0};
    ns = due > now ? due - now : 0;
    time = (struct timespec){(time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC)};
    (void)ppoll(fds, live->n_readers + 1, &time, NULL);
    free(fds);
    return 0;
}

static bool is_flushing(const struct serve_live *live)
{
    for (unsigned i = 0; i < live->n_readers; i++)
        if (live->readers[i].reader && live_reader_is_flushing(live->readers[i].reader))
            return true;
    return false;
}

/* Reads nothing until a client is back. */
static void wait_for_audience(struct serve_live *live)
{
    struct audience *audience = server_audience(live->server);

    if (is_flushing(live) || audience_is_there(audience, clock_ns(CLOCK_MONOTONIC)))
        return;
    audience_wait(audience, live->wakeup);
    for (unsigned i = 0; i < live->n_readers; i++) {
        live->readers[i].is_behind = live->readers[i].reader != NULL;
        if (live->readers[i].reader)
            live_reader_resume(live->readers[i].reader);
    }
}

/* After each reader has looked once, requests need not wait any longer. */
static void note_step(struct serve_live *live, struct serve_live_reader *reader)
{
    reader->is_behind = false;
    for (unsigned i = 0; i < live->n_readers; i++)
        if (live->readers[i].is_behind)
            return;
    audience_set_current(server_audience(live->server));
}

static void *follow(void *arg)
{
    struct serve_live *live = arg;
    int r = 0;

    /* All have ended since the first index was built. */
    if (live->n_readers == 0)
        finish(live);
    while (!atomic_load(&live->stops) && live->n_running > 0 && r >= 0) {
        for (unsigned i = 0; i < live->n_readers && r >= 0; i++) {
            struct serve_live_reader *reader = &live->readers[i];

            if (!reader->reader)
                continue;
            r = live_reader_step(reader->reader);
            if (r != 0)
                note_step(live, reader);
            if (live_reader_has_ended(reader->reader)) {
                live_reader_free(reader->reader);
                reader->reader = NULL;
            }
        }
        if (r >= 0 && live->n_running > 0) {
            r = wait_for_readers(live);
            wait_for_audience(live);
        }
    }
    audience_set_current(server_audience(live->server));
    /* Without memory, what was shown last stays. */
    if (r < 0)
        server_set_ended(live->server);
    return NULL;
}

int serve_live_start(struct serve_live *live, const struct serve_source *source,
                     struct server *server, const struct index_summary *shown,
                     void (*note)(const char *text))
{
    int r;

    live->source = source;
    live->server = server;
    live->shown = *shown;
    live->note = note;
    r = open_readers(live);
    if (r >= 0) {
        live->wakeup = eventfd(0, EFD_CLOEXEC);
        r = live->wakeup < 0 ? -errno : -pthread_create(&live->thread, NULL, follow, live);
        live->started = r == 0;
        if (r < 0 && live->wakeup >= 0)
            close(live->wakeup);
    }
    if (r < 0)
        close_readers(live);
    return r;
}

void serve_live_stop(struct serve_live *live)
{
    const uint64_t one = 1;

    if (!live->started)
        return;
    atomic_store(&live->stops, true);
    (void)!write(live->wakeup, &one, sizeof one);
    pthread_join(live->thread, NULL);
    close(live->wakeup);
    close_readers(live);
    live->started = false;
}
