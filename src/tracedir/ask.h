/* SPDX-License-Identifier: MIT */
#pragma once

/* Asks the recording that writes into a trace directory: sends a line to the socket DIR/control.sock, and reads a line
 * as the answer. record/control_server.h describes the requests. */

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#define TRACEDIR_SOCKET "control.sock"
#define TRACEDIR_ANSWER_MAX (PATH_MAX + 512u)

/* Asks, and waits for the answer. TEXT is the answer, allocated; also on -EREMOTE, if the recording refused. -ENOENT or
 * -ECONNREFUSED if nothing is being recorded there (by this version); -EACCES; another negative errno. */
int tracedir_ask(const char *dir, const char *request, char **ret_text);

/* Makes all recorders write what they hold to the files, without waiting for it here. The answer is a moment
 * (CLOCK_MONOTONIC, ns). Everything recorded until then is in the files, except the rest of late sources, and of
 * sources that cannot hand over what they hold while they are paused. */
struct tracedir_flushing {
    int fd; /* -1 while nothing was asked */
    char answer[TRACEDIR_ANSWER_MAX];
    size_t len;
};

/* Asks the recording into DIR. A negative errno if it cannot be asked. */
int tracedir_flush_begin(struct tracedir_flushing *flushing, const char *dir);
/* Call when FD is readable. 1: *RET_NS is the moment; *RET_LATE and *RET_PAUSED are the names of such sources with
 * blanks between, allocated, or NULL. 0: not yet. -EPROTO: the answer is not understood. Another negative errno. Closes
 * FD unless it returns 0. */
int tracedir_flush_step(struct tracedir_flushing *flushing, uint64_t *ret_ns, char **ret_late,
                        char **ret_paused);
void tracedir_flush_end(struct tracedir_flushing *flushing);
