/* SPDX-License-Identifier: MIT */
#pragma once

/* The directory that a trace is recorded into. */

#include "base/error.h"

struct record_dir {
    char *path;   /* absolute */
    int fd;       /* locked */
    bool is_made; /* it was not there before */
};

#define RECORD_DIR_NONE ((struct record_dir){.fd = -1})

/* Makes PATH, or opens it if it is empty, and locks it. -EEXIST with ERROR: there is something in it, or another recording
 * has it; -EPERM with ERROR: this is root, and it is another user's. -errno with ERROR. */
int record_dir_open(const char *path, struct record_dir *ret, struct error *error);
/* The same, whatever is in it. Waits for a lock that a process holds which is about to end, for some seconds. */
int record_dir_open_again(const char *path, struct record_dir *ret, struct error *error);
/* REMOVE: if it was made, and there is nothing in it. */
void record_dir_close(struct record_dir *dir, bool remove);
