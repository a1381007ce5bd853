/* SPDX-License-Identifier: MIT */
#include "agent/workload.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

static int spawn(struct workload *workload)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    int r;

    sigemptyset(&defaults);
    sigaddset(&defaults, SIGXFSZ); /* strata ignores it, and may have started us */
    if (!workload->sigpipe_ignored)
        sigaddset(&defaults, SIGPIPE);
    r = posix_spawnattr_init(&attributes);
    if (r)
        return -r;
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &workload->signal_mask);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    r = posix_spawn_file_actions_init(&actions);
    if (r == 0) {
        if (workload->stdout_to_stderr)
            r = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
        if (r == 0)
            r = posix_spawnp(&workload->pid, workload->argv[0], &actions, &attributes,
                             workload->argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attributes);
    return -r;
}

int workload_start(struct workload *workload)
{
    int r = spawn(workload);

    if (r < 0) {
        workload->pid = 0;
        workload->ended = true;
        workload->status = r == -ENOENT ? WORKLOAD_NOT_FOUND : WORKLOAD_NOT_EXECUTABLE;
    }
    return r;
}

bool workload_reap(struct workload *workload)
{
    int status;

    if (workload_is_running(workload) &&
        waitpid(workload->pid, &status, WNOHANG) == workload->pid) {
        workload->ended = true;
        workload->status =
            WIFEXITED(status) ? WEXITSTATUS(status) : WORKLOAD_SIGNALLED + WTERMSIG(status);
    }
    return workload->ended;
}

void workload_signal(struct workload *workload, int number)
{
    if (workload_is_running(workload))
        kill(workload->pid, number);
}
