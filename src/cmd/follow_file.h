/* SPDX-License-Identifier: MIT */
#pragma once

/* A file that grows, as a pipe: a child process writes what there is, and then what is added, until Ctrl-C. So what reads it
 * needs no way of its own to wait for more. */

#include <sys/types.h>

#include "base/error.h"

#define FOLLOW_FILE_POLL_MS 100

struct follow_file {
    pid_t child;
    int fd;        /* the pipe */
    char path[32]; /* by which it is opened */
};

/* Starts the child; the caller has one thread, and ignores SIGINT from here on, which ends the child. A negative errno with
 * ERROR. */
int follow_file_start(const char *path, struct follow_file *ret, struct error *error);
/* It was opened by its path: from here on, the child ends when that is closed. */
void follow_file_opened(struct follow_file *file);
void follow_file_end(struct follow_file *file);
