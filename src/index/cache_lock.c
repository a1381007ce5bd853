/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "index/cache_internal.h"

#define LOCK_POLL_US 50000

/* Without WAIT, -EWOULDBLOCK if another process has the lock; with WAIT, -ECANCELED when STOPS becomes true. */
static int lock_file(int fd, bool wait, const atomic_bool *stops)
{
    for (;;) {
        if (flock(fd, wait && !stops ? LOCK_EX : LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno == EINTR)
            continue;
        if (!wait || !stops || errno != EWOULDBLOCK)
            return -errno;
        if (atomic_load(stops))
            return -ECANCELED;
        (void)usleep(LOCK_POLL_US);
    }
}

/* The owner of a lock removes its file. So the file may have been removed, or made again, when it is locked. */
int cache_lock(int directory, const char *name, bool wait, const atomic_bool *stops)
{
    for (;;) {
        int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | (wait ? O_CREAT : 0);
        int fd = openat(directory, name, flags, 0600);
        struct stat mine;
        struct stat there;
        int r;

        if (fd < 0)
            return -errno;
        r = lock_file(fd, wait, stops);
        if (r < 0) {
            close(fd);
            return r;
        }
        if (fstat(fd, &mine) == 0 && fstatat(directory, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
            mine.st_ino == there.st_ino && mine.st_dev == there.st_dev)
            return fd;
        close(fd);
    }
}

void cache_unlock(int directory, const char *name, int fd)
{
    unlinkat(directory, name, 0);
    close(fd);
}
