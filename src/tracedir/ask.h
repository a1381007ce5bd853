/* SPDX-License-Identifier: MIT */
#pragma once

/* Asks the recording that writes into a trace directory: a line to the socket DIR/control.sock, and the line of its answer.
 * record/control_server.h has the requests. */

#include <stddef.h>
#include <stdint.h>

#define TRACEDIR_SOCKET "control.sock"

/* Asks, and waits for the answer, which is in TEXT, allocated, also of -EREMOTE: it refused. -ENOENT, -ECONNREFUSED: nothing
 * is being recorded there (by this version); -EACCES; another negative errno. */
int tracedir_ask(const char *dir, const char *request, char **ret_text);

/* Has what all recorders hold brought to the files. *RET_NS (CLOCK_MONOTONIC, ns): what was recorded until then is there,
 * but for that of *RET_LATE, allocated: the names of sources with a blank between, or NULL. *RET_PAUSED, if RET_PAUSED is not
 * NULL, is the same of those that cannot hand over what they hold while they are paused. As tracedir_ask(); -EBADMSG: the
 * answer is not understood; -EAGAIN: there is none within 10 seconds. */
int tracedir_flush(const char *dir, uint64_t *ret_ns, char **ret_late, char **ret_paused);

/* The same without waiting. */
struct tracedir_flushing {
    int fd; /* -1: not asked */
    char answer[1024];
    size_t len;
};

/* Asks the recording into DIR. -errno: it cannot be asked. */
int tracedir_flush_begin(struct tracedir_flushing *flushing, const char *dir);
/* FD is readable. 1: as tracedir_flush(); 0: not yet; -errno: there is no such answer. Closes, unless 0. */
int tracedir_flush_step(struct tracedir_flushing *flushing, uint64_t *ret_ns, char **ret_late);
void tracedir_flush_end(struct tracedir_flushing *flushing);
