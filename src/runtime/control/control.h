/* SPDX-License-Identifier: MIT */
#pragma once

/* The control socket, by which `strata list` finds a traced program and `strata ctl` talks to it.
 * Protocol: docs/man/strata-control.7.
 *
 * A thread with all signals blocked serves it from the registration of the first group on. The program is not affected:
 * exec() closes the descriptors, they have high numbers, and if a program closes them to become a daemon, they are
 * opened again. Nothing here waits for a client. Locks: the control lock is a leaf, taken after all others. */

#include <stdbool.h>
#include <stddef.h>

/* Handles requests. The socket code knows the handler only by this structure. */
struct control_handler {
    /* Tracing begins in this process: at the start, and in a child of fork(). */
    void (*begin)(void);
    /* Answers LINE, LEN bytes without the newline. *RET: the answer, *RET_LEN bytes, which the caller frees. -ENOMEM. */
    int (*answer)(const char *line, size_t len, char **ret, size_t *ret_len);
};

/* Starts the control socket. HANDLER, always the same, answers requests. May be called any number of times. */
void control_start(const struct control_handler *handler);
/* control=on|off */
void control_switch(bool on);

void control_before_fork(void);
void control_after_fork_parent(void);
void control_after_fork_child(void);

/* ---- The directory of the sockets (control_dir.c) ---- */

/* Opens the directory, creating it if necessary, if it belongs to this user only:
 * $XDG_RUNTIME_DIR/strata, /run/user/UID/strata or /tmp/strata-UID. Negative errno. */
int control_dir_open(void);

/* ---- Requests (control_requests.c) ---- */

/* A request is one line, and not longer than this with its newline. */
#define CONTROL_LINE_MAX 16384
#define CONTROL_PROTOCOL 1

extern const struct control_handler control_requests;
