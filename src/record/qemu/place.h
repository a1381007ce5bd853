/* SPDX-License-Identifier: MIT */
#pragma once

/* A directory for the FIFO and the socket between this process and a running QEMU that cannot reach this user's files,
 * because QEMU belongs to another user, runs in a container, or has another root directory. QEMU's user owns the
 * directory. It is in a directory for temporary files of QEMU's root. */

#include "base/error.h"
#include "base/locked_dir.h"

struct qemu_place {
    int parent;            /* -1: no place */
    struct locked_dir dir; /* by a path through `parent` */
    char inside[64];       /* path of the directory for QEMU */
    char left[96];         /* path for a later recorder while QEMU runs */
};

#define QEMU_PLACE_NONE ((struct qemu_place){.parent = -1, .dir.fd = -1})

/* True if process PID needs a place. */
bool qemu_place_is_needed(pid_t pid);
/* Creates the place. -errno with ERROR: no suitable directory. */
int qemu_place_make(pid_t pid, struct qemu_place *ret, struct error *error);
/* Removes the place with its files, and sets it to QEMU_PLACE_NONE. Does nothing with QEMU_PLACE_NONE. */
void qemu_place_done(struct qemu_place *place);
/* Removes the FIFO that a killed recorder has left, and its place if it was in one. */
void qemu_place_remove_left(const char *fifo);
