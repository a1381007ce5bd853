/* SPDX-License-Identifier: MIT */
#include "agent/port_sigio.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int port_sigio_init(struct port_sigio *sigio)
{
    sigset_t signals;
    int r;

    sigemptyset(&signals);
    sigaddset(&signals, SIGIO);
    r = -pthread_sigmask(SIG_BLOCK, &signals, NULL);
    if (r < 0)
        return r;
    sigio->fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return sigio->fd < 0 ? -errno : 0;
}

void port_sigio_done(struct port_sigio *sigio)
{
    if (sigio->fd >= 0)
        close(sigio->fd);
    sigio->fd = -1;
}

bool port_sigio_watch(struct port_sigio *sigio, int fd)
{
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = (pid_t)syscall(SYS_gettid)};
    struct stat st;
    int flags = fcntl(fd, F_GETFL);

    return sigio->fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && flags >= 0 &&
           fcntl(fd, F_SETOWN_EX, &owner) == 0 && fcntl(fd, F_SETFL, flags | O_ASYNC) == 0;
}

void port_sigio_clear(struct port_sigio *sigio)
{
    struct signalfd_siginfo one; /* the kernel queues only one such signal */

    (void)!read(sigio->fd, &one, sizeof one);
}
