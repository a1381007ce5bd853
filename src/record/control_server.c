/* SPDX-License-Identifier: MIT */
#include "record/control_server.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "record/flight.h"
#include "record/recorder_internal.h"
#include "record/snapshot_saver.h"
#include "tracedir/ask.h"
#include "tracedir/host.h"

#define CLIENTS_MAX 8u
#define LINE_MAX_BYTES 256u
/* An answer may be the path of a snapshot. */
#define ANSWER_MAX SNAPSHOT_TEXT_MAX
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
    struct snapshot_request *request;
    enum client_state state;
    char line[LINE_MAX_BYTES];
    size_t len;
    uint64_t number; /* of its connection */
};

struct control_server {
    struct recorder recorder;
    struct retention_limit limit;
    struct flight *flight;
    int listener;
    uint64_t accept_at; /* CLOCK_MONOTONIC, ns: not before */
    uint64_t n_accepted;
    struct client
        clients[CLIENTS_MAX + 1]; /* of the socket; the last one is the recording itself */
    bool is_flushing;
    uint64_t flushed_at, flush_by;  /* CLOCK_MONOTONIC, ns: since when, and until when at most */
    struct manifest_moment flushed; /* the same, before the recorders were asked */
    struct snapshot_saver saver;
    struct client *asker; /* of the present snapshot; NULL: there is none */
    unsigned holders;
    bool is_stopping;
};

static struct control_server *self_of(struct recorder *recorder)
{
    return container_of(recorder, struct control_server, recorder);
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
    struct snapshot_request *request = client->request;
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

static int listen_at(struct control_server *self, struct error *error)
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

/* Finds a place for another client. The client that has not sent its request for the longest time gives way. NULL: all
 * clients are being served. */
static struct client *find_room(struct control_server *self)
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
static void accept_client(struct control_server *self, uint64_t now)
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

static bool all_flushed(const struct control_server *self)
{
    unsigned n;
    struct recorder *const *recorders = recording_recorders(self->recorder.recording, &n);

    for (unsigned i = 0; i < n; i++)
        if (recorder_is_late(recorders[i]))
            return false;
    return true;
}

static void flush_all(struct control_server *self, uint64_t now)
{
    unsigned n;
    struct recorder *const *recorders = recording_recorders(self->recorder.recording, &n);

    self->flushed = host_moment();
    for (unsigned i = 0; i < n; i++)
        if (recorders[i]->state == RECORDER_RUNNING && recorders[i]->ops->flush)
            recorders[i]->ops->flush(recorders[i], now);
    self->is_flushing = true;
    self->flushed_at = now;
    self->flush_by = now + CONTROL_FLUSH_NS;
}

/* It is flushed, and yet what was recorded last may be missing. */
static bool is_paused(const struct recorder *recorder)
{
    return recorder->state == RECORDER_RUNNING && !recorder_is_late(recorder) &&
           recorder->ops->missing_reason && recorder->ops->missing_reason(recorder);
}

/* WORD, and the sources whose recorders IS_SO is true of; nothing where none is. */
static void put_sources(const struct control_server *self, const char *word,
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

/* A snapshot that may begin: whether it has. */
static bool handle_snapshot(struct control_server *self, struct client *client)
{
    const char *name = client->line + strlen("snapshot");
    char text[ANSWER_MAX];
    int r;

    if (!client->request && *name && !snapshot_name_is_valid(name + 1)) {
        answer(client, "error",
               "the name of a snapshot has up to 99 letters, digits, '-', '_' and '.'");
        return false;
    }
    r = snapshot_saver_begin(&self->saver,
                             client->request ? client->request->name : name + (*name == ' '),
                             client->request != NULL);
    if (r >= 0) {
        self->asker = client;
        return true;
    }
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
static bool can_handle(const struct control_server *self, const struct client *client)
{
    return client->state == CLIENT_WAITS && !self->is_flushing &&
           (!self->asker || !is_snapshot(client));
}

/* The requests that wait, as many as one flush is for. */
static void handle_requests(struct control_server *self, uint64_t now)
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

/* TEXT is its path, or why it was not saved. */
static void end_snapshot(struct control_server *self, bool is_saved, const char *text)
{
    struct client *asker = self->asker;

    self->asker = NULL;
    /* Last: the recording may ask again at once. */
    answer(asker, is_saved ? "ok" : "error", text);
}

/* In the child: what only the recorder serves is not kept open, should it end first. */
static void close_inherited(void *userdata)
{
    const struct control_server *self = userdata;

    if (self->listener >= 0)
        close(self->listener);
    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        if (self->clients[i].fd >= 0)
            close(self->clients[i].fd);
}

static void start_saving(struct control_server *self)
{
    const struct snapshot_request *request = self->asker->request;
    const struct snapshot_source source = {
        .retention = flight_retention(self->flight),
        .about = request ? request->about : NULL,
        .flushed = &self->flushed,
        .close_inherited = close_inherited,
        .userdata = self,
    };
    char text[ANSWER_MAX];

    if (snapshot_saver_start(&self->saver, &source, text))
        self->asker->state = CLIENT_IS_SAVED;
    else
        end_snapshot(self, false, text);
}

/* The child has written its answer, and ended. */
static void end_saving(struct control_server *self)
{
    char text[ANSWER_MAX];
    bool is_saved = snapshot_saver_end(&self->saver, text);

    if (!is_saved && !self->asker->request) /* the recording itself reports */
        recorder_report(&self->recorder, "snapshot %s was not saved: %s", self->saver.name, text);
    end_snapshot(self, is_saved, text);
}

/* All have brought what they held, or it has been waited for long enough. */
static void end_flush(struct control_server *self)
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

/* ---- The recorder ---- */

static bool has_limit(const struct control_server *self)
{
    return self->limit.ns > 0 || self->limit.bytes > 0;
}

static int start(struct recorder *recorder, struct error *error)
{
    struct control_server *self = self_of(recorder);
    int r = flight_new(&self->limit, recorder, &self->flight, error);

    if (r < 0)
        return r;
    r = listen_at(self, error);
    if (r >= 0 || has_limit(self))
        return r;
    /* A file system without sockets is recorded to without snapshots. */
    error_clear(error);
    return 0;
}

static void poll_fds(struct recorder *recorder, struct recorder_wait *wait)
{
    struct control_server *self = self_of(recorder);
    bool can_accept = find_room(self) && self->accept_at == 0;

    recorder_wait_fd(wait, can_accept ? self->listener : -1, POLLIN);
    if (self->accept_at > 0)
        recorder_wait_until(wait, self->accept_at);
    recorder_wait_fd(wait, self->saver.answers, POLLIN);
    for (unsigned i = 0; i <= CLIENTS_MAX; i++) {
        const struct client *client = &self->clients[i];

        recorder_wait_fd(wait, client->state == CLIENT_SENDS ? client->fd : -1, POLLIN);
        if (can_handle(self, client))
            recorder_wait_until(wait, 0);
    }
    if (self->is_flushing)
        recorder_wait_until(wait, all_flushed(self) ? 0 : self->flush_by);
    recorder_wait_until(wait, flight_due(self->flight, self->is_stopping));
}

static int step(struct recorder *recorder, const struct pollfd *fds, unsigned n, uint64_t now,
                struct error *error)
{
    struct control_server *self = self_of(recorder);

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
    flight_step(self->flight, now, self->is_stopping, self->saver.pid == 0);
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
    struct control_server *self = self_of(recorder);

    (void)error;
    if (self->saver.pid > 0)
        end_saving(self);
    if (self->asker) {
        snapshot_saver_cancel(&self->saver);
        end_snapshot(self, false, "the recording has ended");
    }
    for (unsigned i = 0; i <= CLIENTS_MAX; i++)
        answer(&self->clients[i], "error", "the recording has ended");
    if (self->listener >= 0) {
        close(self->listener);
        (void)unlinkat(recording_dir(recorder->recording), TRACEDIR_SOCKET, 0);
    }
    self->listener = -1;
    return 0;
}

static void free_server(struct recorder *recorder)
{
    struct control_server *self = self_of(recorder);

    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        close_client(&self->clients[i]);
    if (self->listener >= 0)
        close(self->listener);
    flight_free(self->flight);
    free(self);
}

static const struct recorder_ops ops = {
    .start = start,
    .poll = poll_fds,
    .step = step,
    .stop = stop,
    .finish = finish,
    .free = free_server,
};

int control_server_new(const struct retention_limit *limit, struct recorder **ret)
{
    struct control_server *self = calloc(1, sizeof *self);

    if (!self)
        return -ENOMEM;
    self->recorder.ops = &ops;
    self->limit = *limit;
    self->recorder.name = has_limit(self) ? "the flight recorder" : "the control server";
    self->recorder.is_service = true;
    self->listener = -1;
    snapshot_saver_init(&self->saver, &self->recorder);
    for (unsigned i = 0; i <= CLIENTS_MAX; i++)
        self->clients[i].fd = -1;
    *ret = &self->recorder;
    return 0;
}

/* ---- The recording itself ---- */

void control_server_ask(struct recorder *recorder, struct snapshot_request *request)
{
    struct client *client = &self_of(recorder)->clients[CLIENTS_MAX];

    *client = (struct client){.fd = -1, .request = request, .state = CLIENT_WAITS};
    recorder_wake(recorder);
}

void control_server_hold(struct recorder *recorder)
{
    self_of(recorder)->holders++;
}

void control_server_release(struct recorder *recorder)
{
    self_of(recorder)->holders--;
    recorder_wake(recorder);
}
