/* SPDX-License-Identifier: MIT */
#pragma once

/* A file that grows, as a pipe: a child process writes what there is, and then what is added, until a signal, or until the
 * path names no file that only grows. So what reads it needs no way of its own to wait for more. */

#include <sys/types.h>

#include "base/error.h"

#define FOLLOW_FILE_POLL_MS 100

struct follow_file {
    pid_t child;
    int fd; /* the pipe */
};

/* Starts the child; the caller has one thread. From here on SIGINT, SIGTERM and SIGHUP end the child, and so the pipe. One
 * at a time in a process. A negative errno with ERROR. */
int follow_file_start(const char *path, struct follow_file *ret, struct error *error);
/* The pipe was duplicated: from here on, the child ends when the duplicate is closed. */
void follow_file_opened(struct follow_file *file);
/* Ends the child. Why it could not go on; NULL: it could, or a signal ended it. */
const char *follow_file_end(struct follow_file *file);
