/* SPDX-License-Identifier: MIT */
#pragma once

/* Serves one file, once, to a browser on this machine: plain sockets, one thread. */

#include "base/error.h"
#include "serve/file_request.h"

/* Listens on PORT of 127.0.0.1. The descriptor; -EADDRINUSE, or another negative errno. */
int file_server_listen(unsigned port);

/* Answers requests to LISTENER until the file was fetched whole, for WAIT_MS, and while it is being sent. FILE is read
 * by pread(). STOP_FD: ends it when it is readable. 1: the file was fetched; 0: it was stopped; -ETIMEDOUT; or another
 * negative errno. */
int file_server_run(int listener, const struct file_site *site, int file, int stop_fd,
                    unsigned wait_ms);
