/* SPDX-License-Identifier: MIT */
#pragma once

/* strata-agent as a child process that records this machine's kernel in the same way as a guest's kernel. The child has
 * one end of a socket pair; the other end is an endpoint (ENDPOINT_FD of record/kernel/endpoint.h). When that end is
 * closed, even because its owner was killed, the child exits and leaves nothing in tracefs. Not thread-safe. */

#include <sys/types.h>

#include "base/error.h"

struct host_agent {
    pid_t pid;      /* 0: it has exited */
    int log_fd;     /* its standard error, or -1 */
    char text[512]; /* an incomplete line of its standard error */
    size_t len;
    bool is_cancelled;
};

/* Starts PROGRAM, a path or a name to be found in PATH. PID_FILTER: record only threads of this process and its
 * children; 0: all threads. The child has its own session, so signals from the terminal do not reach it. *RET_FD: the
 * connection. -errno with ERROR: it cannot be run. */
int host_agent_start(const char *program, pid_t pid_filter, struct host_agent *ret_agent,
                     int *ret_fd, struct error *error);

/* Call it if tracing has failed with ERROR. Replaces the message with what AGENT printed. */
void host_agent_explain(struct host_agent *agent, struct error *error);
/* Copies the next line that the agent printed to LINE, without the agent's name. Returns 1, or 0 if there is no line
 * now. */
int host_agent_read_line(struct host_agent *agent, char *line, size_t size);

/* Ends the agent while it sets up the tracing, when the tracing is not needed any more. */
void host_agent_cancel(struct host_agent *agent);
/* Waits until the agent has exited. The connection must be closed. The agent is killed after 5 s, or after 1 s if it
 * was cancelled. */
void host_agent_done(struct host_agent *agent);
