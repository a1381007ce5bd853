/* SPDX-License-Identifier: MIT */
#pragma once

/* Follows a growing file through a pipe. A child process writes the file's content to the pipe, and then everything
 * that is added, until a signal arrives, or until the path does not name the file any more or it was truncated. So its
 * reader needs no way to wait for more data. */

#include <sys/types.h>

#include "base/error.h"

#define FOLLOW_FILE_POLL_MS 100

struct follow_file {
    pid_t child;
    int fd; /* the pipe */
};

/* Starts the child. The caller has only one thread. From here on SIGINT, SIGTERM and SIGHUP end the child, and thereby
 * the pipe. One per process at a time. A negative errno with ERROR. */
int follow_file_start(const char *path, struct follow_file *ret, struct error *error);
/* Call after the pipe was duplicated. From then on, the child ends when the duplicate is closed. */
void follow_file_opened(struct follow_file *file);
/* Ends the child. Returns why it stopped following, or NULL if it did not stop or a signal ended it. */
const char *follow_file_end(struct follow_file *file);
