/* SPDX-License-Identifier: MIT */
#include "monitor/connection.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define REQUESTS_PER_TURN 64

/* What an ordinary pipe or terminal takes without waiting, once it takes anything. */
#define PIECE 4096

int connection_new(struct strata_monitor_session *session, int in, int out, struct connection **ret)
{
    struct stat st[2];
    struct connection *c;

    if (fstat(in, &st[0]) < 0 || fstat(out, &st[1]) < 0)
        return -errno;
    c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    c->bytes = malloc(CONNECTION_BYTES);
    if (!c->bytes) {
        free(c);
        return -ENOMEM;
    }
    c->in = in;
    c->out = out;
    c->is_socket[0] = S_ISSOCK(st[0].st_mode);
    c->is_socket[1] = S_ISSOCK(st[1].st_mode);
    c->session = session;
    *ret = c;
    return 0;
}

void connection_free(struct connection *c, bool quietly)
{
    if (c->accepted && !quietly)
        shutdown(c->in, SHUT_RDWR);
    close(c->in);
    close(c->out);
    strata_monitor_session_free(c->session);
    free(c->bytes);
    free(c);
}

static bool is_ready(int fd, short events)
{
    struct pollfd ready = {.fd = fd, .events = events};

    return poll(&ready, 1, 0) > 0;
}

/* write() that raises no SIGPIPE, which is the thread's own: what it raises is taken away again. */
static ssize_t write_quietly(int fd, const char *bytes, size_t n)
{
    static const struct timespec now = {0};
    sigset_t pipe;
    sigset_t pending;
    sigset_t before;
    ssize_t written;
    int error;

    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    sigpending(&pending);
    written = write(fd, bytes, n);
    error = errno;
    if (written < 0 && error == EPIPE && !sigismember(&pending, SIGPIPE))
        while (sigtimedwait(&pipe, NULL, &now) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}

/* 1: all is written; 0: the other side must read first; -1: it cannot be written. */
static int write_out(struct connection *c)
{
    struct buffer *out = session_out(c->session);
    size_t at = 0;
    int r = 1;

    while (at < out->len && r == 1) {
        ssize_t n;

        if (c->is_socket[1]) {
            n = send(c->out, out->bytes + at, out->len - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        } else if (!is_ready(c->out, POLLOUT)) {
            r = 0;
            break;
        } else {
            n = write_quietly(c->out, out->bytes + at,
                              out->len - at < PIECE ? out->len - at : PIECE);
        }
        if (n >= 0)
            at += (size_t)n;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            r = 0;
        else if (errno != EINTR)
            r = -1;
    }
    buffer_drop(out, at);
    return r;
}

/* As above. */
static int read_in(struct connection *c)
{
    ssize_t n;

    if (c->is_socket[0]) {
        do
            n = recv(c->in, c->bytes, CONNECTION_BYTES, MSG_DONTWAIT);
        while (n < 0 && errno == EINTR);
    } else if (!is_ready(c->in, POLLIN)) {
        return 0;
    } else {
        do
            n = read(c->in, c->bytes, CONNECTION_BYTES);
        while (n < 0 && errno == EINTR);
    }
    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
    c->at_end = n == 0;
    c->at = 0;
    c->len = (size_t)n;
    return 1;
}

enum connection_need connection_work(struct connection *c)
{
    for (unsigned i = 0; i < REQUESTS_PER_TURN; i++) {
        int r = write_out(c);

        /* Requests of a client that does not read the replies are not handled: so replies do not pile up. */
        if (r == 0)
            return CONNECTION_WRITABLE;
        if (r < 0 || session_status(c->session) < 0)
            return CONNECTION_DEAD;
        if (session_status(c->session) != 0) {
            if (!c->linger || c->at_end)
                return CONNECTION_DEAD;
            r = read_in(c); /* of no meaning any more */
            return r < 0 || c->at_end ? CONNECTION_DEAD : CONNECTION_OVER;
        }
        if (c->at == c->len) {
            if (c->at_end)
                return CONNECTION_DEAD;
            r = read_in(c);
            if (r == 0)
                return CONNECTION_READABLE;
            if (r < 0)
                return CONNECTION_DEAD;
        }
        c->at += session_read(c->session, c->bytes + c->at, c->len - c->at);
    }
    return CONNECTION_TURN;
}
