/* SPDX-License-Identifier: MIT */
/* QMP on a UNIX socket. */

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock_ns.h"
#include "control/qmp.h"
#include "control/qmp_transport.h"
#include "control/socket_process.h"

#define LINE_SIZE_MAX ((size_t)64 << 20)

struct qmp_socket {
    struct qmp_transport transport;
    char *buffer;
    size_t size, end; /* a part of a line, or more than one */
    size_t used;      /* the line that was returned last */
};

static struct qmp_socket *socket_of(struct qmp_transport *transport)
{
    return container_of(transport, struct qmp_socket, transport);
}

static int send_text(struct qmp_transport *transport, const char *text, size_t len,
                     struct error *error)
{
    (void)error;
    for (size_t at = 0; at < len;) {
        ssize_t n = send(transport->fd, text + at, len - at, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        at += (size_t)n;
    }
    return 0;
}

/* Waits until there is something to receive. -EAGAIN: not before UNTIL_NS. */
static int wait_for_input(int fd, uint64_t until_ns)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int r;

    do {
        uint64_t now = clock_ns(CLOCK_MONOTONIC);

        if (now >= until_ns)
            return -EAGAIN;
        r = poll(&ready, 1, (int)((until_ns - now) / 1000000 + 1));
    } while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : r == 0 ? -EAGAIN : 0;
}

static int receive_line(struct qmp_transport *transport, uint64_t until_ns, char **ret,
                        struct error *error)
{
    struct qmp_socket *self = socket_of(transport);
    char *newline;

    (void)error;
    self->end -= self->used;
    if (self->used)
        memmove(self->buffer, self->buffer + self->used, self->end);
    self->used = 0;
    while (!(newline = self->end ? memchr(self->buffer, '\n', self->end) : NULL)) {
        ssize_t n;
        int r = until_ns ? wait_for_input(transport->fd, until_ns) : 0;

        if (r < 0)
            return r;
        if (self->end == self->size) {
            size_t size = self->size ? 2 * self->size : 65536;
            char *buffer = size <= LINE_SIZE_MAX ? realloc(self->buffer, size) : NULL;

            if (!buffer)
                return size <= LINE_SIZE_MAX ? -ENOMEM : -EMSGSIZE;
            self->buffer = buffer;
            self->size = size;
        }
        do
            n = recv(transport->fd, self->buffer + self->end, self->size - self->end, MSG_DONTWAIT);
        while (n < 0 && errno == EINTR);
        if (n < 0 && errno == EAGAIN && until_ns)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ECONNRESET;
        self->end += (size_t)n;
    }
    *newline = '\0';
    self->used = (size_t)(newline - self->buffer) + 1;
    *ret = self->buffer;
    return 0;
}

static void shutdown_socket(struct qmp_transport *transport)
{
    (void)shutdown(transport->fd, SHUT_RDWR);
}

static void free_socket(struct qmp_transport *transport)
{
    struct qmp_socket *self = socket_of(transport);

    close(transport->fd);
    free(self->buffer);
    free(self);
}

static const struct qmp_transport_ops ops = {
    .greets = true,
    .send = send_text,
    .receive = receive_line,
    .shutdown = shutdown_socket,
    .free = free_socket,
};

int qmp_adopt(int fd, const char *name, struct qmp **ret, struct error *error)
{
    struct qmp_socket *self = calloc(1, sizeof *self);

    if (!self) {
        close(fd);
        return error_set(error, -ENOMEM, NULL, "out of memory");
    }
    self->transport = (struct qmp_transport){.ops = &ops, .fd = fd};
    return qmp_open(&self->transport, name, ret, error);
}

/* ---- Its path ---- */

static int connect_to(const char *path, struct error *error)
{
    struct sockaddr_un address;
    const struct timeval timeout = {.tv_sec = QMP_TIMEOUT_S};
    char why[128];
    int fd, r = 0;

    r = unix_address(path, &address);
    if (r == -ENAMETOOLONG)
        return error_set(error, r, path,
                         "is too long for a socket's name, which has %zu characters at most",
                         sizeof address.sun_path - 1);
    if (r < 0)
        return error_set(error, r, path, "not the path of a socket");
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_set(error, -errno, path, "%s", strerror(errno));
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) < 0 ||
        connect(fd, (const struct sockaddr *)&address, sizeof address) < 0 ||
        fcntl(fd, F_SETFL, 0) < 0)
        r = -errno;
    if (r >= 0)
        return fd;
    close(fd);
    if (r == -EAGAIN)
        return error_set(error, r, path,
                         "QEMU's monitor does not answer: %s, and no more clients can wait; "
                         "disconnect them and try again",
                         qmp_silence_text(path, why, sizeof why));
    if (r == -ECONNREFUSED)
        return error_set(error, r, path,
                         "no process listens on this socket; its QEMU may have ended");
    if (r == -ENOTSOCK)
        return error_set(error, r, path, "not a socket");
    return error_set(error, r, path, "%s", strerror(-r));
}

bool qmp_is_socket(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

int qmp_connect(const char *path, struct qmp **ret, struct error *error)
{
    int fd = connect_to(path, error);

    return fd < 0 ? fd : qmp_adopt(fd, path, ret, error);
}

static int connect_endpoint(const struct qmp_endpoint *endpoint, struct qmp **ret,
                            struct error *error)
{
    return qmp_connect(endpoint->name, ret, error);
}

static const char *endpoint_silence(const struct qmp_endpoint *endpoint, char *buf, size_t size)
{
    return qmp_silence_text(endpoint->name, buf, size);
}

struct qmp_endpoint qmp_socket_endpoint(const char *path)
{
    return (struct qmp_endpoint){
        .name = path, .connect = connect_endpoint, .silence = endpoint_silence};
}
