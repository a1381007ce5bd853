/* SPDX-License-Identifier: MIT */
#pragma once

/* Talks to a virtual machine monitor by QMP: JSON, an object a line, on a UNIX socket. */

#include <jansson.h>

#include "base/fault.h"

struct qmp;

/* Connects, takes the greeting and leaves the mode in which nothing but capabilities is spoken of. */
int qmp_open(const char *path, struct qmp **ret, struct fault *fault);
void qmp_free(struct qmp *qmp);
static inline void qmp_freep(struct qmp **qmp)
{
    qmp_free(*qmp);
}

/* The greeting's version, as "QEMU 7.2.22", or "" where it tells none. Good as long as QMP. */
const char *qmp_version(const struct qmp *qmp);

/* Executes COMMAND with ARGUMENTS, which are taken over; NULL: none. *ret is what it returns, a new
 * reference. -EREMOTE: it is an error, and FAULT has its text as it came; other errors are of the
 * connection. */
int qmp_execute(struct qmp *qmp, const char *command, json_t *arguments, json_t **ret,
                struct fault *fault);

/* A command of the human monitor; *ret is what it prints, allocated. */
int qmp_human(struct qmp *qmp, const char *line, char **ret, struct fault *fault);
