/* SPDX-License-Identifier: MIT */
#include "control/qmp.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "control/qmp_transport.h"

#define ANSWERS_MAX 16 /* to clients that have gone, before the greeting */

struct qmp {
    struct qmp_transport *transport;
    int timeout_ms;
    char name[128];
    char version[128];
};

static int connection_error(struct qmp *qmp, int r, struct error *error)
{
    if (r == -EAGAIN)
        return error_set(error, -ETIMEDOUT, qmp->name,
                         "QEMU's monitor did not answer in %d seconds; it may be stopped",
                         qmp->timeout_ms / 1000);
    if (r == -EPIPE || r == -ECONNRESET)
        return error_set(error, r, qmp->name, "the connection was closed");
    return error_set(error, r, qmp->name, "%s", strerror(-r));
}

/* When an answer to what is sent now is late: a monitor that sends events without end must not hold us. */
static uint64_t answer_deadline(const struct qmp *qmp)
{
    return clock_ns(CLOCK_MONOTONIC) + (uint64_t)qmp->timeout_ms * 1000000;
}

/* The next object. -EAGAIN: there is none yet, and UNTIL_NS is 0: the call does not wait. */
static int read_any(struct qmp *qmp, uint64_t until_ns, json_t **ret, struct error *error)
{
    json_error_t err;
    json_t *object;
    char *line;
    int r;

    do {
        line = NULL;
        r = qmp->transport->ops->receive(qmp->transport, until_ns, &line, error);
        if (r == -EAGAIN && !until_ns)
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
        return error_set(error, -EPROTO, qmp->name,
                         "does not speak QMP; it may be the socket of another protocol");
    }
    *ret = object;
    return 0;
}

/* Reads the next object that is not an event, because events come at any time. */
static int read_object(struct qmp *qmp, uint64_t until_ns, json_t **ret, struct error *error)
{
    for (;;) {
        json_t *object = NULL;
        int r = read_any(qmp, until_ns, &object, error);

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
    int r;

    if (!text)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    text[len++] = '\n'; /* in place of the NUL */
    r = qmp->transport->ops->send(qmp->transport, text, len, error);
    return r < 0 ? connection_error(qmp, r, error) : 0;
}

/* VERSION: from the greeting, or the result of query-version. */
static void note_version(struct qmp *qmp, const json_t *version)
{
    const json_t *numbers = json_object_get(version, "qemu");

    if (json_is_object(numbers))
        snprintf(qmp->version, sizeof qmp->version,
                 "QEMU %" JSON_INTEGER_FORMAT ".%" JSON_INTEGER_FORMAT ".%" JSON_INTEGER_FORMAT,
                 json_integer_value(json_object_get(numbers, "major")),
                 json_integer_value(json_object_get(numbers, "minor")),
                 json_integer_value(json_object_get(numbers, "micro")));
}

static void note_greeting(struct qmp *qmp, const json_t *greeting)
{
    note_version(qmp, json_object_get(json_object_get(greeting, "QMP"), "version"));
}

bool qmp_greets_within(const struct qmp *qmp, int ms)
{
    struct pollfd fd = {qmp->transport->fd, POLLIN, 0};

    return !qmp->transport->ops->greets || poll(&fd, 1, ms) != 0;
}

static int ask_version(struct qmp *qmp, struct error *error)
{
    _cleanup_(json_decrefp) json_t *version = NULL;
    int r = qmp_execute(qmp, "query-version", NULL, &version, error);

    if (r < 0)
        return r == -EREMOTE ? -EPROTO : r;
    note_version(qmp, version);
    return 0;
}

/* QEMU (7.2) sends the answer to a command whose client has gone to the next one. By its number the answer to our first
 * command is known, and all after it are ours. */
static int leave_negotiation(struct qmp *qmp, struct error *error)
{
    static atomic_uint connections;
    const uint64_t until_ns = answer_deadline(qmp);
    _cleanup_(json_decrefp) json_t *request = NULL, *reply = NULL;
    char id[64];
    int r;

    snprintf(id, sizeof id, "strata-%ld-%u", (long)getpid(), atomic_fetch_add(&connections, 1) + 1);
    request = json_pack("{s:s, s:s}", "execute", "qmp_capabilities", "id", id);
    r = request ? send_object(qmp, request, error)
                : error_set(error, -ENOMEM, NULL, "out of memory");
    while (r >= 0) {
        const char *of;

        json_decref(reply);
        reply = NULL;
        r = read_object(qmp, until_ns, &reply, error);
        of = json_string_value(json_object_get(reply, "id"));
        if (r >= 0 && of && strcmp(of, id) == 0)
            break;
    }
    if (r >= 0 && json_object_get(reply, "error"))
        r = error_set(error, -EPROTO, qmp->name, "refuses the negotiation of capabilities");
    return r;
}

/* An answer to a client that has gone may come before it, as in leave_negotiation(). */
static int read_greeting(struct qmp *qmp, json_t **ret, struct error *error)
{
    const uint64_t until_ns = answer_deadline(qmp);

    for (unsigned i = 0; i < ANSWERS_MAX; i++) {
        json_t *object = NULL;
        int r = read_object(qmp, until_ns, &object, error);

        if (r < 0)
            return r;
        if (json_object_get(object, "QMP")) {
            *ret = object;
            return 0;
        }
        r = json_object_get(object, "return") || json_object_get(object, "error");
        json_decref(object);
        if (!r)
            break;
    }
    return error_set(error, -EPROTO, qmp->name, "not a QMP socket: no greeting");
}

int qmp_greet(struct qmp *qmp, struct error *error)
{
    _cleanup_(json_decrefp) json_t *greeting = NULL;
    char why[128];
    int r;

    if (!qmp->transport->ops->greets)
        return ask_version(qmp, error);
    if (!qmp_greets_within(qmp, qmp->timeout_ms))
        return error_set(error, -ETIMEDOUT, qmp->name,
                         "QEMU's monitor did not answer in %d seconds: %s; disconnect other "
                         "clients, or give QEMU one more monitor: "
                         "-qmp unix:PATH,server=on,wait=off",
                         qmp->timeout_ms / 1000, qmp_silence_text(qmp->name, why, sizeof why));
    r = read_greeting(qmp, &greeting, error);
    if (r < 0)
        return r;
    note_greeting(qmp, greeting);
    return leave_negotiation(qmp, error);
}

int qmp_open(struct qmp_transport *transport, const char *name, struct qmp **ret,
             struct error *error)
{
    struct qmp *qmp = calloc(1, sizeof *qmp);

    if (!qmp) {
        transport->ops->free(transport);
        return error_set(error, -ENOMEM, NULL, "out of memory");
    }
    qmp->transport = transport;
    qmp->timeout_ms = QMP_TIMEOUT_S * 1000;
    snprintf(qmp->name, sizeof qmp->name, "%s", name);
    *ret = qmp;
    return 0;
}

void qmp_set_timeout(struct qmp *qmp, int ms)
{
    qmp->timeout_ms = ms;
}

void qmp_shutdown(const struct qmp *qmp)
{
    qmp->transport->ops->shutdown(qmp->transport);
}

void qmp_free(struct qmp *qmp)
{
    if (!qmp)
        return;
    qmp->transport->ops->free(qmp->transport);
    free(qmp);
}

pid_t qmp_peer(const struct qmp *qmp)
{
    struct ucred peer = {0};
    socklen_t len = sizeof peer;

    return getsockopt(qmp->transport->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 ? peer.pid : 0;
}

const char *qmp_version(const struct qmp *qmp)
{
    return qmp->version;
}

int qmp_fd(const struct qmp *qmp)
{
    return qmp->transport->fd;
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
    int r = read_any(qmp, 0, ret, error);

    if (r == -EAGAIN)
        return 0;
    if (r < 0)
        return r;
    if (json_object_get(*ret, "QMP"))
        note_greeting(qmp, *ret);
    return 1;
}

int qmp_execute(struct qmp *qmp, const char *command, json_t *arguments, json_t **ret,
                struct error *error)
{
    _cleanup_(json_decrefp) json_t *reply = NULL;
    const uint64_t until_ns = answer_deadline(qmp);
    json_t *value;
    int r = qmp_send(qmp, command, arguments, error);

    if (r >= 0)
        r = read_object(qmp, until_ns, &reply, error);
    if (r < 0)
        return r;
    value = json_object_get(json_object_get(reply, "error"), "desc");
    if (json_is_string(value))
        return error_set(error, -EREMOTE, NULL, "%s", json_string_value(value));
    value = json_object_get(reply, "return");
    if (!value)
        return error_set(error, -EPROTO, qmp->name, "answers with neither a result nor an error");
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
