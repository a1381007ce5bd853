/* SPDX-License-Identifier: MIT */
#pragma once

/* The command of --run: a child process of the agent that starts when a host traces. */

#include <signal.h>
#include <sys/types.h>

#include "base/macro.h"

/* Exit statuses as of env(1) and the shell. */
#define WORKLOAD_NOT_STARTED 125
#define WORKLOAD_NOT_EXECUTABLE 126
#define WORKLOAD_NOT_FOUND 127
#define WORKLOAD_SIGNALLED 128 /* and the signal's number */

struct workload {
    char **argv;           /* NULL: there is none; ends with NULL */
    bool stdout_to_stderr; /* the agent writes pages to standard output */
    sigset_t signal_mask;  /* what it starts with: the agent's when it began */
    bool sigpipe_ignored;  /* the same for SIGPIPE */
    pid_t pid;             /* 0: not started */
    bool ended;
    int status; /* for the agent to exit with, once it has ended or could not be started */
};

/* Starts it; it is called once. -errno: it cannot be run, and `ended` and `status` say so. */
int workload_start(struct workload *workload);
/* After SIGCHLD. True: it has ended. */
bool workload_reap(struct workload *workload);
/* Hands on a signal that ends the agent. */
void workload_signal(struct workload *workload, int number);

static inline bool workload_is_running(const struct workload *workload)
{
    return workload->pid > 0 && !workload->ended;
}
