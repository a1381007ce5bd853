/* SPDX-License-Identifier: MIT */
#pragma once

/* Talks to a virtual machine monitor by QMP: JSON, an object a line, on a UNIX socket or another transport
 * (qmp_transport.h). */

#include <jansson.h>
#include <sys/types.h>

#include "base/error.h"

struct qmp;

/* True if PATH is a socket; opening it shows whose. */
bool qmp_is_socket(const char *path);

/* The limit for the greeting, and for an answer, however many events come before it. */
#define QMP_TIMEOUT_S 30

/* A monitor that a recorder connects to, each time it has commands for it. */
struct qmp_endpoint {
    const char *name; /* for messages; of a socket, its path; borrowed */
    int (*connect)(const struct qmp_endpoint *endpoint, struct qmp **ret, struct error *error);
    /* Why it does not answer, into BUF, which is returned. */
    const char *(*silence)(const struct qmp_endpoint *endpoint, char *buf, size_t size);
};

/* The socket PATH, which is borrowed. */
struct qmp_endpoint qmp_socket_endpoint(const char *path);

/* Connects, without waiting. The monitor serves one client at a time: until it greets, it serves another one. -EAGAIN with
 * ERROR: it does, and as many clients wait as it lets. */
int qmp_connect(const char *path, struct qmp **ret, struct error *error);
/* Waits for the greeting and leaves capabilities negotiation; without a greeting, asks for the version. -ETIMEDOUT with
 * ERROR: none came within QMP_TIMEOUT_S. */
int qmp_greet(struct qmp *qmp, struct error *error);
/* Waits up to MS milliseconds. False: the monitor has not greeted yet. True at once if its transport has no greeting. */
bool qmp_greets_within(const struct qmp *qmp, int ms);
/* Why the monitor at the socket PATH does not greet, into BUF: "it serves another client, process 4711 (python3)". */
const char *qmp_silence_text(const char *path, char *buf, size_t size);
/* In place of QMP_TIMEOUT_S, from the next command on. */
void qmp_set_timeout(struct qmp *qmp, int ms);
/* Ends what another thread waits for. */
void qmp_shutdown(const struct qmp *qmp);
void qmp_free(struct qmp *qmp);
static inline void qmp_freep(struct qmp **qmp)
{
    qmp_free(*qmp);
}

/* The greeting's version, as "QEMU 7.2.22", or "" if it has none. Valid as long as QMP. */
const char *qmp_version(const struct qmp *qmp);

/* The process that has made the socket, mostly the monitor itself; 0: it cannot be seen. */
pid_t qmp_peer(const struct qmp *qmp);

/* Executes COMMAND with ARGUMENTS, of which it takes ownership; NULL: none. *ret is the result, a new
 * reference. -EREMOTE: QEMU reports an error, whose text is in ERROR; other errors are of the
 * connection. */
int qmp_execute(struct qmp *qmp, const char *command, json_t *arguments, json_t **ret,
                struct error *error);

/* ---- Without waiting ---- Replies come in the order of the commands, with events in between. Not to
 * be mixed with qmp_execute(). */

/* Takes ownership of FD, a connected stream socket, also on failure. The greeting comes first. NAME is
 * for messages. */
int qmp_adopt(int fd, const char *name, struct qmp **ret, struct error *error);
/* To be polled for reading. */
int qmp_fd(const struct qmp *qmp);
/* ARGUMENTS as of qmp_execute(). */
int qmp_send(struct qmp *qmp, const char *command, json_t *arguments, struct error *error);
/* 1: *ret is the next object, a new reference; 0: none yet; negative errno: of the connection. A
 * greeting is kept for qmp_version(). */
int qmp_receive(struct qmp *qmp, json_t **ret, struct error *error);

/* ---- The human monitor ---- */

/* A command of the human monitor; *ret is what it prints, allocated. */
int qmp_human(struct qmp *qmp, const char *line, char **ret, struct error *error);
