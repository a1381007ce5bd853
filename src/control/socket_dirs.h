/* SPDX-License-Identifier: MIT */
#pragma once

/* The directories that may contain the control sockets of a user's programs. */

#include <stddef.h>
#include <sys/types.h>

struct dir {
    int fd;
    uid_t owner;
    dev_t device;
    ino_t inode;
};

struct dirs {
    struct dir items[3];
    unsigned n;
    /* -errno: a directory may exist but could not be opened because descriptors or memory ran out; 0: none */
    int error;
};

/* Opens existing directories to which no other user can write. RUNTIME is $XDG_RUNTIME_DIR or NULL. */
void dirs_find(struct dirs *ret, const char *runtime, uid_t user);
void dirs_done(struct dirs *dirs);

/* Returns the PIDs in the names of its sockets; the caller frees *RET. Negative errno. */
int dir_pids(const struct dir *dir, pid_t **ret, size_t *ret_n);
