/* SPDX-License-Identifier: MIT */
#pragma once

/* Where the control sockets of a user's programs may lie. */

#include <stddef.h>
#include <sys/types.h>

struct folder {
    int fd;
    uid_t owner;
    dev_t device;
    ino_t inode;
};

struct folders {
    struct folder items[3];
    unsigned n;
};

/* RUNTIME is $XDG_RUNTIME_DIR or NULL. Opens those that are there, and that nobody but the user can have put something into. */
void folders_find(struct folders *ret, const char *runtime, uid_t user);
void folders_done(struct folders *folders);

/* The numbers that name sockets in it, allocated. Negative errno. */
int folder_pids(const struct folder *folder, pid_t **ret, size_t *ret_n);
