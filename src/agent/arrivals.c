/* SPDX-License-Identifier: MIT */
#include "agent/arrivals.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int arrivals_init(struct arrivals *arrivals)
{
    sigset_t signals;
    int r;

    sigemptyset(&signals);
    sigaddset(&signals, SIGIO);
    r = -pthread_sigmask(SIG_BLOCK, &signals, NULL);
    if (r < 0)
        return r;
    arrivals->fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return arrivals->fd < 0 ? -errno : 0;
}

void arrivals_done(struct arrivals *arrivals)
{
    if (arrivals->fd >= 0)
        close(arrivals->fd);
    arrivals->fd = -1;
}

bool arrivals_watch(struct arrivals *arrivals, int fd)
{
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = (pid_t)syscall(SYS_gettid)};
    struct stat st;
    int flags = fcntl(fd, F_GETFL);

    return arrivals->fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && flags >= 0 &&
           fcntl(fd, F_SETOWN_EX, &owner) == 0 && fcntl(fd, F_SETFL, flags | O_ASYNC) == 0;
}

void arrivals_clear(struct arrivals *arrivals)
{
    struct signalfd_siginfo one; /* of such signals no more is kept */

    (void)!read(arrivals->fd, &one, sizeof one);
}
