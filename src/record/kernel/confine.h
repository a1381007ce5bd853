/* SPDX-License-Identifier: MIT */
#pragma once

/* Confines a process that parses what a guest sends. It keeps its memory, the descriptors that it was given, and the clock. It
 * cannot open, run, connect to or signal anything.
 *
 *   user          if it is root, becomes a user that owns nothing, or, in a user namespace that has no other user, gives up
 *                 its capabilities; cannot gain privileges in any case
 *   landlock      no file can be reached by any path (Linux 5.13 and later)
 *   seccomp       only the system calls of the table in confine.c; any other one kills the process
 *   limits        no file longer than MAX_FILE, no new processes, no core file
 *
 * Call it in a new child with one thread. It cannot be undone. */

#include <stdint.h>

#include "base/error.h"

struct confine_user {
    uint32_t uid, gid;
    bool
        change; /* false: this process is not root, or there is no other user, and it keeps its user */
};

/* The user to become: "nobody", or 65534 if there is none. */
struct confine_user confine_user(void);

/* The measures that are in force. */
enum {
    CONFINE_USER = 1,
    CONFINE_LANDLOCK = 2,
    CONFINE_SECCOMP = 4,
};

/* Their names, "user, landlock, seccomp". */
void confine_names(unsigned measures, char *buf, size_t size);

/* Closes all descriptors but the N in KEEP; 0, 1 and 2 lead to /dev/null. -errno. */
int confine_descriptors(const int *keep, unsigned n);

/* MAX_FILE 0: any length. *ret_measures: those that this kernel supports. -errno with ERROR: the process must exit. */
int confine(const struct confine_user *user, uint64_t max_file, unsigned *ret_measures,
            struct error *error);
