/* SPDX-License-Identifier: MIT */
#include "record/watch/metrics_recorder.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/listen.h"
#include "metrics/file.h"
#include "metrics/http.h"
#include "record/recording.h"
#include "record/watch/metrics_collector.h"
#include "record/watch_process.h"
#include "watch/families_feed.h"

/* How often the file is written: monitoring systems read it no more often. */
#define FILE_INTERVAL_NS (10 * NSEC_PER_SEC)
/* How long the process that reads what is recorded may go on after the end. */
#define READ_REST_S 60
/* How often it is looked at then. */
#define LOOK_INTERVAL_NS (NSEC_PER_SEC / 20)

struct metrics_recorder {
    struct recorder recorder;
    struct metrics_recorder_settings settings;
    struct metrics *metrics;
    struct metrics_collector *collector;
    struct metrics_server *server;                      /* NULL: none */
    char address[sizeof((struct listeners *)0)->shown]; /* of that */
    uint64_t write_at;                                  /* the file */
    bool was_there;                                     /* the file, before the recording */
    bool is_failure_reported;                           /* of writing it */
    /* Of analyses. */
    struct families_reader *reader; /* NULL: none */
    const struct record_watch *watch;
    struct watch_process *process;    /* NULL: none, or another recorder's */
    const struct recorder *elsewhere; /* that recorder; NULL: none */
    uint64_t ends_at;                 /* the process, at the latest; 0: it was not asked to */
    bool is_hurried;                  /* by a second signal */
};

static struct metrics_recorder *self_of(struct recorder *recorder)
{
    return container_of(recorder, struct metrics_recorder, recorder);
}

static void collect(void *userdata)
{
    struct metrics_recorder *self = userdata;

    metrics_collector_run(self->collector, self->recorder.recording);
    if (self->reader)
        families_reader_collect(self->reader, clock_ns(CLOCK_MONOTONIC));
}

static int write_file(struct metrics_recorder *self, struct error *error)
{
    if (!self->settings.file)
        return 0;
    collect(self);
    self->write_at = clock_ns(CLOCK_MONOTONIC) + FILE_INTERVAL_NS;
    return metrics_write_file(self->metrics, self->settings.file, error);
}

/* A disk that is full may have room later: the recording goes on, and the next write tries again. */
static void rewrite_file(struct metrics_recorder *self)
{
    struct error error = {0};
    char text[sizeof error.path + sizeof error.what + 40];

    if (write_file(self, &error) >= 0) {
        self->is_failure_reported = false;
    } else if (!self->is_failure_reported) {
        self->is_failure_reported = true;
        error_print(&error, text, sizeof text);
        recorder_report(&self->recorder, "%s", text);
    }
}

/* ---- Metrics of analyses ---- */

/* Without conditions, there is nothing to report of them. */
static void fired(void *userdata, unsigned index, uint64_t time, const char *text)
{
    (void)userdata;
    (void)index;
    (void)time;
    (void)text;
}

static void problem(void *userdata, unsigned index, const char *text)
{
    struct metrics_recorder *self = userdata;

    (void)index;
    recorder_report(&self->recorder, "metrics of analyses: %s", text);
}

void metrics_recorder_line(void *userdata, const char *line, size_t len)
{
    struct metrics_recorder *self = self_of(userdata);
    char text[FAMILIES_LINE_MAX];
    size_t start = sizeof FAMILIES_LINE_PREFIX - 1;

    if (!self->reader || len <= start || len > sizeof text ||
        strncmp(line, FAMILIES_LINE_PREFIX, start) != 0)
        return;
    memcpy(text, line + start, len - start - 1);
    text[len - start - 1] = '\0';
    (void)families_reader_line(self->reader, text);
}

static void other(void *userdata, const char *line, size_t len)
{
    struct metrics_recorder *self = userdata;

    metrics_recorder_line(&self->recorder, line, len);
}

static int start_process(struct metrics_recorder *self, struct error *error)
{
    const struct watch_process_handler handler = {
        .fired = fired, .problem = problem, .other = other, .userdata = self};

    return watch_process_start(record_watch_run, (void *)(uintptr_t)self->watch, 0, &handler,
                               &self->recorder, &self->process, error);
}

/* All others have ended: whether the process has read the rest, too. */
static bool has_read_rest(struct metrics_recorder *self, uint64_t now)
{
    if (self->ends_at == 0) {
        self->ends_at = now + READ_REST_S * NSEC_PER_SEC;
        if (self->process)
            watch_process_stop(self->process);
    }
    if (self->elsewhere ? self->elsewhere->state == RECORDER_FINISHED
                        : !self->process || watch_process_has_ended(self->process))
        return true;
    if (now < self->ends_at)
        return false;
    if (self->is_hurried)
        recorder_report(&self->recorder,
                        "metrics of analyses: what was recorded last was not read before the "
                        "second signal, and is missing");
    else
        recorder_report(&self->recorder,
                        "metrics of analyses: what was recorded last was not read in %u seconds, "
                        "and is missing",
                        READ_REST_S);
    return true;
}

/* ---- The recorder ---- */

static int start(struct recorder *recorder, struct error *error)
{
    struct metrics_recorder *self = self_of(recorder);
    int r = self->watch ? start_process(self, error) : 0;

    self->was_there = self->settings.file && access(self->settings.file, F_OK) == 0;
    if (r >= 0)
        r = write_file(self, error);
    if (r < 0) {
        watch_process_free(self->process);
        self->process = NULL;
    }
    return r;
}

static void poll_fds(struct recorder *recorder, struct recorder_wait *wait)
{
    struct metrics_recorder *self = self_of(recorder);
    unsigned n = 0;
    const int *fds = self->server ? metrics_server_fds(self->server, &n) : NULL;
    uint64_t timeout = self->server ? metrics_server_timeout(self->server) : UINT64_MAX;

    for (unsigned i = 0; i < n; i++)
        recorder_wait_fd(wait, fds[i], POLLIN);
    if (timeout != UINT64_MAX)
        recorder_wait_until(wait, clock_ns(CLOCK_MONOTONIC) + timeout);
    if (self->settings.file)
        recorder_wait_until(wait, self->write_at);
    if (self->process)
        watch_process_poll(self->process, wait);
    if (self->ends_at > 0)
        recorder_wait_until(wait, MIN(self->ends_at, clock_ns(CLOCK_MONOTONIC) + LOOK_INTERVAL_NS));
    else if (!recording_is_under_way(recorder->recording))
        recorder_wait_until(wait, 0);
}

static int step(struct recorder *recorder, const struct pollfd *fds, unsigned n, uint64_t now,
                struct error *error)
{
    struct metrics_recorder *self = self_of(recorder);

    (void)fds;
    (void)n;
    (void)error;
    if (self->server)
        metrics_server_run(self->server);
    if (self->process)
        watch_process_step(self->process, now);
    if (self->settings.file && now >= self->write_at)
        rewrite_file(self);
    return recording_is_under_way(recorder->recording) || !has_read_rest(self, now);
}

/* It serves until the others have ended, which may take them long. */
static uint64_t stop(struct recorder *recorder, const struct recorder_stop *stop, uint64_t now)
{
    struct metrics_recorder *self = self_of(recorder);

    if (stop->urgency >= RECORDER_STOP_NOW) {
        self->ends_at = now;
        self->is_hurried = true;
    }
    return UINT64_MAX;
}

static int finish(struct recorder *recorder, struct error *error)
{
    struct metrics_recorder *self = self_of(recorder);

    (void)error;
    metrics_server_free(self->server);
    self->server = NULL;
    watch_process_free(self->process);
    self->process = NULL;
    if (self->settings.file)
        rewrite_file(self);
    return 0;
}

static void discard(struct recorder *recorder)
{
    struct metrics_recorder *self = self_of(recorder);

    if (self->settings.file && !self->was_there)
        (void)unlink(self->settings.file);
}

static void free_recorder(struct recorder *recorder)
{
    struct metrics_recorder *self = self_of(recorder);

    metrics_server_free(self->server);
    watch_process_free(self->process);
    families_reader_free(self->reader);
    metrics_collector_free(self->collector);
    metrics_free(self->metrics);
    free(self);
}

static const struct recorder_ops ops = {
    .start = start,
    .poll = poll_fds,
    .step = step,
    .stop = stop,
    .finish = finish,
    .discard = discard,
    .free = free_recorder,
};

/* ---- Making it ---- */

static int open_server(struct metrics_recorder *self, struct error *error)
{
    const char *where = self->settings.listen;
    struct listeners listeners = {0};
    int r = listeners_open(where, &listeners, error);

    if (r == -EADDRINUSE) {
        error_clear(error);
        return error_set(error, r, NULL,
                         "--metrics: the port of '%s' is in use; choose another, or 0 for a free "
                         "one",
                         where);
    }
    if (r < 0)
        return r;
    r = metrics_server_new(listeners.fds, listeners.n, self->metrics, collect, self, &self->server,
                           error);
    if (r < 0) {
        listeners_close(&listeners);
        return r;
    }
    snprintf(self->address, sizeof self->address, "%s", listeners.shown);
    return 0;
}

int metrics_recorder_new(const struct metrics_recorder_settings *settings, struct recorder **ret,
                         struct error *error)
{
    struct metrics_recorder *self = calloc(1, sizeof *self);
    int r;

    if (!self)
        return -ENOMEM;
    self->recorder.ops = &ops;
    self->recorder.name = "metrics";
    self->recorder.is_service = true;
    self->settings = *settings;
    r = metrics_new(&self->metrics);
    if (r >= 0)
        r = metrics_collector_new(self->metrics, &self->collector);
    if (r >= 0 && settings->listen)
        r = open_server(self, error);
    if (r < 0) {
        free_recorder(&self->recorder);
        return r;
    }
    *ret = &self->recorder;
    return 0;
}

const char *metrics_recorder_address(const struct recorder *recorder)
{
    const struct metrics_recorder *self =
        const_container_of(recorder, struct metrics_recorder, recorder);

    return *self->address ? self->address : NULL;
}

int metrics_recorder_watch(struct recorder *recorder, const struct record_watch *watch,
                           const struct recorder *elsewhere)
{
    struct metrics_recorder *self = self_of(recorder);
    int r = families_reader_new(self->metrics, &self->reader);

    self->elsewhere = elsewhere;
    if (!elsewhere)
        self->watch = watch;
    return r;
}
