/* SPDX-License-Identifier: MIT */
#include "control/qmp.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/address.h"
#include "control/socket_process.h"

#define TIMEOUT QMP_TIMEOUT_S

#define LINE_MAX_ ((size_t)64 << 20)

struct qmp {
    int fd;
    char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
    char version[128];
    char *buffer;
    size_t size, end; /* a part of a line, or more than one */
    size_t used;      /* the line that was returned last */
};

static int connect_to(const char *path, struct error *error)
{
    struct sockaddr_un address;
    const struct timeval timeout = {.tv_sec = TIMEOUT};
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
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) < 0 ||
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

static int connection_error(struct qmp *qmp, int r, struct error *error)
{
    if (r == -EAGAIN)
        return error_set(error, -ETIMEDOUT, qmp->path,
                         "QEMU's monitor did not answer in %d seconds; it may be stopped", TIMEOUT);
    if (r == -EPIPE || r == -ECONNRESET)
        return error_set(error, r, qmp->path, "the connection was closed");
    return error_set(error, r, qmp->path, "%s", strerror(-r));
}

/* The next line, ended by a NUL; good until the next call. FLAGS as of recv(). */
static int read_line(struct qmp *qmp, int flags, char **ret)
{
    char *newline;

    qmp->end -= qmp->used;
    if (qmp->used)
        memmove(qmp->buffer, qmp->buffer + qmp->used, qmp->end);
    qmp->used = 0;
    while (!(newline = qmp->end ? memchr(qmp->buffer, '\n', qmp->end) : NULL)) {
        ssize_t n;

        if (qmp->end == qmp->size) {
            size_t size = qmp->size ? 2 * qmp->size : 65536;
            char *buffer = size <= LINE_MAX_ ? realloc(qmp->buffer, size) : NULL;

            if (!buffer)
                return size <= LINE_MAX_ ? -ENOMEM : -EMSGSIZE;
            qmp->buffer = buffer;
            qmp->size = size;
        }
        do
            n = recv(qmp->fd, qmp->buffer + qmp->end, qmp->size - qmp->end, flags);
        while (n < 0 && errno == EINTR);
        if (n <= 0)
            return n < 0 ? -errno : -ECONNRESET;
        qmp->end += (size_t)n;
    }
    *newline = '\0';
    qmp->used = (size_t)(newline - qmp->buffer) + 1;
    *ret = qmp->buffer;
    return 0;
}

/* The next object. -EAGAIN: with the FLAGS of recv() there is none yet. */
static int read_any(struct qmp *qmp, int flags, json_t **ret, struct error *error)
{
    json_error_t err;
    json_t *object;
    char *line;
    int r;

    do {
        line = NULL;
        r = read_line(qmp, flags, &line);
        if (r == -EAGAIN && flags)
            return r;
        if (r < 0)
            return connection_error(qmp, r, error);
    } while (line[strspn(line, " \t\r")] == '\0');
    object = json_loads(line, 0, &err);
    /* jansson has no words for most of its failures to allocate. */
    if (!object && (json_error_code(&err) == json_error_out_of_memory || err.text[0] == '\0'))
        return error_set(error, -ENOMEM, NULL, "out of memory");
    if (!json_is_object(object)) {
        json_decref(object);
        return error_set(error, -EPROTO, qmp->path,
                         "does not speak QMP; it may be the socket of another protocol");
    }
    *ret = object;
    return 0;
}

/* The next object that is no event: those come whenever something happens. */
static int read_object(struct qmp *qmp, json_t **ret, struct error *error)
{
    for (;;) {
        json_t *object = NULL;
        int r = read_any(qmp, 0, &object, error);

        if (r < 0)
            return r;
        if (!json_object_get(object, "event")) {
            *ret = object;
            return 0;
        }
        json_decref(object);
    }
}

static int send_object(struct qmp *qmp, json_t *object, struct error *error)
{
    _cleanup_free_ char *text = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
    size_t len = text ? strlen(text) : 0;

    if (!text)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    text[len++] = '\n'; /* in place of the NUL */
    for (size_t at = 0; at < len;) {
        ssize_t n = send(qmp->fd, text + at, len - at, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return connection_error(qmp, -errno, error);
        at += (size_t)n;
    }
    return 0;
}

static void note_version(struct qmp *qmp, const json_t *greeting)
{
    const json_t *version = json_object_get(json_object_get(greeting, "QMP"), "version");
    const json_t *numbers = json_object_get(version, "qemu");

    if (json_is_object(numbers))
        snprintf(qmp->version, sizeof qmp->version,
                 "QEMU %" JSON_INTEGER_FORMAT ".%" JSON_INTEGER_FORMAT ".%" JSON_INTEGER_FORMAT,
                 json_integer_value(json_object_get(numbers, "major")),
                 json_integer_value(json_object_get(numbers, "minor")),
                 json_integer_value(json_object_get(numbers, "micro")));
}

bool qmp_greets_within(const struct qmp *qmp, int ms)
{
    struct pollfd fd = {qmp->fd, POLLIN, 0};

    return poll(&fd, 1, ms) != 0;
}

const char *qmp_silence_text(const char *path, char *buf, size_t size)
{
    struct socket_process client;
    int r = socket_find_client(path, &client);

    if (r < 0)
        snprintf(buf, size, "it may serve another client");
    else if (r == 0)
        snprintf(buf, size, "QEMU is busy, or stopped");
    else if (client.pid == 0)
        snprintf(buf, size, "it serves another client, a process of another user");
    else
        snprintf(buf, size, "it serves another client, process %ld (%s)", (long)client.pid,
                 client.name);
    return buf;
}

int qmp_greet(struct qmp *qmp, struct error *error)
{
    _cleanup_(json_decrefp) json_t *greeting = NULL, *result = NULL;
    char why[128];
    int r;

    if (!qmp_greets_within(qmp, TIMEOUT * 1000))
        return error_set(error, -ETIMEDOUT, qmp->path,
                         "QEMU's monitor did not answer in %d seconds: %s; disconnect other "
                         "clients, or give QEMU one more monitor: "
                         "-qmp unix:PATH,server=on,wait=off",
                         TIMEOUT, qmp_silence_text(qmp->path, why, sizeof why));
    r = read_object(qmp, &greeting, error);
    if (r < 0)
        return r;
    if (!json_object_get(greeting, "QMP"))
        return error_set(error, -EPROTO, qmp->path, "not a QMP socket: no greeting");
    note_version(qmp, greeting);
    r = qmp_execute(qmp, "qmp_capabilities", NULL, &result, error);
    return r == -EREMOTE ? -EPROTO : r;
}

int qmp_adopt(int fd, const char *name, struct qmp **ret, struct error *error)
{
    struct qmp *qmp = calloc(1, sizeof *qmp);

    if (!qmp) {
        close(fd);
        return error_set(error, -ENOMEM, NULL, "out of memory");
    }
    qmp->fd = fd;
    snprintf(qmp->path, sizeof qmp->path, "%s", name);
    *ret = qmp;
    return 0;
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

void qmp_shutdown(const struct qmp *qmp)
{
    (void)shutdown(qmp->fd, SHUT_RDWR);
}

void qmp_free(struct qmp *qmp)
{
    if (!qmp)
        return;
    close(qmp->fd);
    free(qmp->buffer);
    free(qmp);
}

pid_t qmp_peer(const struct qmp *qmp)
{
    struct ucred peer = {0};
    socklen_t len = sizeof peer;

    return getsockopt(qmp->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 ? peer.pid : 0;
}

const char *qmp_version(const struct qmp *qmp)
{
    return qmp->version;
}

int qmp_fd(const struct qmp *qmp)
{
    return qmp->fd;
}

int qmp_send(struct qmp *qmp, const char *command, json_t *arguments, struct error *error)
{
    _cleanup_(json_decrefp) json_t *request = json_pack("{s:s}", "execute", command);

    if (!request) {
        json_decref(arguments);
        return error_set(error, -ENOMEM, NULL, "out of memory");
    }
    if (arguments && json_object_set_new(request, "arguments", arguments) < 0)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    return send_object(qmp, request, error);
}

int qmp_receive(struct qmp *qmp, json_t **ret, struct error *error)
{
    int r = read_any(qmp, MSG_DONTWAIT, ret, error);

    if (r == -EAGAIN)
        return 0;
    if (r < 0)
        return r;
    if (json_object_get(*ret, "QMP"))
        note_version(qmp, *ret);
    return 1;
}

int qmp_execute(struct qmp *qmp, const char *command, json_t *arguments, json_t **ret,
                struct error *error)
{
    _cleanup_(json_decrefp) json_t *reply = NULL;
    json_t *value;
    int r = qmp_send(qmp, command, arguments, error);

    if (r >= 0)
        r = read_object(qmp, &reply, error);
    if (r < 0)
        return r;
    value = json_object_get(json_object_get(reply, "error"), "desc");
    if (json_is_string(value))
        return error_set(error, -EREMOTE, NULL, "%s", json_string_value(value));
    value = json_object_get(reply, "return");
    if (!value)
        return error_set(error, -EPROTO, qmp->path, "answers with neither a result nor an error");
    *ret = json_incref(value);
    return 0;
}

int qmp_human(struct qmp *qmp, const char *line, char **ret, struct error *error)
{
    _cleanup_(json_decrefp) json_t *result = NULL;
    json_t *arguments = json_pack("{s:s}", "command-line", line);
    const char *text;
    int r;

    if (!arguments)
        return error_set(error, -EINVAL, NULL, "'%s' is not valid UTF-8", line);
    r = qmp_execute(qmp, "human-monitor-command", arguments, &result, error);
    if (r < 0)
        return r;
    text = json_string_value(result);
    *ret = strdup(text ? text : "");
    return *ret ? 0 : error_set(error, -ENOMEM, NULL, "out of memory");
}
