/* SPDX-License-Identifier: MIT */
#pragma once

/* Confines a process that parses data of a guest. The process keeps its memory, its given descriptors, and the clock. Without
 * the permissions below, it cannot open, run, connect to or signal anything.
 *
 *   user          a process of root becomes a user that owns nothing, if `change` is set; otherwise it gives up its
 *                 capabilities. It can never gain privileges
 *   landlock      no file can be reached by a path, except files below `dir`, for reading (Linux 5.13 and later)
 *   seccomp       only the system calls of the tables in sandbox.c. Without permissions, any other call kills the process.
 *                 With permissions, it fails with ENOSYS, and so does mapping of executable memory: libraries then do without
 *   limits        of files and memory; no core file; no new processes, except as root
 *
 * Call it in a new child with one thread. It cannot be undone. */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct sandbox_user {
    uint32_t uid, gid;
    bool
        change; /* false: this process is not root, or there is no other user, and it keeps its user */
};

/* The user to become: "nobody", or 65534 if there is none. */
struct sandbox_user sandbox_user(void);

#define SANDBOX_ANY_SIZE UINT64_MAX

struct sandbox {
    const struct sandbox_user *user; /* NULL: it keeps its user */
    uint32_t capabilities;           /* capabilities that it keeps with its user, a bit each */
    uint64_t max_file;   /* no file can be longer; 0: none can be written; SANDBOX_ANY_SIZE */
    uint64_t max_memory; /* of the address space; SANDBOX_ANY_SIZE */
    const char *dir;     /* files below can be read; NULL: no file */
    bool may_connect;    /* to sockets of this machine (AF_UNIX) */
};

/* The measures that are in force. */
enum {
    SANDBOX_USER = 1,
    SANDBOX_LANDLOCK = 2,
    SANDBOX_SECCOMP = 4,
};

/* Their names, "user, landlock, seccomp". */
void sandbox_names(unsigned measures, char *buf, size_t size);

/* Closes all descriptors but the N in KEEP; 0, 1 and 2 lead to /dev/null unless they are kept. -errno. */
int sandbox_descriptors(const int *keep, unsigned n);

/* *RET_MEASURES: the measures that this kernel supports. -errno with ERROR: a supported measure did not work, and the process is
 * not confined, or only in part. */
int sandbox_enter(const struct sandbox *sandbox, unsigned *ret_measures, struct error *error);
