/* SPDX-License-Identifier: MIT */
#pragma once

/* The directory that a trace is recorded into. */

#include "base/error.h"

struct record_dir {
    char *path;   /* absolute */
    int fd;       /* locked */
    bool is_made; /* record_dir_open() created it */
};

#define RECORD_DIR_NONE ((struct record_dir){.fd = -1})

/* Creates PATH, or opens it if it is empty, and locks it. -EEXIST with ERROR: the directory is not empty, or another
 * recording uses it. -EPERM with ERROR: this process is root, and the directory belongs to another user. Other -errno
 * with ERROR. */
int record_dir_open(const char *path, struct record_dir *ret, struct error *error);
/* The same for a directory that need not be empty. If a process that is about to end holds the lock, waits for it some
 * seconds. */
int record_dir_open_again(const char *path, struct record_dir *ret, struct error *error);
/* REMOVE: also removes the directory, if this process created it and it is empty. */
void record_dir_close(struct record_dir *dir, bool remove);
