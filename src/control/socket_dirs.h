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
    int error; /* -errno: one may exist, but could not be opened for want of descriptors or memory; 0 */
};

/* RUNTIME is $XDG_RUNTIME_DIR or NULL. Opens those that exist and that no other user can write to. */
void dirs_find(struct dirs *ret, const char *runtime, uid_t user);
void dirs_done(struct dirs *dirs);

/* The numbers that name sockets in it, allocated. Negative errno. */
int dir_pids(const struct dir *dir, pid_t **ret, size_t *ret_n);
