/* SPDX-License-Identifier: MIT */
#pragma once

/* Talks to a virtual machine monitor by QMP: JSON, one object per line, on a UNIX socket or another transport
 * (qmp_transport.h). */

#include <jansson.h>
#include <sys/types.h>

#include "base/error.h"

struct qmp;

/* True if PATH is a socket. Opening it shows whose socket it is. */
bool qmp_is_socket(const char *path);

/* The limit for the greeting, and for an answer, however many events come before it. */
#define QMP_TIMEOUT_S 30

/* A monitor to which a recorder connects whenever it has commands for it. */
struct qmp_endpoint {
    const char *name; /* for messages; the path of a socket; borrowed */
    int (*connect)(const struct qmp_endpoint *endpoint, struct qmp **ret, struct error *error);
    /* Writes to BUF why the monitor does not answer, and returns BUF. */
    const char *(*silence)(const struct qmp_endpoint *endpoint, char *buf, size_t size);
};

/* An endpoint for the socket PATH, which is borrowed. */
struct qmp_endpoint qmp_socket_endpoint(const char *path);

/* Connects without waiting. The monitor serves one client at a time; until it greets, it serves another client. -EAGAIN
 * with ERROR: it serves another client, and its queue of waiting clients is full. */
int qmp_connect(const char *path, struct qmp **ret, struct error *error);
/* Waits for the greeting and leaves capabilities negotiation; without a greeting, asks for the version. -ETIMEDOUT with
 * ERROR: none came within QMP_TIMEOUT_S. */
int qmp_greet(struct qmp *qmp, struct error *error);
/* Waits up to MS milliseconds for the greeting. Returns false if there was none. Returns true at once if its transport
 * has no greeting. */
bool qmp_greets_within(const struct qmp *qmp, int ms);
/* Writes to BUF why the monitor at the socket PATH does not greet: "it serves another client, process 4711
 * (python3)". */
const char *qmp_silence_text(const char *path, char *buf, size_t size);
/* Replaces QMP_TIMEOUT_S from the next command on. */
void qmp_set_timeout(struct qmp *qmp, int ms);
/* Ends a wait of another thread. */
void qmp_shutdown(const struct qmp *qmp);
void qmp_free(struct qmp *qmp);
static inline void qmp_freep(struct qmp **qmp)
{
    qmp_free(*qmp);
}

/* The version in the greeting ("QEMU 7.2.22"), or "". Valid as long as QMP. */
const char *qmp_version(const struct qmp *qmp);

/* The process that has created the socket, usually the monitor itself; 0: it cannot be seen. */
pid_t qmp_peer(const struct qmp *qmp);

/* Executes COMMAND with ARGUMENTS (NULL: none), and takes ownership of ARGUMENTS. *RET is the result, a new reference.
 * -EREMOTE: QEMU reports an error, whose text is in ERROR; other errors are errors of the connection. */
int qmp_execute(struct qmp *qmp, const char *command, json_t *arguments, json_t **ret,
                struct error *error);

/* ---- Without waiting ---- Replies come in the order of the commands, with events in between. Not to
 * be mixed with qmp_execute(). */

/* Takes ownership of FD, a connected stream socket, even on failure. The greeting comes first. NAME is for messages. */
int qmp_adopt(int fd, const char *name, struct qmp **ret, struct error *error);
/* The descriptor to poll for reading. */
int qmp_fd(const struct qmp *qmp);
/* Sends a command. ARGUMENTS as in qmp_execute(). */
int qmp_send(struct qmp *qmp, const char *command, json_t *arguments, struct error *error);
/* Returns 1 with the next object, a new reference; 0: none yet; negative errno: error of the connection. A greeting is
 * kept for qmp_version(). */
int qmp_receive(struct qmp *qmp, json_t **ret, struct error *error);

/* ---- The human monitor ---- */

/* Executes a command of the human monitor. *RET: its output, which the caller frees. */
int qmp_human(struct qmp *qmp, const char *line, char **ret, struct error *error);
