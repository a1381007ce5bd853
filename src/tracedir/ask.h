/* SPDX-License-Identifier: MIT */
#pragma once

/* Asks the recording that writes into a trace directory: a line to the socket DIR/control.sock, and the line of its answer.
 * record/control_server.h has the requests. */

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#define TRACEDIR_SOCKET "control.sock"
#define TRACEDIR_ANSWER_MAX (PATH_MAX + 512u)

/* Asks, and waits for the answer, which is in TEXT, allocated, also of -EREMOTE: it refused. -ENOENT, -ECONNREFUSED: nothing
 * is being recorded there (by this version); -EACCES; another negative errno. */
int tracedir_ask(const char *dir, const char *request, char **ret_text);

/* Has what all recorders hold brought to the files, without waiting. Its answer is a moment (CLOCK_MONOTONIC, ns): what was recorded
 * until then is in the files, except the rest of sources that are late, and of those that cannot hand over what they hold while
 * they are paused. */
struct tracedir_flushing {
    int fd; /* -1: not asked */
    char answer[TRACEDIR_ANSWER_MAX];
    size_t len;
};

/* Asks the recording into DIR. A negative errno: it cannot be asked. */
int tracedir_flush_begin(struct tracedir_flushing *flushing, const char *dir);
/* FD is readable. 1: *RET_NS is the moment, *RET_LATE and *RET_PAUSED, allocated, are the names of sources with a blank between, or
 * NULL; 0: not yet; -EPROTO: the answer is not understood; another negative errno. Closes, unless 0. */
int tracedir_flush_step(struct tracedir_flushing *flushing, uint64_t *ret_ns, char **ret_late,
                        char **ret_paused);
void tracedir_flush_end(struct tracedir_flushing *flushing);
