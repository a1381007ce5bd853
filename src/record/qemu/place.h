/* SPDX-License-Identifier: MIT */
#pragma once

/* A directory for the FIFO and the socket between this process and a running QEMU that does not reach this user's files: QEMU is of
 * another user, in a container, or has another root directory. It is in a directory for temporary files of QEMU's root,
 * and QEMU's user owns it. */

#include "base/error.h"
#include "base/locked_dir.h"

struct qemu_place {
    int parent;            /* -1: there is no place */
    struct locked_dir dir; /* by a path that leads through `parent` */
    char inside[64];       /* the same for QEMU */
    char left[96];         /* the same for a recorder that comes later, while QEMU runs */
};

#define QEMU_PLACE_NONE ((struct qemu_place){.parent = -1, .dir.fd = -1})

/* Whether process PID needs one. */
bool qemu_place_is_needed(pid_t pid);
/* -errno with ERROR: there is no directory for it. */
int qemu_place_make(pid_t pid, struct qemu_place *ret, struct error *error);
/* Removes it with its files. Does nothing with QEMU_PLACE_NONE, which it becomes. */
void qemu_place_done(struct qemu_place *place);
/* Removes the FIFO that a killed recorder has left, with its place if it was in one. */
void qemu_place_remove_left(const char *fifo);
