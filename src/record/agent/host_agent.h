/* SPDX-License-Identifier: MIT */
#pragma once

/* The host's own kernel, taken as a guest's is: strata-agent as a child, on a socket pair of which the other
 * end is a guest's place (ENDPOINT_FD of record/agent/endpoint.h). It ends when that end is closed, however its
 * holder ended, and leaves nothing in tracefs. Not thread-safe. */

#include <sys/types.h>

#include "base/error.h"

struct host_agent {
    pid_t pid;      /* 0: it is not there (any more) */
    int said;       /* what it says to people; -1 */
    char text[512]; /* of that, a line that is not whole yet */
    size_t len;
};

/* Starts PROGRAM, a path, or a name that is looked for in PATH. ONLY: record nothing but what happens in the
 * threads of that process and of its children; 0: all. The child is no part of our process group, so that
 * a terminal's signals do not reach it. *RET_FD is the connection. -errno with ERROR: it cannot be run. */
int host_agent_start(const char *program, pid_t only, struct host_agent *ret_agent, int *ret_fd,
                     struct error *error);

/* The next line that it said, without its name in front, into LINE. 1; 0: there is none now. */
/* After it could not be traced by AGENT: what that has said of it is ERROR. */
void host_agent_explain(struct host_agent *agent, struct error *error);
int host_agent_hear(struct host_agent *agent, char *line, size_t size);

/* Waits until it has ended, a few seconds at most: the connection has to be closed. Lines that it said are
 * still to be heard. */
void host_agent_wait(struct host_agent *agent);
void host_agent_done(struct host_agent *agent);
