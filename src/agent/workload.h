/* SPDX-License-Identifier: MIT */
#pragma once

/* The command of --run: a child process that the agent starts when a host traces. */

#include <signal.h>
#include <sys/types.h>

#include "base/macro.h"

/* Exit statuses, as of env(1) and the shell. */
#define WORKLOAD_NOT_STARTED 125
#define WORKLOAD_NOT_EXECUTABLE 126
#define WORKLOAD_NOT_FOUND 127
#define WORKLOAD_SIGNALLED 128 /* plus the signal's number */

struct workload {
    char **argv;           /* ends with NULL; NULL: no command */
    bool stdout_to_stderr; /* the agent writes pages to standard output */
    sigset_t signal_mask;  /* signal mask for the child: the agent's mask at its start */
    bool sigpipe_ignored;  /* SIGPIPE was ignored at the agent's start */
    pid_t pid;             /* 0: not started */
    bool ended;
    int status; /* the agent's exit status, once the command has ended or could not be started */
};

/* Starts the command; may be called once. -errno: it cannot be run; `ended` and `status` are set. */
int workload_start(struct workload *workload);
/* Call after SIGCHLD. Returns true if the command has ended. */
bool workload_reap(struct workload *workload);
/* Forwards a signal that ends the agent. */
void workload_signal(struct workload *workload, int number);

static inline bool workload_is_running(const struct workload *workload)
{
    return workload->pid > 0 && !workload->ended;
}
