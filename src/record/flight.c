/* SPDX-License-Identifier: MIT */
#include "record/flight.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/remove_dir.h"
#include "record/flight_report.h"
#include "record/recorder_internal.h"
#include "record/snapshot.h"
#include "tracedir/ask.h"
#include "tracedir/host.h"

#define CLIENTS_MAX 8u
#define LINE_MAX_BYTES 256u
/* An answer may be a path. */
#define ANSWER_MAX (PATH_MAX + 256u)
#define LATE_MAX 512u
/* Without descriptors for another client, they are tried for again then. */
#define ACCEPT_RETRY_NS (NSEC_PER_SEC / 10)

enum client_state {
    CLIENT_SENDS,    /* its request */
    CLIENT_WAITS,    /* its request is whole, and its turn will come */
    CLIENT_FLUSHES,  /* the recorders are asked for what they hold, for it */
    CLIENT_IS_SAVED, /* its snapshot is copied */
};

struct client {
    int fd; /* -1: none */
    /* Of the recording itself, which has no descriptor; NULL: a socket's. */
    struct flight_request *request;
    enum client_state state;
    char line[LINE_MAX_BYTES];
    size_t len;
    uint64_t number; /* of its connection */
};

struct flight {
    struct recorder recorder;
    struct retention_limit limit;
    struct retention *retention;
    struct flight_report *report; /* NULL: everything is kept, and the end reports */
    uint64_t report_at;           /* CLOCK_MONOTONIC, ns */
    int listener;
    uint64_t accept_at; /* CLOCK_MONOTONIC, ns: not before */
    uint64_t n_accepted;
    struct client
        clients[CLIENTS_MAX + 1]; /* of the socket; the last one is the recording itself */
    bool is_flushing;
    uint64_t flushed_at, flush_by;  /* CLOCK_MONOTONIC, ns: since when, and until when at most */
    struct manifest_moment flushed; /* the same, before the recorders were asked */
    struct client *asker;           /* of the present snapshot; NULL: there is none */
    char name[SNAPSHOT_NAME_MAX];   /* … and its name */
    pid_t saver;                    /* the child that copies; 0: none */
    int answers;                    /* its answer comes here; -1 */
    unsigned holders;
    bool is_stopping;
    bool is_retention_reported; /* that it failed */
    bool is_short_reported;     /* … that the disk was nearly full */
};

static struct flight *self_of(struct recorder *recorder)
{
    return container_of(recorder, struct flight, recorder);
}

/* ---- Requests ---- */

static void close_client(struct client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    *client = (struct client){.fd = -1};
}

/* "ok …" or "error …" */
static void answer(struct client *client, const char *verdict, const char *text)
{
    struct flight_request *request = client->request;
    char line[ANSWER_MAX + 16];
    int n;

    if (request) {
        close_client(client);
        request->done(request->userdata, strcmp(verdict, "ok") == 0, text);
        return;
    }
    n = snprintf(line, sizeof line, "%s %s\n", verdict, text);
    if (client->fd >= 0)
        (void)send(client->fd, line, MIN((size_t)n, sizeof line - 1), MSG_NOSIGNAL | MSG_DONTWAIT);
    close_client(client);
}

static int listen_at(struct flight *self, struct error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    mode_t mask;
    int r;

    self->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (self->listener < 0)
        return error_set(error, -errno, TRACEDIR_SOCKET, "cannot make the socket: %s",
                         strerror(errno));
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" TRACEDIR_SOCKET,
             recording_dir(self->recorder.recording));
    mask = umask(0177);
    r = bind(self->listener, (const struct sockaddr *)&address, sizeof address);
    umask(mask);
    if (r == 0 && listen(self->listener, CLIENTS_MAX) == 0)
        return 0;
    r = error_set(error, -errno, TRACEDIR_SOCKET, "cannot make the socket: %s", strerror(errno));
    close(self->listener);
    self->listener = -1;
    return r;
}

/* Where another client can be: one that has not sent its request for the longest time gives way. NULL: all are being served. */
static struct client *find_room(struct flight *self)
{
    struct client *oldest = NULL;

    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        struct client *client = &self->clients[i];

        if (client->fd < 0)
            return client;
        if (client->state == CLIENT_SENDS && (!oldest || client->number < oldest->number))
            oldest = client;
    }
    return oldest;
}

/* One: the others wait in the socket's queue, until this one has had the time to send. */
static void accept_client(struct flight *self, uint64_t now)
{
    struct client *client = find_room(self);
    int fd = client ? accept4(self->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;

    if (fd >= 0) {
        if (client->fd >= 0)
            answer(client, "error", "others asked meanwhile; send the request at once");
        client->fd = fd;
        client->number = ++self->n_accepted;
    } else if (client && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        self->accept_at = now + ACCEPT_RETRY_NS;
    }
}

static void read_client(struct client *client)
{
    ssize_t n = recv(client->fd, client->line + client->len, sizeof client->line - 1 - client->len,
                     MSG_DONTWAIT);
    char *end;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        close_client(client);
        return;
    }
    client->len += (size_t)n;
    end = memchr(client->line, '\n', client->len);
    if (end) {
        *end = '\0';
        client->state = CLIENT_WAITS;
    } else if (client->len == sizeof client->line - 1) {
        answer(client, "error", "the request is too long");
    }
}

/* ---- Requests that need what the recorders hold ---- */

static bool all_flushed(const struct flight *self)
{
    unsigned n;
    struct recorder *const *recorders = recording_recorders(self->recorder.recording, &n);

    for (unsigned i = 0; i < n; i++)
        if (recorder_is_late(recorders[i]))
            return false;
    return true;
}

static void flush_all(struct flight *self, uint64_t now)
{
    unsigned n;
    struct recorder *const *recorders = recording_recorders(self->recorder.recording, &n);

    self->flushed = host_moment();
    for (unsigned i = 0; i < n; i++)
        if (recorders[i]->state == RECORDER_RUNNING && recorders[i]->ops->flush)
            recorders[i]->ops->flush(recorders[i], now);
    self->is_flushing = true;
    self->flushed_at = now;
    self->flush_by = now + FLIGHT_FLUSH_NS;
}

/* It is flushed, and yet what was recorded last may be missing. */
static bool is_paused(const struct recorder *recorder)
{
    return recorder->state == RECORDER_RUNNING && !recorder_is_late(recorder) &&
           recorder->ops->missing_reason && recorder->ops->missing_reason(recorder);
}

/* WORD, and the sources whose recorders IS_SO is true of; nothing where none is. */
static void put_sources(const struct flight *self, const char *word,
                        bool (*is_so)(const struct recorder *recorder), char *buf, size_t size)
{
    unsigned n;
    struct recorder *const *recorders = recording_recorders(self->recorder.recording, &n);
    struct arena arena = {0};
    size_t len = 0;

    buf[0] = '\0';
    for (unsigned i = 0; i < n; i++) {
        struct recorder_sources sources = {0};

        if (!is_so(recorders[i]) || !recorders[i]->ops->sources ||
            recorders[i]->ops->sources(recorders[i], &arena, &sources) < 0)
            continue;
        for (unsigned j = 0; j < sources.n && len < size; j++)
            if (!manifest_source_has_ended(&sources.items[j]))
                len += (size_t)snprintf(buf + len, size - len, "%s %s", len == 0 ? word : "",
                                        sources.items[j].name);
    }
    arena_done(&arena);
}

/* What CLIENT names it, or one of this second, into BUF. */
static int choose_name(int snapshots, const struct client *client,
                       char buf[static SNAPSHOT_NAME_MAX])
{
    const char *name = client->line + strlen("snapshot");
    time_t now = time(NULL);
    struct tm tm;
    char date[32];

    if (client->request)
        return snapshot_make_numbered(snapshots, client->request->name, buf);
    name += *name == ' ';
    if (*name) {
        snprintf(buf, SNAPSHOT_NAME_MAX, "%s", name);
        return snapshot_make(snapshots, buf);
    }
    if (!localtime_r(&now, &tm) || strftime(date, sizeof date, "%Y%m%d-%H%M%S", &tm) == 0)
        return -EOVERFLOW;
    return snapshot_make_numbered(snapshots, date, buf);
}

/* In DIR/snapshots a directory for what ASKER wants. */
static int begin(struct flight *self, struct client *asker)
{
    _cleanup_(closep) int snapshots = snapshots_open(recording_dir(self->recorder.recording));
    int r = snapshots;

    if (r >= 0)
        r = choose_name(snapshots, asker, self->name);
    if (r >= 0)
        self->asker = asker;
    return r;
}

/* A snapshot that may begin: whether it has. */
static bool handle_snapshot(struct flight *self, struct client *client)
{
    const char *name = client->line + strlen("snapshot");
    char text[ANSWER_MAX];
    int r;

    if (!client->request && *name && !snapshot_name_is_valid(name + 1)) {
        answer(client, "error",
               "the name of a snapshot has up to 99 letters, digits, '-', '_' and '.'");
        return false;
    }
    r = begin(self, client);
    if (r >= 0)
        return true;
    if (r == -EEXIST)
        snprintf(text, sizeof text, "there is a snapshot '%s'", *name ? name + 1 : "");
    else
        snprintf(text, sizeof text, "cannot make the directory: %s", strerror(-r));
    answer(client, "error", text);
    return false;
}

static bool is_snapshot(const struct client *client)
{
    const char *rest = client->line + strlen("snapshot");

    return client->request ||
           (strncmp(client->line, "snapshot", strlen("snapshot")) == 0 && (!*rest || *rest == ' '));
}

/* Whether it is its turn: snapshots are taken one after the other, and no flush begins while another goes on. */
static bool can_handle(const struct flight *self, const struct client *client)
{
    return client->state == CLIENT_WAITS && !self->is_flushing &&
           (!self->asker || !is_snapshot(client));
}

/* The requests that wait, as many as one flush is for. */
static void handle_requests(struct flight *self, uint64_t now)
{
    bool any = false;

    for (unsigned i = 0; i <= CLIENTS_MAX; i++) {
        struct client *client = &self->clients[i];

        if (!can_handle(self, client))
            continue;
        if (is_snapshot(client)) {
            if (!handle_snapshot(self, client))
                continue;
        } else if (strcmp(client->line, "flush") != 0) {
            answer(client, "error",
                   "unknown request; this version of strata knows 'snapshot' and 'flush'");
            continue;
        }
        client->state = CLIENT_FLUSHES;
        any = true;
    }
    if (any)
        flush_all(self, now);
}

/* ---- A snapshot ---- */

static void end_snapshot(struct flight *self, const char *verdict, const char *text)
{
    struct client *asker = self->asker;

    if (asker && strcmp(verdict, "ok") != 0)
        snapshot_remove_unfinished(recording_dir(self->recorder.recording), self->name);
    if (self->answers >= 0)
        close(self->answers);
    self->asker = NULL;
    self->answers = -1;
    /* Last: the recording may ask again at once. */
    if (asker)
        answer(asker, verdict, text);
}

/* Where it is, also where the directory was renamed meanwhile. */
static void put_snapshot_path(const struct flight *self, char *buf, size_t size)
{
    char link[32], path[PATH_MAX];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", recording_dir(self->recorder.recording));
    n = readlink(link, path, sizeof path - 1);
    path[MAX(n, 0)] = '\0';
    snprintf(buf, size, "%s/" SNAPSHOTS_DIR "/%s",
             n > 0 ? path : recording_path(self->recorder.recording), self->name);
}

/* In the child: what only the recorder serves is not kept open, should it end first. */
static void close_inherited(struct flight *self)
{
    if (self->listener >= 0)
        close(self->listener);
    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        if (self->clients[i].fd >= 0)
            close(self->clients[i].fd);
}

static void start_saving(struct flight *self)
{
    char text[ANSWER_MAX];
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0) {
        snprintf(text, sizeof text, "cannot make a pipe: %s", strerror(errno));
        end_snapshot(self, "error", text);
        return;
    }
    self->saver = fork();
    if (self->saver == 0) {
        const struct manifest_snapshot by_request = {.reason = "request", .time = host_moment()};
        const struct flight_request *request = self->asker->request;
        struct error error = {0};
        int r;

        (void)setsid();
        close_inherited(self);
        r = snapshot_save(self->recorder.recording, self->retention, self->name,
                          request ? request->about : &by_request, &self->flushed, &error);
        if (r < 0)
            error_print(&error, text, sizeof text);
        else
            put_snapshot_path(self, text, sizeof text);
        (void)write_all(ends[1], text, strlen(text));
        _exit(r < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
    }
    close(ends[1]);
    if (self->saver > 0)
        child_add_helper(self->saver);
    self->answers = ends[0];
    self->asker->state = CLIENT_IS_SAVED;
    if (self->saver < 0) {
        self->saver = 0;
        snprintf(text, sizeof text, "cannot start a process: %s", strerror(errno));
        end_snapshot(self, "error", text);
    }
}

/* The child has written its answer, and ended. */
static void end_saving(struct flight *self)
{
    char text[ANSWER_MAX];
    ssize_t n = read(self->answers, text, sizeof text - 1);
    int status = 0;

    text[MAX(n, 0)] = '\0';
    while (waitpid(self->saver, &status, 0) < 0 && errno == EINTR)
        ;
    child_remove_helper(self->saver);
    self->saver = 0;
    if (n <= 0)
        snprintf(text, sizeof text, "the process that saves it ended unexpectedly");
    if (status != 0 && self->asker && !self->asker->request) /* the recording itself reports */
        recorder_report(&self->recorder, "snapshot %s was not saved: %s", self->name, text);
    end_snapshot(self, status == 0 ? "ok" : "error", text);
}

/* All have brought what they held, or it has been waited for long enough. */
static void end_flush(struct flight *self)
{
    char late[LATE_MAX], paused[LATE_MAX], text[ANSWER_MAX];

    put_sources(self, " late", recorder_is_late, late, sizeof late);
    put_sources(self, "; paused", is_paused, paused, sizeof paused);
    snprintf(text, sizeof text, "%" PRIu64 "%s%s", self->flushed_at, late, paused);
    self->is_flushing = false;
    for (unsigned i = 0; i <= CLIENTS_MAX; i++)
        if (self->clients[i].state == CLIENT_FLUSHES && &self->clients[i] != self->asker)
            answer(&self->clients[i], "ok", text);
    if (self->asker && self->asker->state == CLIENT_FLUSHES)
        start_saving(self);
}

/* ---- What is kept ---- */

static void report_shortage(struct flight *self)
{
    bool is_short = retention_is_short(self->retention);

    if (is_short && !self->is_short_reported)
        recorder_report(&self->recorder,
                        "the disk is nearly full: less is kept than --flight says, "
                        "until there is space");
    self->is_short_reported |= is_short;
}

static void keep(struct flight *self, uint64_t now)
{
    unsigned n_recorders, n = 0;
    struct recorder *const *recorders = recording_recorders(self->recorder.recording, &n_recorders);
    struct manifest_source *sources = NULL;
    struct error error = {0};
    struct arena arena = {0};
    char text[ANSWER_MAX];
    int r = recorders_put_sources(recorders, n_recorders, &arena, &sources, &n);

    if (r >= 0)
        r = retention_step(self->retention, sources, n, now, self->saver == 0, &error);
    arena_done(&arena);
    report_shortage(self);
    if (r >= 0 || self->is_retention_reported)
        return;
    self->is_retention_reported = true;
    error_set(&error, r, NULL, "%s", strerror(-r));
    error_print(&error, text, sizeof text);
    recorder_report(&self->recorder, "more is kept than --flight says: %s", text);
}

/* ---- The recorder ---- */

static bool has_limit(const struct flight *self)
{
    return self->limit.ns > 0 || self->limit.bytes > 0;
}

static int start(struct recorder *recorder, struct error *error)
{
    struct flight *self = self_of(recorder);
    int r = retention_new(&self->limit, recording_dir(recorder->recording),
                          recording_path(recorder->recording), &self->retention, error);

    if (r < 0)
        return r;
    if (has_limit(self) && flight_report_new(recorder, &self->report) < 0)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    r = listen_at(self, error);
    if (r >= 0 || has_limit(self))
        return r;
    /* A file system without sockets is recorded to without snapshots. */
    error_clear(error);
    return 0;
}

static void poll_flight(struct recorder *recorder, struct recorder_wait *wait)
{
    struct flight *self = self_of(recorder);
    bool can_accept = find_room(self) && self->accept_at == 0;

    recorder_wait_fd(wait, can_accept ? self->listener : -1, POLLIN);
    if (self->accept_at > 0)
        recorder_wait_until(wait, self->accept_at);
    recorder_wait_fd(wait, self->answers, POLLIN);
    for (unsigned i = 0; i <= CLIENTS_MAX; i++) {
        const struct client *client = &self->clients[i];

        recorder_wait_fd(wait, client->state == CLIENT_SENDS ? client->fd : -1, POLLIN);
        if (can_handle(self, client))
            recorder_wait_until(wait, 0);
    }
    if (self->is_flushing)
        recorder_wait_until(wait, all_flushed(self) ? 0 : self->flush_by);
    recorder_wait_until(wait, retention_due(self->retention));
    if (self->report && !self->is_stopping)
        recorder_wait_until(wait, self->report_at);
}

static int step(struct recorder *recorder, const struct pollfd *fds, unsigned n, uint64_t now,
                struct error *error)
{
    struct flight *self = self_of(recorder);

    (void)error;
    if (n > 1 && fds[1].revents)
        end_saving(self);
    for (unsigned i = 0; i < CLIENTS_MAX && 2 + i < n; i++)
        if (fds[2 + i].revents && self->clients[i].fd >= 0)
            read_client(&self->clients[i]);
    if (now >= self->accept_at)
        self->accept_at = 0;
    if (n > 0 && fds[0].revents)
        accept_client(self, now);
    if (self->is_flushing && (now >= self->flush_by || all_flushed(self)))
        end_flush(self);
    if (self->is_stopping && self->holders == 0)
        return self->is_flushing || self->asker;
    handle_requests(self, now);
    if (self->report && !self->is_stopping && now >= self->report_at) {
        flight_report_step(self->report, now);
        self->report_at = now + FLIGHT_REPORT_INTERVAL_NS;
    }
    keep(self, now);
    return 1;
}

static uint64_t stop(struct recorder *recorder, const struct recorder_stop *stop, uint64_t now)
{
    (void)stop;
    (void)now;
    self_of(recorder)->is_stopping = true;
    return UINT64_MAX;
}

static int finish(struct recorder *recorder, struct error *error)
{
    struct flight *self = self_of(recorder);

    (void)error;
    if (self->saver > 0)
        end_saving(self);
    if (self->asker)
        end_snapshot(self, "error", "the recording has ended");
    for (unsigned i = 0; i <= CLIENTS_MAX; i++)
        answer(&self->clients[i], "error", "the recording has ended");
    if (self->listener >= 0) {
        close(self->listener);
        (void)unlinkat(recording_dir(recorder->recording), TRACEDIR_SOCKET, 0);
    }
    self->listener = -1;
    return 0;
}

static void free_flight(struct recorder *recorder)
{
    struct flight *self = self_of(recorder);

    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        close_client(&self->clients[i]);
    if (self->listener >= 0)
        close(self->listener);
    retention_free(self->retention);
    flight_report_free(self->report);
    free(self);
}

static const struct recorder_ops ops = {
    .start = start,
    .poll = poll_flight,
    .step = step,
    .stop = stop,
    .finish = finish,
    .free = free_flight,
};

int flight_recorder_new(const struct retention_limit *limit, struct recorder **ret)
{
    struct flight *self = calloc(1, sizeof *self);

    if (!self)
        return -ENOMEM;
    self->recorder.ops = &ops;
    self->recorder.name = "the flight recorder";
    self->recorder.is_service = true;
    self->limit = *limit;
    self->listener = self->answers = -1;
    for (unsigned i = 0; i <= CLIENTS_MAX; i++)
        self->clients[i].fd = -1;
    *ret = &self->recorder;
    return 0;
}

/* ---- The recording itself ---- */

void flight_request(struct recorder *recorder, struct flight_request *request)
{
    struct client *client = &self_of(recorder)->clients[CLIENTS_MAX];

    *client = (struct client){.fd = -1, .request = request, .state = CLIENT_WAITS};
    recorder_wake(recorder);
}

void flight_hold(struct recorder *recorder)
{
    self_of(recorder)->holders++;
}

void flight_release(struct recorder *recorder)
{
    self_of(recorder)->holders--;
    recorder_wake(recorder);
}
