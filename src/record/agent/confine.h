/* SPDX-License-Identifier: MIT */
#pragma once

/* Confines the process that takes apart what a guest sends. What is left to it is what it holds:
 * memory, the descriptors it was given, the time. It cannot open, name, run, connect to or signal anything.
 *
 *   who it is     as root, another user that owns nothing; always without ways to more privileges
 *   landlock      no file can be reached by any path (Linux 5.13 and later)
 *   seccomp       no system call but those of the table in confine.c; another one ends the process
 *   limits        no file longer than MAX_FILE, no new processes, no core file
 *
 * To be called in a fresh child of one thread; there is no way back. */

#include <stdint.h>

#include "base/error.h"

struct confine_user {
    uint32_t uid, gid;
    bool change; /* false: this process is not root, and stays who it is */
};

/* Who to become: "nobody", else 65534. */
struct confine_user confine_user(void);

/* Which of the measures are in force. */
enum {
    CONFINE_USER = 1,
    CONFINE_LANDLOCK = 2,
    CONFINE_SECCOMP = 4,
};

/* Their names, "user, landlock, seccomp". */
void confine_names(unsigned measures, char *buf, size_t size);

/* Closes all descriptors but the N in KEEP; 0, 1 and 2 lead to /dev/null. -errno. */
int confine_descriptors(const int *keep, unsigned n);

/* MAX_FILE 0: any length. *ret_measures: what this kernel allowed; the user and no new privileges always.
 * -errno with ERROR: it must not go on. */
int confine(const struct confine_user *user, uint64_t max_file, unsigned *ret_measures,
            struct error *error);
