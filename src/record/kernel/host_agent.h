/* SPDX-License-Identifier: MIT */
#pragma once

/* strata-agent as a child process, to record this machine's kernel as a guest's is. It has one end of a socket pair; the other
 * end is an endpoint (ENDPOINT_FD of record/kernel/endpoint.h). It exits when that end is closed, also if its owner was
 * killed, and leaves nothing in tracefs. Not thread-safe. */

#include <sys/types.h>

#include "base/error.h"

struct host_agent {
    pid_t pid;      /* 0: it has exited */
    int log_fd;     /* its standard error; -1 */
    char text[512]; /* of it, a line that is not complete yet */
    size_t len;
    bool is_cancelled;
};

/* Starts PROGRAM, a path, or a name that is looked for in PATH. PID_FILTER: record only threads of that process and of its
 * children; 0: all. The child has a session of its own, so that a terminal's signals do not reach it. *RET_FD is the
 * connection. -errno with ERROR: it cannot be run. */
int host_agent_start(const char *program, pid_t pid_filter, struct host_agent *ret_agent,
                     int *ret_fd, struct error *error);

/* Tracing has failed with ERROR: what AGENT printed replaces its message. */
void host_agent_explain(struct host_agent *agent, struct error *error);
/* Puts the next line that the agent printed into LINE, without the name of the agent. 1; 0: there is none now. */
int host_agent_read_line(struct host_agent *agent, char *line, size_t size);

/* Has it end while it sets up the tracing, of which nothing is needed. */
void host_agent_cancel(struct host_agent *agent);
/* Waits until it has exited. The connection has been closed. It is killed after 5 s; after 1 s if it was cancelled. */
void host_agent_done(struct host_agent *agent);
